"""A streamed answer of OpenAI's Responses: what of it a client sees, and what the model wrote in all.

Owns: leaving out the items that call our tools, numbering the others and the events, holding back the end.
Must not know: who answers the calls.
"""

from keepwhole.wire.as_dict import fields_of
from keepwhole.wire.reply import Json, Names, Reply, is_ours, joined_reply, read_reply
from keepwhole.wire.sse import Event, written

_BEGIN = ("response.created", "response.queued", "response.in_progress")
_END = ("response.completed", "response.incomplete", "response.failed")


class ResponsesStream:
    """All rounds of one answer."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._next = self._sequence = self._round = 0
        self._shown: list[Json] = []
        self.id: object = None
        """What the client calls the answer: as it began."""
        self._begin()

    def _begin(self) -> None:
        self._numbers: dict[int, int | None] = {}
        """What each item goes by for the client; None for one of ours."""
        self._held: Event | None = None
        self._body: Json = {}

    def feed(self, event: Event) -> bytes:
        """What a client is to get of an event."""
        data = event.data()
        kind = data.get("type")
        if kind in _END:
            self._held, self._body = event, fields_of(data.get("response"))
            return b""
        if kind in _BEGIN:
            self.id = self.id or fields_of(data.get("response")).get("id")
            if self._round:
                return b""
        if kind == "response.output_item.added":
            self._number(data.get("output_index", 0), is_ours(data.get("item"), self._names))
        if "output_index" in data:
            number = self._numbers.get(data["output_index"], data["output_index"])
            return b"" if number is None else self._passed(event, data, {"output_index": number})
        return self._passed(event, data, {})

    def reply(self) -> Reply | None:
        """The answer of this round; None where it broke off."""
        return read_reply("openai_responses", self._body, self._names) if self._held else None

    def end(self, waits: bool) -> bytes:
        """The event that ends the answer."""
        if self._held is None:
            return b""
        reply = read_reply("openai_responses", self._body, self._names)
        if not self._round and not reply.calls:
            return self._passed(self._held, self._held.data(), {})
        body = joined_reply("openai_responses", self._body, [*self._shown, *reply.shown], self._names)
        return self._passed(self._held, self._held.data(), {"response": {**body, "id": self.id or body.get("id")}})

    def go_on(self) -> None:
        """Another round follows."""
        self._shown += read_reply("openai_responses", self._body, self._names).shown
        self._round += 1
        self._begin()

    @property
    def body(self) -> Json:
        """The last round's response."""
        return self._body

    def _number(self, at: int, ours: bool) -> None:
        self._numbers[at] = None if ours else self._next
        self._next += not ours

    def _passed(self, event: Event, data: Json, changed: Json) -> bytes:
        """An event with what changes in it; the same bytes where nothing does."""
        if "sequence_number" in data:
            changed = {**changed, "sequence_number": self._sequence}
            self._sequence += 1
        if all(data.get(key) == value for key, value in changed.items()):
            return event.raw
        return written(event.name, {**data, **changed})
