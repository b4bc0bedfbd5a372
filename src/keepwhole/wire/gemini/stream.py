"""A streamed answer of Gemini: the part that a client sees, and all that the model wrote.

Owns: leaving out the parts that call recall tools, holding back the end, and putting chunks together: those of a stream
of events, and those of a JSON array, in which an answer is streamed where the client does not ask for events.
Must not know: who answers the calls.

Each chunk is a whole response with the parts that are new. The last one has a `finishReason`, and may have parts too.
"""

from collections.abc import Iterable
from typing import Any

from keepwhole.wire.content import Json, fields_of, parts_of
from keepwhole.wire.dialect import AnswerStream, Names, Reply
from keepwhole.wire.gemini.messages import calls_recall, read_reply
from keepwhole.wire.sse import Event, written

_TEXTS = ({"text"}, {"text", "thought"})
"""The fields of parts that may be joined; one with a signature stays as it is."""


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
    """The parts with the pieces of a text as one part."""
    joined: list[Any] = []
    for part in parts:
        last = fields_of(joined[-1]) if joined else {}
        fields = fields_of(part)
        if fields.keys() in _TEXTS and last.keys() == fields.keys() and last.get("thought") == fields.get("thought"):
            joined[-1] = {**last, "text": f"{last['text']}{fields['text']}"}
        else:
            joined.append(part)
    return joined


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

    def feed(self, event: Event) -> bytes:
        """Take an event and return what the client gets of it."""
        data = event.data()
        if "candidates" not in data and "usageMetadata" not in data and "promptFeedback" not in data:
            return event.raw
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
        left = [part for part in parts if not calls_recall(part, self._names)]
        return candidate if len(left) == len(parts) else {**candidate, "content": {**content, "parts": left}}
