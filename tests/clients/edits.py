"""What Keepwhole changed of a request: everything else must be, byte by byte, what the client sent.

Its edits are: the texts of results; recall tools beside the client's own; rounds of recall, which the client does not
see; one cache marker more; a summary in place of the oldest messages. `outside` is a request without these, as it is
written; behind a summary it must be the end of what the client sent.
"""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from keepwhole.recall.names import NAMES
from tests.clients.json_spans import Value, parse
from tests.upstream.server import Asked
from tests.upstream.spelling import dialect_of

_RESULTS = {
    "tool": "content",
    "tool_result": "content",
    "function_call_output": "output",
    "custom_tool_call_output": "output",
}
"""Which member of a part is the text of a result."""
_CONNECTION = {"host", "connection", "content-length", "accept-encoding", "transfer-encoding", "keep-alive"}
_MARKER = "cache_control"
_SUMMARY = "<keepwhole-summary>"
_RESULT = "⟦result⟧"
"""What stands here for the text of a result."""


class Request(NamedTuple):
    """One request, taken apart."""

    outside: tuple[str, ...]
    """What is no edit: what stands around the messages, and every part of them, as it is written."""
    markers: frozenset[int]
    """The parts of messages that have a cache marker."""
    results: dict[str, str]
    """The texts of results by their call ids."""
    recalls: int
    """Rounds of recall in it."""

    @property
    def behind_summary(self) -> tuple[str, ...]:
        """What follows a summary, as `loosely` has it; nothing where there is none."""
        at = next((at for at, part in enumerate(self.outside) if _SUMMARY in part), None)
        return () if at is None else self.loosely[at + 1 :]

    @property
    def loosely(self) -> tuple[str, ...]:
        """The same with words by what they say: Keepwhole writes a message of the assistant's anew that it takes apart
        because the model recalled something in it, and one of the user's that it joins to a summary."""
        return tuple(map(_by_value, self.outside))


class _Part(NamedTuple):
    """One part of a conversation."""

    role: str
    written: str
    """As it is written, without its marker and without the text of its result."""
    is_marked: bool
    result: str | None
    """The text of a result."""
    call_id: str | None
    is_recall: bool


def is_turn(asked: Asked) -> bool:
    """Whether a model is asked."""
    return asked.method == "POST" and dialect_of(asked.path.partition("?")[0]) is not None


def take_apart(asked: Asked) -> Request:
    """A request of any dialect."""
    document = parse(asked.data.decode())
    messages = document.get("messages") or document.get("input")
    assert messages is not None
    parts = list(chain.from_iterable(_parts(message.raw) for message in messages.items.values()))
    own = {part.call_id for part in parts if part.is_recall}
    shown = [part for part in _without_last_rounds(parts, own) if part.call_id is None or part.call_id not in own]
    around = document.replaced([(messages.start, messages.end, "…"), *_recall_tools(document)])
    outside = (_path(asked), around, *(part.written for part in shown))
    markers = frozenset(at for at, part in enumerate(shown) if part.is_marked)
    results = {part.call_id: part.result for part in shown if part.call_id and part.result is not None}
    return Request(outside, markers, results, len(own))


def headers_of(asked: Asked) -> dict[str, str]:
    """The headers that are not of one connection."""
    return {name: value for name, value in asked.headers.items() if name not in _CONNECTION}


def differences(sent: Sequence[Asked], received: Sequence[Asked]) -> list[str]:
    """What differs, outside of the edits, between what clients sent and what a provider received; nothing if all is
    well. Each request that was sent was received, and no other; a round of recall repeats one."""
    wanted = [take_apart(asked) for asked in sent if is_turn(asked)]
    found = [take_apart(asked) for asked in received if is_turn(asked)]
    known, known_loosely = {one.outside for one in wanted}, {one.loosely for one in wanted}
    seen, seen_loosely = {one.outside for one in found}, {one.loosely for one in found if one.recalls}
    ends = {one.behind_summary for one in found if one.behind_summary}
    summarized = {one.loosely for one in wanted if any(one.loosely[-len(end) :] == end for end in ends)}
    met = {one[-len(end) :] for one in summarized for end in ends}
    new = [one for one in found if (one.loosely not in known_loosely if one.recalls else one.outside not in known)]
    new = [one for one in new if one.behind_summary not in met]
    lost = [one for one in wanted if one.outside not in seen and one.loosely not in seen_loosely | summarized]
    problems = [_problem("received, not sent", one, wanted) for one in new]
    problems += [_problem("sent, not received", one, found) for one in lost]
    problems += _lost_markers(wanted, found)
    problems += _lost_headers(sent, received)
    return problems


