"""A stream that is passed on unread, because nothing in it is ours yet.

Owns: noticing a name of ours in whole events. Reading every event costs more than relaying it, and most streams never
call a tool of ours.
Must not know: dialects. Whoever reads the stream from here on gets all that was passed on, to catch up with it.
"""

from collections.abc import Collection


class Dozing:
    """Bytes of a stream as they come, until a name turns up in them."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = [name.encode() for name in names]
        self._seen: list[bytes] = []
        self.rest = b""
        """What came after the last whole event."""

    @property
    def seen(self) -> bytes:
        """All that was passed on."""
        return b"".join(self._seen)

    def feed(self, data: bytes) -> bytes | None:
        """The whole events that may be passed on unread; None where they must be read, and `rest` has them.

        >>> dozing = Dozing(["get_artifact"])
        >>> dozing.feed(b"data: hello\\n\\ndata: get_art"), dozing.feed(b"ifact\\n\\n")
        (b'data: hello\\n\\n', None)
        """
        data = self.rest + data if self.rest else data
        end = data.rfind(b"\n\n") + 2
        if b"\r" in data or any(name in data for name in self._names):
            self.rest = data
            return None
        if end < 2:
            self.rest = data
            return b""
        whole, self.rest = (data, b"") if end == len(data) else (data[:end], data[end:])
        self._seen.append(whole)
        return whole
