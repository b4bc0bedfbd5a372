"""A stream of bytes on its way into the record, a chunk at a time, measured as it goes by.

Must not know: where the chunks are put.
"""

from collections.abc import Iterator

from keepwhole.canonical.body import BodyFacts, Measurer
from keepwhole.store.feed import Feed


class Measuring:
    """`first`, which was read already, and the rest of a feed."""

    def __init__(self, feed: Feed, first: bytes) -> None:
        self._feed, self._first = feed, memoryview(first)
        self._measurer = Measurer(feed.encoding, max(feed.expected, len(first)))
        self._chunk = self._pending = memoryview(b"")
        self._count = 0

    def chunks(self) -> Iterator[memoryview]:
        """Each chunk once; it is valid until the next one, and measured then."""
        space = self._measurer.space
        while filled := self._fill(space):
            self._chunk = self._pending = space[:filled]
            self._count += 1
            yield self._chunk
            self._pending = memoryview(b"")
            if self._feed.encoding == "surrogates" and self._measurer.encoding == "utf-8":
                self._measurer.encoding = "surrogates"
            self._measurer.take(filled)
            if filled < len(space):
                return

    def _fill(self, space: memoryview) -> int:
        taken = min(len(self._first), len(space))
        space[:taken] = self._first[:taken]
        self._first = self._first[taken:]
        return taken + (self._feed.fill(space[taken:]) if taken < len(space) else 0)

    def finish(self) -> BodyFacts:
        """The facts of everything that went by."""
        return self._measurer.finish()

    def whole(self) -> memoryview | None:
        """All of it, where it was one chunk."""
        return self._chunk if self._count <= 1 else None

    def remaining(self) -> Iterator[bytes]:
        """The chunk that was given last, unless another was asked for since, and what comes after it."""
        yield bytes(self._pending)
        yield bytes(self._first)
        yield from self._feed.remaining()
