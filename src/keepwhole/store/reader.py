"""`BodyReader`: reads any range of a stored body, checked block by block, without loading the rest.

Owns: finding lines and characters through the block index, and never returning a byte that is not the stored one.
Must not know: whether the bytes are in a row, a file or an object store; it is given a function that reads them.
"""

import hashlib
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property

from keepwhole.canonical.body import BLOCK, BlockIndex, BodyFacts, digest_of, measure
from keepwhole.canonical.utf8 import count_unfinished, decode, encode_as
from keepwhole.errors import Damaged

_REMEMBERED = 4
"""Blocks that a reader remembers."""
_LEAST_AHEAD, _MOST_AHEAD = 4 * BLOCK, 64 * BLOCK

Read = Callable[[int, int], bytes]
"""Reads up to `length` bytes at `offset`."""
Peek = Callable[[int, memoryview], int]
"""Fills a buffer with the bytes at `offset` and returns how many there were."""


class BodyReader:
    """One stored body, open for reading; a `Source` for strategies. Close it, or use it as a context manager."""

    def __init__(
        self, facts: BodyFacts, read: Read, close: Callable[[], None] | None = None, peek: Peek | None = None
    ) -> None:
        self.facts = facts
        self.chars = facts.chars
        self.lines = facts.lines
        self.eol = facts.eol
        self._fetch = read
        self._close = close or _nothing
        self._peek = peek or self._copied
        self._eol = facts.eol.encode()
        self._cached: dict[int, bytes] = {}
        self._known: dict[int, int] = {}
        self._counted = 0, 0, 0
        """The last block whose line ends were counted, up to where in it, and how many."""
        self._texts: dict[tuple[int, int], str] = {}

    @cached_property
    def _index(self) -> BlockIndex:
        return BlockIndex(self.facts)

    def remember(self, data: bytes | memoryview) -> "BodyReader":
        """Give the reader the body, which was just measured, so that it need not be fetched and checked."""
        for start in range(0, min(len(data), _REMEMBERED * BLOCK), BLOCK):
            self._cached[start // BLOCK] = bytes(data[start : start + BLOCK])
        return self

    def __enter__(self) -> "BodyReader":
        """Return the reader."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the reader."""
        self.close()

    def close(self) -> None:
        """Release what the reader holds open; closing twice is harmless."""
        close, self._close = self._close, _nothing
        close()

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        """Return the bytes from `start` up to `stop`, each block checked."""
        stop = self.facts.size if stop is None else min(stop, self.facts.size)
        start = max(0, start)
        if start >= stop:
            return b""
        first, last = start // BLOCK, (stop - 1) // BLOCK
        begin = self._block(first)
        if first == last:
            return begin[start - first * BLOCK : stop - first * BLOCK]
        middle = [self._block(number) for number in range(first + 1, last)]
        return b"".join((begin[start - first * BLOCK :], *middle, self._block(last)[: stop - last * BLOCK]))

    def stream(self) -> Iterator[bytes]:
        """Yield the whole body, block by block; a damaged block raises an error before any of it is returned."""
        for start in range(0, self.facts.size, BLOCK):
            yield self.read(start, start + BLOCK)

    def peek(self, offset: int, space: memoryview) -> int:
        """Fill `space` with the bytes at `offset`, unchecked, to find a place that is then read and checked."""
        return self._peek(offset, space)

    def _copied(self, offset: int, space: memoryview) -> int:
        data = self._fetch(offset, len(space))
        space[: len(data)] = data
        return len(data)

    def text(self, start: int = 0, stop: int | None = None) -> str:
        """Return the characters from `start` up to `stop`; an invalid byte is one lone surrogate."""
        stop = self.chars if stop is None else min(stop, self.chars)
        start = max(0, start)
        if start >= stop:
            return ""
        if self.chars == self.facts.size:
            found = self._texts.get((start, stop))
            if found is None:
                found = decode(self.read(start, stop), self.facts.encoding)
                if stop - start <= BLOCK:
                    if len(self._texts) >= 16:
                        self._texts.clear()
                    self._texts[start, stop] = found
            return found
        at, begin = self._region(start)
        last = bisect_left(self._index.chars_before, stop) - 1
        data = self.read(begin, self._region_start(last + 1))
        return decode(data, self.facts.encoding)[start - at : stop - at]

    def ends_before(self, offset: int) -> int:
        """Return how many line ends there are before character `offset`."""
        if offset >= self.chars and self.facts.blocks:
            return self._index.ends_before[-1]
        found = self._known.get(offset)
        if found is None:
            at, begin = self._region(max(0, min(offset, self.chars - 1))) if self.chars else (0, 0)
            block = (begin + 3) // BLOCK
            if self.chars == self.facts.size:
                count = self._count_ends(block, offset - block * BLOCK) if self.chars and offset > 0 else 0
            else:
                count = self.text(at, offset).count(self.eol)
            found = self._index.ends_before[block] + count
            if len(self._known) >= 64:
                self._known.clear()
            self._known[offset] = found
        return found

    def _count_ends(self, block: int, upto: int) -> int:
        """Return how many line ends there are in the first bytes of a block; a cut asks from place to place."""
        known, start, count = self._counted
        if known != block or start > upto:
            start = count = 0
        count += self._block(block).count(self._eol, max(0, start - len(self._eol) + 1), upto)
        self._counted = block, upto, count
        return count

    def line_range(self, first: int, last: int) -> str:
        """Return lines `first` to `last`, counted from 1, both included, with their line ends."""
        return decode(self.read(*self.line_bytes(first, last)), self.facts.encoding)

    def line_span(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of characters of lines `first` to `last`."""
        start, stop = self.line_bytes(first, last)
        return self.char_at(start), self.char_at(stop)

    def line_bytes(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of bytes of lines `first` to `last`."""
        first = max(1, first)
        if first > last or first > self.lines:
            return 0, 0
        stop = self.facts.size if last >= self.lines else self._after_end(last)
        return self._after_end(first - 1), stop

    def line_at(self, offset: int) -> int:
        """Return the line, counted from 1, that has byte `offset`."""
        block = offset // BLOCK
        before = self._index.ends_before[block] if self.facts.blocks else 0
        return before + self._block(block).count(self._eol, 0, offset - block * BLOCK) + 1

    def char_at(self, offset: int) -> int:
        """Return the number of the character that begins at byte `offset`."""
        if self.chars == self.facts.size or offset >= self.facts.size:
            return min(offset, self.facts.size) if self.chars == self.facts.size else self.chars
        block = offset // BLOCK
        begin = self._region_start(block)
        return self._index.chars_before[block] + len(decode(self.read(begin, offset), self.facts.encoding))

    def byte_at(self, char: int) -> int:
        """Return the byte at which character `char` begins."""
        if self.chars == self.facts.size or char >= self.chars:
            return min(char, self.facts.size) if self.chars == self.facts.size else self.facts.size
        at, begin = self._region(char)
        return begin + len(encode_as(self.text(at, char), self.facts.encoding))

    def _after_end(self, number: int) -> int:
        """Return the byte after line end `number`, counted from 1; 0 for none."""
        if number == 0:
            return 0
        block = bisect_left(self._index.ends_before, number) - 1 if self.facts.blocks else 0
        data = self._block(block)
        before = number - self._index.ends_before[block]
        behind = self._index.ends_before[block + 1] - number if self.facts.blocks else before
        if behind < before:  # it is nearer to the end of the block
            return block * BLOCK + len(data.rsplit(self._eol, behind + 1)[0]) + len(self._eol)
        return block * BLOCK + len(data) - len(data.split(self._eol, before)[-1])

    def _region(self, char: int) -> tuple[int, int]:
        """Return a character at or before `char` at which decoding may begin, and its byte."""
        block = bisect_right(self._index.chars_before, char) - 1
        block = min(block, self._index.count - 1)
        return self._index.chars_before[block], self._region_start(block)

    def _region_start(self, block: int) -> int:
        """Return the byte at which the characters that are counted from block `block` on begin."""
        if block == 0:
            return 0
        if block >= self._index.count:
            return self.facts.size
        if self.chars == self.facts.size:
            return block * BLOCK
        before = self._block(block - 1)
        return block * BLOCK - count_unfinished(before, len(before))

    def _block(self, number: int) -> bytes:
        """Return one block, checked against its digest; the last few are remembered."""
        cached = self._cached.get(number)
        if cached is not None:
            return cached
        expected = min(BLOCK, self.facts.size - number * BLOCK)
        data = self._fetch(number * BLOCK, expected)
        digest = hashlib.sha256(data).digest()
        whole = self._index.digest(number) if self.facts.blocks else None
        if len(data) != expected or (digest != whole if whole else digest_of([digest]) != self.facts.digest):
            raise _damaged(f"block {number}")
        if len(self._cached) >= _REMEMBERED:
            self._cached.pop(next(iter(self._cached)))
        self._cached[number] = data
        return data


class ReadAhead:
    """A `Read` that fetches more than it is asked for, for bodies where each read is a request to a server.

    Each read that goes on where the last one ended fetches four times as much, up to `_MOST_AHEAD`. Thread-safe.
    """

    def __init__(self, read: Read, size: int) -> None:
        self._read, self._size = read, size
        self._window = (0, b"", 0)

    def __call__(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes at `offset`."""
        start, data, asked = self._window
        if start <= offset and offset + length <= start + len(data):
            return data[offset - start : offset - start + length]
        goes_on = data and offset == start + len(data)
        asked = max(length, min(asked * 4, _MOST_AHEAD) if goes_on else _LEAST_AHEAD)
        data = self._read(offset, max(0, min(asked, self._size - offset)))
        self._window = offset, data, asked
        return data[:length]


def _nothing() -> None:
    pass


def file_reader(facts: BodyFacts, fd: int) -> BodyReader:
    """Return a reader over an open file, which it closes."""

    def read(offset: int, length: int) -> bytes:
        try:
            return os.pread(fd, length, offset)
        except OSError as error:
            raise _damaged(f"the disk says: {error.strerror}; a block") from error

    def peek(offset: int, space: memoryview) -> int:
        try:
            return os.preadv(fd, [space], offset)
        except OSError as error:
            raise _damaged(f"the disk says: {error.strerror}; a block") from error

    return BodyReader(facts, read, lambda: os.close(fd), peek)


def bytes_reader(data: bytes, facts: BodyFacts | None = None) -> BodyReader:
    """Return a reader over bytes in memory."""
    return BodyReader(facts or measure(data), lambda offset, length: data[offset : offset + length])


def _damaged(what: str) -> Damaged:
    return Damaged(
        f"A stored body is damaged ({what} does not match its digest), so it is not returned. "
        "Run `keepwhole sessions verify` for the full list; other results are not affected.",
        "The stored copy of this result is damaged and cannot be returned. Run the tool again.",
    )
