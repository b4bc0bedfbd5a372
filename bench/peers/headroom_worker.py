"""headroom's side, run by the Python of its own environment: reads texts from a file, writes its results to another.

`python -I headroom_worker.py IN OUT FOLDER`; IN contains `[{kind, mode, tool, question, text}, …]` as JSON. It imports
nothing of Keepwhole and needs nothing but headroom.
"""

import importlib
import importlib.util
import json
import os
import sys
import time
from typing import Any


def main() -> None:
    source, target, folder = sys.argv[1:]
    _prepare(folder)
    compress: Any = importlib.import_module("headroom").compress
    with open(source, encoding="utf-8") as file:
        payloads: list[dict[str, str]] = json.load(file)
    found: list[dict[str, object]] = []
    for payload in payloads:
        found.append({"kind": payload["kind"], "mode": payload["mode"], **_call(compress, payload)})
    with open(target, "w", encoding="utf-8") as file:
        json.dump(found, file)


def _prepare(folder: str) -> None:
    """Disable network, telemetry and the user's state; count exact tokens with the vocabulary in `litellm`."""
    os.environ.update(
        HEADROOM_BEACON="off",
        HEADROOM_TELEMETRY="off",
        HEADROOM_UPDATE_CHECK="off",
        LITELLM_LOCAL_MODEL_COST_MAP="True",
        HF_HUB_OFFLINE="1",
        HEADROOM_CCR_SQLITE_PATH=os.path.join(folder, "ccr.db"),
        HOME=folder,
    )
    spec = importlib.util.find_spec("litellm")
    place = os.path.dirname(spec.origin) if spec and spec.origin else ""
    os.environ["TIKTOKEN_CACHE_DIR"] = os.path.join(place, "litellm_core_utils", "tokenizers")


def _call(compress: Any, payload: dict[str, str]) -> dict[str, object]:
    call = {"id": "c1", "type": "function", "function": {"name": payload["tool"], "arguments": "{}"}}
    messages = [
        {"role": "user", "content": payload["question"]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": payload["text"]},
    ]
    options = {} if payload["mode"] == "default" else {"mode": payload["mode"]}
    wall, cpu = time.perf_counter(), time.process_time()
    result = compress(messages, model="gpt-4o", **options)
    spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    shown = result.messages[2]["content"]
    return {**spent, "shown": shown, "before": result.tokens_before, "after": result.tokens_after}


if __name__ == "__main__":
    main()
