"""A streamed answer of Gemini: the part that a client sees, and all that the model wrote.

Owns: leaving out the parts that call recall tools, holding back the end, and putting chunks together: those of a stream
of events, and those of a JSON array, in which an answer is streamed where the client does not ask for events.
Must not know: who answers the calls.

Each chunk is a whole response with the parts that are new. The last one has a `finishReason`, and may have parts too.

Where a client asks for it (`streamFunctionCallArguments`), a call comes in several parts, of which the first has its
name and the others values at paths:

    {"functionCall": {"name": "read", "willContinue": true}}
    {"functionCall": {"partialArgs": [{"jsonPath": "$.path", "stringValue": "src/"}], "willContinue": true}}
    {"functionCall": {"partialArgs": [{"jsonPath": "$.path", "stringValue": "a.py"}], "willContinue": true}}
    {"functionCall": {}}
"""

import re
from collections.abc import Iterable
from typing import Any

from keepwhole.wire.content import Json, fields_of, parts_of
from keepwhole.wire.dialect import AnswerStream, Names, Reply
from keepwhole.wire.gemini.messages import calls_recall, read_reply
from keepwhole.wire.sse import Event, written

_OF_ANSWERS = frozenset(("candidates", "usageMetadata", "promptFeedback"))
"""The fields of which an event of an answer has one; others are errors, or unknown."""
_TEXTS = ({"text"}, {"text", "thought"})
"""The fields of parts that may be joined; one with a signature stays as it is."""

_STEPS = re.compile(r"\.([^.\[\]]+)|\[(\d{1,4})\]")


def first_candidate(body: Json) -> Json:
    """The first answer in a response."""
    candidates = parts_of(body.get("candidates"))
    return fields_of(candidates[0]) if candidates else {}


def has_ended(chunk: Json) -> bool:
    """Whether a chunk is the last one with parts: the model ended, or the prompt was refused."""
    reasons = (fields_of(one).get("finishReason") for one in parts_of(chunk.get("candidates")))
    return any(reasons) or bool(fields_of(chunk.get("promptFeedback")).get("blockReason"))


def joined_body(chunks: Iterable[Json]) -> Json:
    """The chunks of a stream as one response."""
    body: Json = {}
    candidate: Json = {}
    parts: list[Any] = []
    for chunk in chunks:
        newest = first_candidate(chunk)
        parts += parts_of(fields_of(newest.get("content")).get("parts"))
        candidate |= newest
        body |= chunk
    if not candidate:
        return body
    content = {"role": "model", **fields_of(candidate.get("content")), "parts": joined_parts(parts)}
    return {**body, "candidates": [{**candidate, "content": content}]}


def joined_parts(parts: Iterable[Any]) -> list[Any]:
    """The parts with the pieces of a text as one part, and those of a call."""
    joined: list[Any] = []
    for part in parts:
        last = fields_of(joined[-1]) if joined else {}
        fields = fields_of(part)
        if is_piece_of_call(fields) and "functionCall" in last:
            joined[-1] = _with_piece({**fields, **last}, fields["functionCall"])
            continue
        if "willContinue" in fields_of(fields.get("functionCall")):
            fields = part = _with_piece({**fields, "functionCall": {}}, fields["functionCall"])
        if fields.keys() in _TEXTS and last.keys() == fields.keys() and last.get("thought") == fields.get("thought"):
            joined[-1] = {**last, "text": f"{last['text']}{fields['text']}"}
        else:
            joined.append(part)
    return joined


def is_piece_of_call(part: Json) -> bool:
    """Whether a part goes on with the call before it: only the first part of a call has its name."""
    call = part.get("functionCall")
    return isinstance(call, dict) and "name" not in call


