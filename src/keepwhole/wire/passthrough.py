"""A stream that is passed on unread, because nothing in it is ours yet.

Owns: noticing a name of ours in whole events. Reading every event costs more than relaying it, and most streams never
call a tool of ours.
Must not know: dialects. Whoever reads the stream from here on gets all that was passed on, to catch up with it.
"""

from collections.abc import Collection

from keepwhole.wire.sse import last_event


class Dozing:
    """Bytes of a stream as they come, until a name turns up in them."""

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
        """What is still to be passed on of a stream that ended. An event that was cut is left out: what would have
        been shown of it is not known. Where no event ever ended, it is no stream that we know."""
        return self.rest if not self._seen or last_event(self.rest) is not None else b""

    def feed(self, data: bytes) -> bytes | None:
        """The whole events that may be passed on unread; None where they must be read, and `rest` has them.

        Each byte is looked at once: an event may be as large as a picture, and come in a thousand pieces.

        >>> dozing = Dozing(["get_artifact"])
        >>> dozing.feed(b"data: hello\\n\\ndata: get_art"), dozing.feed(b"ifact\\n\\n")
        (b'data: hello\\n\\n', None)
        """
        new = self._tail + data
        if b"\r" in data or any(name in new for name in self._names):
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
