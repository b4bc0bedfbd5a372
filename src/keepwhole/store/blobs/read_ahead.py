"""Reading ahead where each read is a request to a server: who goes on reading gets more at once."""

from keepwhole.canonical.body import BLOCK
from keepwhole.store.reader import Read

_LEAST = 4 * BLOCK
_MOST = 64 * BLOCK


class Ahead:
    """A way to read that asks `read` for more than it is asked for. A `Read` itself, safe from threads."""

    def __init__(self, read: Read, size: int) -> None:
        self._read, self._size = read, size
        self._window = (0, b"", 0)

    def __call__(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes at `offset`."""
        start, data, asked = self._window
        if start <= offset and offset + length <= start + len(data):
            return data[offset - start : offset - start + length]
        goes_on = data and offset == start + len(data)
        asked = max(length, min(asked * 4, _MOST) if goes_on else _LEAST)
        data = self._read(offset, max(0, min(asked, self._size - offset)))
        self._window = offset, data, asked
        return data[:length]
