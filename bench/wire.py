"""What it costs to read a request, to edit it as bytes and to decode its messages, in each dialect.

Judged by CPU of the thread, against the standard `json`: the simplest way to edit a request is to parse and rewrite it.
A request is 2 MB in 2,000 messages, half of them results, and every other result is cut. Every subject runs a few times
per round and its fastest run counts, since a busy machine only makes runs slower.
"""

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench import floors
from bench.support.row import Row, row_with_floor
from bench.support.setup import Setup
from bench.support.timing import run_interleaved
from keepwhole.canonical.message import Path
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.request_body import RequestBody, read_request

_STEPS = 1_000
_RESULT = 1_700
_TIMES = 7
_CUT = "[Artifact: art_0123456789abcdef] read_file (1.7 KB)\n... [40 lines / 1,500 chars omitted] ..."
Message = dict[str, Any]


@dataclass(frozen=True)
class _Case:
    """One dialect: its messages, the request with them, and the path of a result's text."""

    name: str
    key: str
    messages: list[Message]
    path: Path

    @property
    def body(self) -> bytes:
        return json.dumps({"model": "m", "stream": True, self.key: self.messages}).encode()

    @property
    def edits(self) -> dict[int, list[tuple[Path, str]]]:
        return {at: [(self.path, _CUT)] for at in range(1, len(self.messages), 4)}


def wire(setup: Setup) -> list[Row]:
    return [row for case in _cases() for row in _rows(setup, case)]


def _cases() -> list[_Case]:
    chance = random.Random(1)
    texts = [_text(chance) for _ in range(_STEPS)]
    return [
        _Case("Chat", "messages", _history(texts, _chat), ("content",)),
        _Case("Responses", "input", _history(texts, _responses), ("output",)),
        _Case("Anthropic", "messages", _history(texts, _anthropic), ("content", 0, "content")),
    ]


def _text(chance: random.Random) -> str:
    """Lines like a tool's, each with something in quotes."""
    words = [f"{chance.getrandbits(24):x}" for _ in range(200)]
    lines = [f'"{words[at]}": ' + " ".join(chance.choices(words, k=9)) for at in range(40)]
    return "\n".join(lines)[:_RESULT]


def _history(texts: list[str], step: Callable[[str, str], tuple[Message, Message]]) -> list[Message]:
    return [message for number, text in enumerate(texts) for message in step(f"call_{number}", text)]


def _chat(call_id: str, text: str) -> tuple[Message, Message]:
    function = {"name": "read_file", "arguments": '{"path": "src/a.py"}'}
    calls = [{"id": call_id, "type": "function", "function": function}]
    called = {"role": "assistant", "content": "Let me look.", "tool_calls": calls}
    return called, {"role": "tool", "tool_call_id": call_id, "content": text}


def _responses(call_id: str, text: str) -> tuple[Message, Message]:
    called = {"type": "function_call", "call_id": call_id, "name": "read_file", "arguments": '{"path": "src/a.py"}'}
    return called, {"type": "function_call_output", "call_id": call_id, "output": text}


def _anthropic(call_id: str, text: str) -> tuple[Message, Message]:
    use = {"type": "tool_use", "id": call_id, "name": "read_file", "input": {"path": "src/a.py"}}
    called = {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, use]}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return called, {"role": "user", "content": [result]}


def _rows(setup: Setup, case: _Case) -> list[Row]:
    body, edits, messages = case.body, case.edits, case.messages
    _check(case, body)
    value = json.loads(body)
    spent = run_interleaved(
        f"wire {case.name}",
        setup.rounds,
        {
            "read": lambda: _least(lambda: read_request(body)),
            "loads": lambda: _least(lambda: json.loads(body)),
            "splice": lambda: _least(lambda: _read(body).splice(edits)),
            "dumps": lambda: _least(lambda: json.dumps(value).encode()),
            "decode": lambda: _least(lambda: [decode_message(message) for message in messages]),
        },
    )
    both = [loads + dumps for loads, dumps in zip(spent["loads"], spent["dumps"], strict=True)]
    what = f"{case.name} request, 2 MB, 2,000 messages"
    decode = [seconds / len(messages) * 1e6 for seconds in spent["decode"]]
    return [
        _ratio(f"{what}: `read`", spent["read"], "`json.loads`", spent["loads"], floors.WIRE_READ),
        _ratio(
            f"{what}: `read` and `splice` of {len(edits)} edits",
            spent["splice"],
            "`json.loads` and `dumps`",
            both,
            floors.WIRE_SPLICE,
        ),
        row_with_floor(
            f"{what}: `decode_message`", f"{median(decode):.2f} µs a message", "–", decode, floors.WIRE_DECODE
        ),
    ]


def _read(body: bytes) -> RequestBody:
    request = read_request(body)
    if request is None:
        raise RuntimeError("the request was not understood")
    return request


def _check(case: _Case, body: bytes) -> None:
    """Check what is measured: the same values, all results found, the same request except for the edits."""
    request = _read(body)
    results = [returned for message in case.messages for returned in decode_message(message).returned]
    if request.messages != case.messages or len(results) != _STEPS:
        raise RuntimeError(f"{case.name}: not read as it was written")
    edited = json.loads(request.splice(case.edits))[case.key]
    changed = {at for at, (new, old) in enumerate(zip(edited, case.messages, strict=True)) if new != old}
    if request.skipped or changed != case.edits.keys():
        raise RuntimeError(f"{case.name}: not edited where it was asked for")


def _least(run: Callable[[], object]) -> float:
    """CPU seconds of the fastest of a few runs."""
    least = float("inf")
    for _ in range(_TIMES):
        started = time.thread_time()
        run()
        least = min(least, time.thread_time() - started)
    return least


def _ratio(what: str, ours: list[float], name: str, theirs: list[float], floor: floors.Floor) -> Row:
    values = [one / other for one, other in zip(ours, theirs, strict=True)]
    return row_with_floor(what, f"{median(ours) * 1e3:.1f} ms", f"{name} {median(theirs) * 1e3:.1f} ms", values, floor)
