"""Its streamed answers: an event for each item, and one that ends the answer."""

from keepwhole.wire.content import Json
from keepwhole.wire.dialect import AnswerStream, Names, Reply
from keepwhole.wire.sse import Event, written
from tests.wire.turns.messages import read_reply


class TurnsStream(AnswerStream):
    def __init__(self, names: Names) -> None:
        self._names = names
        self._items: list[Json] = []
        self._end: Event | None = None

    def feed(self, event: Event) -> bytes:
        data = event.data()
        if "end" in data:
            self._end = event
            return b""
        self._items.append(data["item"])
        return b"" if data["item"].get("tool") in self._names else event.raw

    def reply(self) -> Reply | None:
        return read_reply({"answer": self._items, **self._end.data()}, self._names) if self._end else None

    def end(self, waits: bool) -> bytes:
        return self._end.raw if self._end else b""

    def go_on(self) -> None:
        self._items, self._end = [], None

    def ids(self) -> tuple[object, object]:
        return None, None


def events(items: list[Json], usage: Json) -> bytes:
    """The stream that the made-up provider sends."""
    return b"".join(written("", {"item": item}) for item in items) + written("", {"end": "done", "spent": usage})
