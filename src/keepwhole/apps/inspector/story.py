"""The story of a step: what came in, what the model answered, what happened next; and any request as messages.

Owns: which words belong to a step, and how much of them one answer contains.
Must not know: sockets, how messages are decoded (`messages`).
"""

import shlex
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from keepwhole.apps.inspector import shapes
from keepwhole.apps.inspector.images import media_fields
from keepwhole.apps.inspector.messages import (
    Answer,
    RequestMessages,
    SentMessage,
    State,
    call_fields,
    read_answer,
    read_messages,
    runs,
    states,
    text_fields,
    tokens_of,
)
from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.timeline import Timeline, TimelineResult, TimelineStep
from keepwhole.apps.session_title import SaidPiece, split_by_tags
from keepwhole.canonical.entry import Request
from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import NotFound, StoreError
from keepwhole.wire.dialects import TABLE

_CACHED = 6
_WORDS, _MOST_WORDS = 4_000, 262_144
"""Characters of a text that are shown at once, and at most."""
_TOLD = 24
"""New messages of a step that its story has, the newest."""
_PAGE = 40
_INLINE = 65_536
"""Bytes of a request up to which a command has it in itself."""
_KEYS = {
    "anthropic": ("anthropic-version: 2023-06-01", "x-api-key: $ANTHROPIC_API_KEY"),
    "gemini": ("x-goog-api-key: $GEMINI_API_KEY",),
}
_BEARER = ("authorization: Bearer $OPENAI_API_KEY",)


class _Step(NamedTuple):
    """A step that has a request, and the requests around it."""

    step: TimelineStep
    request: Request
    before: TimelineStep | None
    after: TimelineStep | None


