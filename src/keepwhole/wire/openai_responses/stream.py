"""A streamed answer of OpenAI's Responses: the part that a client sees, and all that the model wrote.

Owns: leaving out the items that call recall tools, numbering the others and the events, holding back the end.
Must not know: who answers the calls.
"""

from operator import itemgetter

from keepwhole.wire.content import Json, fields_of
from keepwhole.wire.dialect import AnswerStream, Names, Reply
from keepwhole.wire.openai_responses.messages import calls_recall, read_reply
from keepwhole.wire.sse import Event, written

_BEGIN = ("response.created", "response.queued", "response.in_progress")
_OF_ITEMS = ("response.output_item.added", "response.output_item.done")
_END = ("response.completed", "response.incomplete", "response.failed")


class ResponsesStream(AnswerStream):
    """All rounds of one answer."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._next = self._sequence = self._round = 0
        self._shown: list[Json] = []
        self._id: object = None
        """The id under which the answer began, which the client knows."""
        self._begin()

    def _begin(self) -> None:
        self._numbers: dict[object, int | None] = {}
        """The client's number of each item, by `output_index`, or by its id where a server does not count; None for one
        that calls a recall tool."""
        self._items: list[tuple[int, Json]] = []
        """The items that are whole: some servers leave them out at the end."""
        self._held: Event | None = None
        self._body: Json = {}

    def feed(self, event: Event) -> bytes:
        """Take an event and return what the client gets of it."""
        data = event.data()
        kind = data.get("type")
        if kind in _END:
            self._held, self._body = event, self._body_at_end(str(kind), fields_of(data.get("response")))
            return b""
        if kind in _BEGIN:
            self._id = self._id or fields_of(data.get("response")).get("id")
            if self._round:
                return b""
        item = fields_of(data.get("item"))
        place = data.get("output_index", item.get("id", data.get("item_id")))
        return self._passed(event, data, {}) if place is None and not item else self._of_item(event, data, item, place)

    def _of_item(self, event: Event, data: Json, item: Json, place: object) -> bytes:
        """What the client gets of an event that begins an item, ends it, or adds to it."""
        kind = data.get("type")
        if kind in _OF_ITEMS and (place is None or place not in self._numbers):
            self._number(place, calls_recall(item, self._names))
        if kind == "response.output_item.done":
            self._items.append((data.get("output_index", len(self._items)), item))
        number = self._numbers.get(place, place)
        if number is None:
            return b""
        return self._passed(event, data, {"output_index": number} if "output_index" in data else {})

    def reply(self) -> Reply | None:
        """The answer of this round; None where it broke off."""
        return read_reply(self._body, self._names) if self._held else None

    def end(self, waits: bool) -> bytes:
        """The event that ends the answer."""
        if self._held is None:
            return b""
        reply = read_reply(self._body, self._names)
        if not self._round and not reply.calls:
            return self._passed(self._held, self._held.data(), {})
        body = {**self._body, "output": [*self._shown, *reply.shown], "id": self._id or self._body.get("id")}
        return self._passed(self._held, self._held.data(), {"response": body})

    def go_on(self) -> None:
        """Begin another round."""
        self._shown += read_reply(self._body, self._names).shown
        self._round += 1
        self._begin()

    def ids(self) -> tuple[object, object]:
        """The ids of the first round and of the last one."""
        return self._id, self._body.get("id")

    def _body_at_end(self, kind: str, body: Json) -> Json:
        """The response at the end of a round, with what a server leaves out of it: its status, and its items."""
        stated = body if "status" in body else {**body, "status": kind.removeprefix("response.")}
        items = [item for _, item in sorted(self._items, key=itemgetter(0))]
        return stated if body.get("output") or not items else {**stated, "output": items}

    def _number(self, at: object, is_hidden: bool) -> None:
        self._numbers[at] = None if is_hidden else self._next
        self._next += not is_hidden

    def _passed(self, event: Event, data: Json, changed: Json) -> bytes:
        """An event with what changes in it; the same bytes where nothing does."""
        if "sequence_number" in data:
            changed = {**changed, "sequence_number": self._sequence}
            self._sequence += 1
        if all(data.get(key) == value for key, value in changed.items()):
            return event.raw
        return written(event.name, {**data, **changed})
