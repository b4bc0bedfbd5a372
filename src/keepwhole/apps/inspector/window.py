"""The context-window indicator: how full the window is, what fills it, and the three thresholds.

Owns: to which part each token of a request is counted.
Must not know: stores, sockets.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from keepwhole.apps.inspector.timeline import TimelineResult
from keepwhole.canonical.message import Message
from keepwhole.canonical.utf8 import showable
from keepwhole.models.thresholds import Thresholds
from keepwhole.models.tokens import estimate, estimate_from_length
from keepwhole.policies.transcript import Transcript
from keepwhole.wire.declarations import by_server, declarations_in
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.request_body import read_request

_STATES = {"normal": "ok", "warn": "warning", "compact": "compaction", "hard": "hard"}
_LABELS = {"system": "System", "user": "User", "assistant": "Assistant", "overhead": "Tool definitions"}
_TOOLS = 12
"""Tools that are listed; the tokens of all others form one part."""


class WindowPart(NamedTuple):
    """The tokens of one speaker or tool."""

    kind: str
    label: str
    tokens: int


def parts_of_request(body: bytes) -> list[WindowPart]:
    """The parts of a request by estimated tokens; none where the request cannot be read."""
    request = read_request(body)
    if request is None:
        return []
    counts: dict[tuple[str, str], int] = {}
    for key in ("system", "instructions"):
        if request.fields.get(key):
            _count(counts, "system", _LABELS["system"], estimate(_as_text(request.fields[key])))
    for server, tools in by_server(declarations_in(request.fields)).items():
        label = f"{_LABELS['overhead']}: {showable(server)}" if server else _LABELS["overhead"]
        _count(counts, "overhead", label, sum(one.tokens for one in tools))
    if isinstance(request.fields.get("input"), str):
        _count(counts, "user", _LABELS["user"], estimate(request.fields["input"]))
    transcript = Transcript()
    for message in map(decode_message, request.messages):
        _count_words(counts, message)
        transcript.extend((message,))
    for item in transcript.items:
        _count(counts, "tool", showable(item.call.tool if item.call else "tool"), item.tokens)
    return _sort_parts(counts)


def parts_of_results(results: Iterable[TimelineResult]) -> list[WindowPart]:
    """The parts of a window from results alone, where no request is recorded."""
    counts: dict[tuple[str, str], int] = {}
    for kept in results:
        _count(counts, "tool", showable(kept.result.tool), estimate_from_length(kept.shown_chars))
    return _sort_parts(counts)


def indicator(parts: list[WindowPart], used: int, whole: int, window: int, thresholds: Thresholds) -> dict[str, Any]:
    """How full a window is; the parts are scaled to add up to `used`."""
    state = thresholds.indicator(used, window)
    total = sum(part.tokens for part in parts) or 1
    shares = [part._replace(tokens=round(part.tokens * used / total)) for part in parts]
    return {
        "used": used,
        "whole": whole,
        "window": window,
        "share": state.share,
        "parts": [part._asdict() for part in shares],
        "thresholds": [
            {
                "share": getattr(thresholds, line.level),
                "tokens": line.tokens,
                "label": line.label,
                "explained": line.explanation,
                "reached": line.reached,
            }
            for line in state.lines
        ],
        "state": _STATES[state.level],
    }


def _count_words(counts: dict[tuple[str, str], int], message: Message) -> None:
    kind = message.role if message.role in ("system", "user", "assistant") else "user"
    tokens = message.other + (estimate(message.said) if message.said else 0)
    tokens += sum(estimate(call.tool) + estimate(call.arguments) for call in message.calls)
    if tokens:
        _count(counts, kind, _LABELS[kind], tokens)


def _count(counts: dict[tuple[str, str], int], kind: str, label: str, tokens: int) -> None:
    counts[kind, label] = counts.get((kind, label), 0) + tokens


def _sort_parts(counts: dict[tuple[str, str], int]) -> list[WindowPart]:
    """Speakers first, then tools, the largest tool first."""
    words = [WindowPart(*key, counts[key]) for key in counts if key[0] != "tool"]
    words.sort(key=lambda part: list(_LABELS).index(part.kind))
    tools = sorted((WindowPart(*key, counts[key]) for key in counts if key[0] == "tool"), key=lambda part: -part.tokens)
    rest = sum(part.tokens for part in tools[_TOOLS:])
    return words + tools[:_TOOLS] + ([WindowPart("tool", "other tools", rest)] if rest else [])


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
