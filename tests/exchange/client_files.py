"""Files and messages as real clients make them where they cut an output, for tests without the clients."""

import json
from pathlib import Path
from typing import Any, ClassVar

SESSION = "70841598-8f0e-440d-a1ab-b93424e645b8"
THREAD = "01a1ec3d-3932-75a3-9ddf-e99e9dfa483f"
LONG = "".join(f"line {number:06} of a long output\n" for number in range(10_500))


class Claude:
    """Claude Code: a file per output below the folder of its session, and a preview of 2,000 characters."""

    headers: ClassVar = {"x-claude-code-session-id": SESSION}
    tool = "Bash"
    is_cut_further = False
    """Whether the policy `auto` cuts what the client left."""

    def __init__(self, home: Path, session: str = SESSION) -> None:
        self.folder = home / ".claude/projects/-work" / session / "tool-results"

    def save(self, name: str, text: str, call_id: str = "") -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{name}.txt").write_bytes(text.encode())
        return self.folder / f"{name}.txt"

    def cut(self, name: str, text: str) -> str:
        head = text[:2_000]
        head = head[: head.rfind("\n")] if head.rfind("\n") > 1_000 else head
        return (
            f"<persisted-output>\nOutput too large ({len(text.encode()) / 1024:.1f}KB). Full output saved to: "
            f"{self.folder / name}.txt\n\nPreview (first 2KB):\n{head}\n...\n</persisted-output>"
        )


class Opencode:
    """opencode: a file per output for all sessions, and the last 50 KB."""

    headers: ClassVar = {"x-session-id": "ses_1"}
    tool = "bash"
    is_cut_further = True

    def __init__(self, home: Path) -> None:
        self.folder = home / ".local/share/opencode/tool-output"

    def save(self, name: str, text: str, call_id: str = "") -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(text.encode())
        return self.folder / name

    def cut(self, name: str, text: str) -> str:
        tail = "".join(text.splitlines(keepends=True)[-1_800:])
        return f"...output truncated...\n\nFull output saved to: {self.folder / name}\n\n{tail}"


class Codex:
    """Codex: up to 64 KB of an output by its call in the log of the thread, and both ends of it."""

    headers: ClassVar = {"session-id": THREAD, "thread-id": THREAD}
    tool = "exec_command"
    is_cut_further = True

    def __init__(self, home: Path) -> None:
        self.folder = home / ".codex/sessions/2030/01/02"

    def save(self, name: str, text: str, call_id: str = "") -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        text = text if len(text) < 65_536 else text[:32_768] + text[-32_768:]
        item = {"type": "CommandExecution", "id": call_id, "aggregated_output": text, "exit_code": 0}
        line = {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}
        path = self.folder / f"rollout-2030-01-02T03-04-05-{THREAD}.jsonl"
        with path.open("a") as file:
            file.write(json.dumps({"type": "session_meta", "payload": {}}) + "\n" + json.dumps(line) + "\n")
        return path

    def cut(self, name: str, text: str) -> str:
        return (
            f"Warning: truncated output (original token count: {len(text) // 4})\nTotal output lines: "
            f"{len(text.splitlines())}\n\n{text[:20_000]}…{(len(text) - 40_000) // 4} tokens truncated…{text[-20_000:]}"
        )


AnyClient = Claude | Opencode | Codex


def conversation(tool: str, *results: tuple[str, str]) -> list[dict[str, Any]]:
    """A conversation with one call per result, as Anthropic's API has it."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "look around"}]
    for call_id, text in results:
        call = {"type": "tool_use", "id": call_id, "name": tool, "input": {"command": f"run {call_id}"}}
        messages.append({"role": "assistant", "content": [call]})
        block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        messages.append({"role": "user", "content": [block]})
    return messages


def request(tool: str, messages: list[dict[str, Any]]) -> bytes:
    tools = [{"name": tool, "description": "run", "input_schema": {"type": "object"}}]
    return json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "tools": tools, "messages": messages}).encode()
