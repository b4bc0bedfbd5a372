"""Server-sent events: bytes in, whole events out, each with the bytes it came in.

Owns: where an event ends, what its data is, how one is written, and passing on a stream that need not be read.
Must not know: what an event says.
"""

import json
import re
from collections.abc import Collection
from typing import Any, NamedTuple, cast

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_LINE = re.compile(r"\r\n|\n|\r")
DONE = "[DONE]"
"""What ends a stream of OpenAI Chat."""


class Event(NamedTuple):
    """One event of a stream."""

    name: str
    text: str
    """Its data, as text."""
    raw: bytes

    def data(self) -> dict[str, Any]:
        """Its data; empty where that is no JSON object."""
        try:
            value: object = json.loads(self.text)
        except (ValueError, RecursionError):
            return {}
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


class Events:
    """Bytes in, events out."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._looked = 0
        """Up to here no event ends."""

    def feed(self, data: bytes) -> list[Event]:
        """Take bytes and return the events that are whole by now."""
        self._held += data
        found: list[Event] = []
        while end := _END.search(self._held, self._looked):
            found.append(_event(bytes(self._held[: end.end()])))
            del self._held[: end.end()]
            self._looked = 0
        self._looked = max(0, len(self._held) - 3)
        return found

    def rest(self) -> bytes:
        """What came after the last whole event."""
        rest, self._held, self._looked = bytes(self._held), bytearray(), 0
        return rest


def last_event(rest: bytes) -> Event | None:
    """The event at the end of a stream that no blank line ends; None for one that was cut in the middle.

    >>> last_event(b"data: [DONE]").text, last_event(b'data: {"cut": ')
    ('[DONE]', None)
    """
    event = _event(rest)
    begun = rest.lstrip()
    is_event = any(begun.startswith(field) or field.startswith(begun) for field in (b"event:", b"data:"))
    return event if not is_event or event.text.strip() == DONE or event.data() else None


def is_event_stream(content_type: str) -> bool:
    """Whether a response of this type is a stream of events."""
    return content_type.lower().startswith("text/event-stream")


def written(name: str, data: dict[str, Any]) -> bytes:
    """An event; without a name it is data alone."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def is_between_events(data: bytes) -> bool:
    """Whether a stream that was cut here was cut between two events, so that one more can follow."""
    return not data or data.endswith((b"\n\n", b"\n\r\n", b"\r\r"))


def _event(raw: bytes) -> Event:
    name, data = "", list[str]()
    for line in _LINE.split(raw.decode("utf-8", "replace")):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
    return Event(name, "\n".join(data), raw)


class StreamPassthrough:
    """A stream that is passed on unread until a name of a recall tool appears in it.

    Reading every event costs more than relaying it, and most streams never call a recall tool. A reader that takes over
    catches up with what was passed on (`seen`).
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = [name.encode() for name in names]
        self._longest = max(map(len, self._names))
        self._seen: list[bytes] = []
        self._held: list[bytes] = []
        self._tail = b""
        """The end of what is held, in which a name or the end of an event may begin."""

    @property
    def seen(self) -> bytes:
        """All that was passed on."""
        return b"".join(self._seen)

    @property
    def rest(self) -> bytes:
        """What came after the last whole event."""
        return b"".join(self._held)

    def end(self) -> bytes:
        """The rest of a stream that ended. An event that was cut is left out: what would have been shown of it is not
        known. Where no event ever ended, it is no stream of events and passes as it is."""
        return self.rest if not self._seen or last_event(self.rest) is not None else b""

    def feed(self, data: bytes) -> bytes | None:
        """The whole events that may be passed on unread; None where they must be read, and `rest` has them.

        Each byte is looked at once: an event may be as large as a picture, and come in a thousand pieces.

        >>> passthrough = StreamPassthrough(["get_artifact"])
        >>> passthrough.feed(b"data: hello\\n\\ndata: get_art"), passthrough.feed(b"ifact\\n\\n")
        (b'data: hello\\n\\n', None)
        """
        new = self._tail + data
        if b"\r" in data or any(map(new.__contains__, self._names)):
            self._held.append(data)
            return None
        found = new.rfind(b"\n\n")
        if found < 0:
            self._held.append(data)
            self._tail = new[-self._longest :]
            return b""
        end = found + 2 - len(self._tail)
        whole = b"".join([*self._held, data[:end]]) if self._held or end < len(data) else data
        rest = data[end:]
        self._held, self._tail = [rest] if rest else [], rest[-self._longest :]
        self._seen.append(whole)
        return whole