class Stories:
    """The words of a record's requests. Safe from threads."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._lock = threading.Lock()
        self._read: OrderedDict[tuple[str, int, str], RequestMessages | None] = OrderedDict()

    def tell(self, name: str, trace_id: str, query: Mapping[str, str]) -> dict[str, Any]:
        """What came in with a request, what the model answered, and which step followed."""
        timeline = self._record.timeline_with_request(name, trace_id)
        found = _find(timeline, trace_id)
        sent, before = self._messages(timeline, found)
        most = shapes.number(query, "chars", _WORDS, 1, _MOST_WORDS)
        marks: list[State] = [] if sent is None else states(sent.messages, None if before is None else before.messages)
        fresh = [at for at, state in enumerate(marks) if state == "new"]
        with timeline.lock:
            drawn = _Drawn(timeline, found.step.seq, {} if sent is None else sent.calls(), most)
            told = [] if sent is None else [drawn.message(at, sent.messages[at], "new") for at in fresh[-_TOLD:]]
            return {
                "is_readable": sent is not None,
                "skipped": max(0, len(fresh) - _TOLD),
                "messages": told,
                "answer": self._answer(timeline, found, drawn),
                "next": _next_fields(found.after),
            }

    def request(self, name: str, trace_id: str, query: Mapping[str, str]) -> dict[str, Any]:
        """A request as messages: what changed since the one before it, and a page of the messages."""
        timeline = self._record.timeline_with_request(name, trace_id)
        found = _find(timeline, trace_id)
        sent, before = self._messages(timeline, found)
        if sent is None:
            return {"is_readable": False, "step": found.step.index}
        marks = states(sent.messages, None if before is None else before.messages)
        start = shapes.number(query, "from", 0, 0, len(marks))
        count = shapes.number(query, "count", _PAGE, 0, 100)
        most = shapes.number(query, "chars", _WORDS, 1, _MOST_WORDS)
        old = {} if before is None else _texts_by_call(before.messages)
        with timeline.lock:
            drawn = _Drawn(timeline, found.step.seq, sent.calls(), most, old)
            page = range(start, min(len(marks), start + count))
            return {
                "is_readable": True,
                "step": found.step.index,
                "model": showable(found.request.model),
                "total": len(marks),
                "before": None if found.before is None else _step_fields(found.before),
                "gone": 0 if before is None else max(0, len(before.messages) + marks.count("new") - len(marks)),
                "system": text_fields(sent.system, most),
                "is_system_new": before is not None and before.system != sent.system,
                "tools": [{"name": showable(tool), "tokens": tokens} for tool, tokens in sent.tools],
                "runs": runs(marks),
                "from": start,
                "messages": [drawn.message(at, sent.messages[at], marks[at]) for at in page],
                "curl": curl_of(found.request),
            }

    def answer(self, name: str, trace_id: str, query: Mapping[str, str]) -> dict[str, Any]:
        """The answer to a request as messages."""
        timeline = self._record.timeline_with_request(name, trace_id)
        found = _find(timeline, trace_id)
        most = shapes.number(query, "chars", _WORDS, 1, _MOST_WORDS)
        with timeline.lock:
            return self._answer(timeline, found, _Drawn(timeline, found.step.seq, {}, most)) or {}

    def _answer(self, timeline: Timeline, found: _Step, drawn: "_Drawn") -> dict[str, Any] | None:
        response = found.step.response
        if response is None:
            return None
        try:
            data = self._record.response_body(timeline.session, found.request.trace_id)
            answer = read_answer(found.request.dialect, data)
        except StoreError as error:
            answer = Answer(error=str(error), is_readable=False)
        return {
            "status": response.status,
            "outcome": response.outcome,
            "error": answer.error,
            "is_readable": answer.is_readable,
            "messages": [drawn.message(at, sent, "new") for at, sent in enumerate(answer.messages)],
        }

    def _messages(self, timeline: Timeline, found: _Step) -> tuple[RequestMessages | None, RequestMessages | None]:
        """A request and the one before it; None for one that cannot be read or is not there."""
        sent = self._read_request(timeline, found.request)
        before = None if found.before is None else found.before.request
        return sent, None if before is None else self._read_request(timeline, before)

    def _read_request(self, timeline: Timeline, request: Request) -> RequestMessages | None:
        key = timeline.session, timeline.generation, request.trace_id
        with self._lock:
            if key in self._read:
                self._read.move_to_end(key)
                return self._read[key]
        try:
            made = read_messages(self._record.request_body(timeline.session, request.trace_id))
        except StoreError:
            made = None
        with self._lock:
            self._read[key] = made
            while len(self._read) > _CACHED:
                self._read.popitem(last=False)
        return made


class _Drawn:
    """Messages as the page gets them, each result with its place in the record."""

    def __init__(
        self,
        timeline: Timeline,
        upto: int,
        calls: Mapping[str, Call],
        most: int,
        before: Mapping[str, str] | None = None,
    ) -> None:
        self._timeline, self._upto, self._calls, self._most = timeline, upto, calls, most
        self._before = before or {}

    def message(self, at: int, sent: SentMessage, state: State) -> dict[str, Any]:
        """One message with its parts."""
        message = sent.message
        parts: list[dict[str, Any]] = []
        if sent.thinking:
            parts.append({"kind": "thinking", **text_fields(sent.thinking, self._most)})
        if message.said:
            parts += _said_parts(message, self._most)
        parts += [call_fields(call, self._most) for call in message.calls]
        seen: dict[str, int] = {}
        for one in message.returned:
            number = seen.get(one.call_id, 0)
            seen[one.call_id] = number + 1
            parts.append(self._result(one, number, state))
        if message.other and not sent.thinking:
            parts.append({"kind": "other", "tokens": message.other})
        return {"index": at, "role": message.role, "state": state, "tokens": tokens_of(message), "parts": parts}

    def _result(self, one: ResultText, number: int, state: State) -> dict[str, Any]:
        call = self._calls.get(one.call_id)
        kept = self._timeline.find_call(one.call_id, number)
        was = self._before.get(one.call_id) if state == "changed" else None
        return {
            "kind": "result",
            "tool": showable(call.tool if call else kept.result.tool if kept else "tool"),
            "call_id": showable(one.call_id),
            "arguments": showable(call.arguments[: self._most] if call else ""),
            "is_error": one.is_error,
            **text_fields(one.text, self._most),
            **self._kept_fields(kept),
            "was": None if was is None or was == one.text else text_fields(was, self._most),
        }

    def _kept_fields(self, kept: TimelineResult | None) -> dict[str, Any]:
        """Where the record has a result, and the rule by which this request shows it."""
        if kept is None:
            return {"trace_id": None, "step": None, "rule": None, "kept_chars": None, "media": None}
        made = [decision for decision, seq in zip(kept.decisions, kept.decided, strict=True) if seq < self._upto]
        return {
            "trace_id": kept.result.trace_id,
            "step": None if kept.step is None else kept.step.index,
            "rule": made[-1].rule if made else None,
            "kept_chars": kept.facts.chars,
            "media": media_fields(kept.result, kept.facts.size, kept.facts.digest),
        }


def _said_parts(message: Message, most: int) -> list[dict[str, Any]]:
    """What was said; what a client has put into a user's words is apart from them."""
    is_split = message.role == "user" and len(message.said) <= _MOST_WORDS
    pieces = split_by_tags(message.said) if is_split else (SaidPiece(message.said),)
    return [
        {"kind": "tagged", "tag": each.tag, **text_fields(each.text, most)}
        if each.tag
        else {"kind": "text", **text_fields(each.text.strip("\n") if is_split else each.text, most)}
        for each in pieces
    ]


def curl_of(request: Request) -> dict[str, Any]:
    """The command that sends a request again, without its body and without a key."""
    dialect = next((one for one in TABLE.dialects if one.name == request.dialect), TABLE.dialects[0])
    path = next((path for path, kind in dialect.paths.items() if kind == "turn"), "")
    secret = _KEYS.get(dialect.name, _BEARER)
    file = f"{request.trace_id}.json"
    head = ["curl", shlex.quote(f"{dialect.upstream}/v1{path}"), "-H 'content-type: application/json'"]
    command = " ".join([*head, *(f'-H "{line}"' for line in secret)])
    return {"command": command, "file": file, "is_inline": request.size <= _INLINE}


def _find(timeline: Timeline, trace_id: str) -> _Step:
    with timeline.lock:
        step = timeline.find_request(trace_id)
        if step is None or step.request is None:
            raise NotFound(f"Session `{timeline.session[:80]}` has no request `{trace_id[:80]}`.")
        return _Step(step, step.request, timeline.request_before(step), timeline.request_after(step))


def _next_fields(step: TimelineStep | None) -> dict[str, Any] | None:
    return None if step is None else _step_fields(step)


def _step_fields(step: TimelineStep) -> dict[str, Any]:
    """A step as another one names it: its number, and what was new in it."""
    name = None if step.request is None else step.request.trace_id
    return {"index": step.index, "id": name, "results": [shapes.result(kept) for kept in step.results[:12]]}


def _texts_by_call(messages: Sequence[SentMessage]) -> dict[str, str]:
    return {one.call_id: one.text for sent in messages for one in sent.message.returned}
