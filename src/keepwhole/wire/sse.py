"""Server-sent events: bytes as they come in, whole events out, each with the bytes it came in.

Owns: where an event ends, what its data is, and how one is written.
Must not know: what an event says.
"""

import json
import re
from typing import Any, NamedTuple, cast

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
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
        """So far no event ends."""

    def feed(self, data: bytes) -> list[Event]:
        """The events that are whole by now."""
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
    """What a stream ends with after its last whole event; None for an event that was cut, of which nobody can tell
    what it would have said.

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
