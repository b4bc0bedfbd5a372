"""Searching for a pattern in a body of any size, in bounded memory and bounded time.

Owns: windows over the bytes, and the clock. It reads bytes unchecked and returns spans; the caller reads them checked.
Must not know: how matches are shown.
"""

import time
from collections.abc import Callable

from keepwhole.recall.patterns import Finder
from keepwhole.store.reader import BodyReader

_WINDOW = 262_144
_SMALLEST = 16_384
_QUICK = 0.01
"""Windows grow while one is searched in fewer seconds than this."""
SECONDS = 0.5
"""How long one call may search; the answer says how far it got."""


class Scan:
    """One search through a body, forwards."""

    def __init__(
        self,
        reader: BodyReader,
        finder: Finder,
        stop: int,
        seconds: float = SECONDS,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._reader, self._finder, self._stop, self._clock = reader, finder, stop, clock or time.monotonic
        self._until = self._clock() + seconds
        self._eol = reader.eol.encode()
        self._size = _SMALLEST if finder.by_lines else _WINDOW
        self._data = bytearray(_WINDOW)
        self._base = self._filled = self._useful = 0
        self.reached = 0
        """Everything before this byte was looked at."""
        self.is_over = False
        """Whether the time is up."""

    def find(self, start: int) -> tuple[int, int] | None:
        """The first match at or after byte `start`; None where there is none, or `is_over`."""
        while self._window(start):
            began = self._clock()
            found = self._finder.find(self._data, start - self._base, self._useful)
            if found is not None:
                return self._base + found[0], self._base + found[1]
            start = self._next_window(began)
        return None

    def count(self, start: int) -> int:
        """How many matches there are from byte `start` on, as far as the time allows."""
        total = 0
        while self._window(start):
            began = self._clock()
            matches, end = self._finder.count(self._data, start - self._base, self._useful)
            total += matches
            start = max(self._next_window(began), self._base + end)  # what is in the overlap was counted
        return total

    def _window(self, start: int) -> bool:
        """Fill a window from byte `start` on; returns False at the end, or when the time is up."""
        if self._base <= start < self._base + self._useful - (0 if self._is_last else self._finder.overlap):
            return True
        if start >= self._stop or self.is_over:
            self.reached = min(start, self._stop)
            return False
        if self._clock() > self._until:
            self.reached, self.is_over = start, True
            return False
        self._base = start
        wanted = min(self._size, self._stop - start)
        self._filled = self._reader.peek(start, memoryview(self._data)[:wanted])
        self._useful = self._filled
        if self._finder.by_lines and not self._is_last:
            self._useful = self._data.rfind(self._eol, 0, self._filled) + 1 or self._filled
        return self._filled > 0

    @property
    def _is_last(self) -> bool:
        return self._base + self._filled >= self._stop

    def _next_window(self, began: float) -> int:
        """Where the next window begins, and how large it may be."""
        if self._clock() - began < _QUICK:
            self._size = min(_WINDOW, self._size * 2)
        if self._is_last:
            return self._stop
        whole_lines = self._finder.by_lines and self._data.endswith(self._eol, 0, self._useful)
        return self._base + self._useful - (0 if whole_lines else min(self._finder.overlap, self._useful - 1))