@lru_cache(maxsize=20_000)
def _by_value(written: str) -> str:
    role, _, raw = written.partition(" ")
    is_words = role == "assistant" or (role == "user" and _RESULT not in raw)
    return f"{role} {json.dumps(json.loads(raw))}" if is_words else written


def _lost_markers(wanted: list[Request], found: list[Request]) -> Iterator[str]:
    """A marker of the client's that is gone, or more than one new one."""
    marked = {one.loosely: one.markers for one in wanted}
    for one in found:
        mine = marked.get(one.loosely, one.markers)
        if mine - one.markers or len(one.markers - mine) > 1:
            yield f"markers at {sorted(one.markers)}, sent at {sorted(mine)}"


def _lost_headers(sent: Sequence[Asked], received: Sequence[Asked]) -> Iterator[str]:
    wanted = {json.dumps(headers_of(asked), sort_keys=True) for asked in sent if is_turn(asked)}
    for asked in received:
        told = json.dumps(headers_of(asked), sort_keys=True)
        if is_turn(asked) and told not in wanted:
            yield f"headers that no client sent: {told}"


def _problem(what: str, one: Request, others: list[Request]) -> str:
    """The difference from the request that shares the longest beginning."""
    if not others:
        return f"{what}: {one.outside[0]}"
    nearest = max(others, key=lambda other: _common(one.outside, other.outside))
    at = _common(one.outside, nearest.outside)
    mine, theirs = (side[at] if at < len(side) else "" for side in (one.outside, nearest.outside))
    first = next((at for at, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), 0)
    start = max(0, first - 60)
    return f"{what}, part {at}: {mine[start : first + 200]!r} for {theirs[start : first + 200]!r}"


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _path(asked: Asked) -> str:
    """The end of the path, with its query: what stands before it is the way there."""
    return asked.path[asked.path.rindex("/") :]


@lru_cache(maxsize=20_000)
def _parts(raw: str) -> tuple[_Part, ...]:
    """The parts of one message; each request repeats those of the one before."""
    message = parse(raw)
    role = message.said("role") or ""
    blocks = message.all("content") if role != "tool" else []
    if not blocks:
        return (_part(role, message), *(_part(role, call) for call in message.all("tool_calls")))
    return tuple(_part(role, block) for block in [*blocks, *message.all("tool_calls")])


def _part(role: str, value: Value) -> _Part:
    kind = "tool" if role == "tool" else value.said("type") or ""
    result = value.get(_RESULTS[kind]) if kind in _RESULTS else None
    own = value.said("id") if kind in ("tool_use", "function") else None
    call_id = value.said("tool_use_id") or value.said("tool_call_id") or value.said("call_id") or own
    pieces = [] if result is None else [(result.start, result.end, _RESULT)]
    marker = value.get(_MARKER)
    if marker is not None:
        pieces.append(_member(value, marker))
    text = None if result is None else result.string or "".join(one.said("text") or "" for one in result.all())
    return _Part(role, f"{role} {value.replaced(pieces)}", marker is not None, text, call_id, _is_recall(value))


def _without_last_rounds(parts: list[_Part], own: set[str | None]) -> list[_Part]:
    """Without the rounds of recall at the end: the client will hear what was said in them with the next answer."""
    end = len(parts)
    while end and parts[end - 1].result is not None and parts[end - 1].call_id in own:
        while end and parts[end - 1].result is not None and parts[end - 1].call_id in own:
            end -= 1
        while end and parts[end - 1].result is None and parts[end - 1].role in ("assistant", ""):
            end -= 1
    return parts[:end]


def _is_recall(value: Value) -> bool:
    return (value.said("name") or value.said("function", "name")) in NAMES


def _recall_tools(document: Value) -> Iterator[tuple[int, int, str]]:
    """Recall tools with the comma that parts them from the next."""
    tools = document.all("tools")
    for at, tool in enumerate(tools):
        if _is_recall(tool):
            yield tool.start, tools[at + 1].start if at + 1 < len(tools) else tool.end, ""


def _member(whole: Value, value: Value) -> tuple[int, int, str]:
    """Where a member of an object lies, with the comma that parts it from the others."""
    text = whole.text
    start = text.rindex('"' + _MARKER, whole.start, value.start)
    before = text[whole.start : start].rstrip()
    if before.endswith(","):
        return whole.start + len(before) - 1, value.end, ""
    end = value.end
    while text[end] in " \t\n\r,":
        end += 1
    return start, end, ""