def _with_piece(part: Json, piece: Json) -> Json:
    """A part with a call to which a piece is added: fields as they are, values in its arguments."""
    call = fields_of(part["functionCall"])
    args = fields_of(call.get("args"))
    for value in map(fields_of, parts_of(piece.get("partialArgs"))):
        steps = [name or int(number) for name, number in _STEPS.findall(str(value.get("jsonPath")))]
        new = next((value[key] for key in ("stringValue", "numberValue", "boolValue") if key in value), None)
        args = _with_value(args, steps, new) if steps else args
    own = {key: one for key, one in piece.items() if key not in ("partialArgs", "willContinue")}
    return {**part, "functionCall": {**call, "args": args, **own}}


def _with_value(value: Any, steps: list[Any], new: Any) -> Any:
    """A copy of a value with a new one at a path; a text is added to the one that is there."""
    if not steps:
        return value + new if isinstance(value, str) and isinstance(new, str) else new
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        items = list(parts_of(value))
        items += [None] * (step + 1 - len(items))
        items[step] = _with_value(items[step], rest, new)
        return items
    fields = fields_of(value)
    return {**fields, step: _with_value(fields.get(step), rest, new)}


class GeminiStream(AnswerStream):
    """All rounds of one answer."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._round = 0
        self._id: object = None
        """The `responseId` of the first round, which all chunks of an answer have."""
        self._begin()

    def _begin(self) -> None:
        self._chunks: list[Json] = []
        self._held: list[Event] = []
        """The events from the one that ends the answer on."""
        self._candidates = 0
        self._is_hidden = False
        """Whether the newest call is one of a recall tool."""

    def feed(self, event: Event) -> bytes:
        """Take an event and return what the client gets of it."""
        data = event.data()
        if _OF_ANSWERS.isdisjoint(data):
            if self._held:  # what comes behind the end stays behind it
                self._held.append(event)
            return b"" if self._held else event.raw
        self._id = self._id or data.get("responseId")
        self._chunks.append(data)
        self._candidates = max(self._candidates, len(parts_of(data.get("candidates"))))
        if self._held or has_ended(data):
            self._held.append(event)
            return b""
        shown = self._shown(event)
        return b"" if shown is None else shown

    def reply(self) -> Reply | None:
        """The answer of this round; None where it broke off."""
        if not self._held:
            return None
        reply = read_reply(first_candidate(joined_body(self._chunks)), self._names)
        return reply._replace(whole=reply.whole and self._candidates == 1)

    def end(self, waits: bool) -> bytes:
        """The chunks that end the answer; it ends alike whether or not it calls tools."""
        return b"".join(self._shown(event, is_end=True) or b"" for event in self._held)

    def go_on(self) -> None:
        """Begin another round."""
        self._round += 1
        self._begin()

    def ids(self) -> tuple[object, object]:
        """None: no request can name an answer."""
        return None, None

    def _shown(self, event: Event, is_end: bool = False) -> bytes | None:
        """A chunk without the calls of recall tools; None where nothing is left of one in the middle."""
        data = event.data()
        if _OF_ANSWERS.isdisjoint(data):
            return event.raw
        candidates = [fields_of(one) for one in parts_of(data.get("candidates"))]
        changed = [self._without_recall(one) for one in candidates]
        is_same_id = not self._round or data.get("responseId") == self._id
        if changed == candidates:
            return event.raw if is_same_id else written(event.name, {**data, "responseId": self._id})
        has_parts = any(fields_of(one.get("content")).get("parts") for one in changed)
        if not is_end and not has_parts:
            return None
        return written(event.name, {**data, "candidates": changed, **({"responseId": self._id} if self._id else {})})

    def _without_recall(self, candidate: Json) -> Json:
        content = fields_of(candidate.get("content"))
        parts = parts_of(content.get("parts"))
        left = [part for part in parts if not self._is_of_recall(fields_of(part))]
        return candidate if len(left) == len(parts) else {**candidate, "content": {**content, "parts": left}}

    def _is_of_recall(self, part: Json) -> bool:
        """Whether a part is a call of a recall tool, or goes on with one."""
        if not is_piece_of_call(part):
            self._is_hidden = calls_recall(part, self._names)
        return self._is_hidden
