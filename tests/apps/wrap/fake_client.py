"""A fake agent: runs shell commands as its model says, until the model ends. Knows nothing of Keepwhole."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

TOOLS = [{"name": "Bash", "description": "run", "input_schema": {"type": "object", "properties": {}}}]


def ask(messages: list[Any]) -> list[dict[str, Any]]:
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "stream": True, "messages": messages, "tools": TOOLS}
    headers = {"content-type": "application/json", "x-api-key": "sk-fake"}
    if name := os.environ.get("STAND_IN", "stand-in"):
        headers["x-claude-code-session-id"] = name
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler()).open(request) as response:
        events = [json.loads(line[6:]) for line in response.read().decode().splitlines() if line.startswith("data: ")]
    blocks: dict[int, dict[str, Any]] = {}
    written: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = event["content_block"]
        elif event["type"] == "content_block_delta" and "partial_json" in event["delta"]:
            written[event["index"]] = written.get(event["index"], "") + event["delta"]["partial_json"]
        elif event["type"] == "content_block_delta":
            blocks[event["index"]]["text"] += event["delta"]["text"]
    for index, text in written.items():
        blocks[index]["input"] = json.loads(text)
    return list(blocks.values())


def cut(text: str) -> str:
    """What Claude Code leaves of a long output, of which it saves the whole."""
    if len(text) <= 30_000:
        return text
    folder = Path.home() / ".claude/projects/-work" / os.environ.get("STAND_IN", "stand-in") / "tool-results"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"b{len(list(folder.iterdir()))}.txt"
    if os.environ["STAND_IN_CUTS"] == "saved":
        path.write_text(text)
    head = text[: text.rindex("\n", 0, 2_000)]
    return (
        f"<persisted-output>\nOutput too large ({len(text) / 1024:.1f}KB). Full output saved to: {path}\n\n"
        f"Preview (first 2KB):\n{head}\n...\n</persisted-output>"
    )


def main() -> int:
    messages: list[Any] = [{"role": "user", "content": " ".join(sys.argv[2:])}]
    while True:
        said = ask(messages)
        calls = [block for block in said if block["type"] == "tool_use"]
        messages.append({"role": "assistant", "content": said})
        if not calls:
            print(said[-1]["text"])
            return int(sys.argv[1])
        results = []
        for call in calls:
            output = subprocess.run(call["input"]["command"], shell=True, capture_output=True, text=True, check=False)
            text = cut(output.stdout) if "STAND_IN_CUTS" in os.environ else output.stdout
            results.append({"type": "tool_result", "tool_use_id": call["id"], "content": text})
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    sys.exit(main())
