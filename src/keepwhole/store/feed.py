"""`Feed`: any output of a tool (text, bytes, a file, a pipe or chunks) as one stream of bytes.

Owns: filling a buffer from any kind of output, in bounded memory, and measuring what goes by.
Must not know: where the bytes are stored.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import IO, Protocol, TypeAlias, cast

from keepwhole.canonical import utf8
from keepwhole.canonical.body import CHUNK, BodyFacts, Measurer
from keepwhole.canonical.utf8 import Encoding
from keepwhole.errors import UsageError

_PIECE = 262_144
_SET_PIPE_SIZE = getattr(fcntl, "F_SETPIPE_SZ", None)


class Readable(Protocol):
    """Anything with `read(n)`: a file, a pipe's file object, a response body."""

    def read(self, size: int, /) -> str | bytes | None:
        """Return up to `size` bytes or characters; nothing at the end."""
        ...


Output: TypeAlias = str | bytes | bytearray | memoryview | Readable | Iterable[str | bytes]


class Feed:
    """One stream of bytes; `encoding` tells whether there was text with lone surrogates in it."""

    def __init__(self, output: Output) -> None:
        self.encoding: Encoding = "utf-8"
        self.expected = _expected(output)
        """An estimate of the number of bytes; one chunk if it is unknown."""
        self._fd = _descriptor(cast("Readable", output)) if hasattr(output, "read") else None
        self._chunks = self._chunks_of(output)
        self._rest = memoryview(b"")

    def fill(self, space: memoryview) -> int:
        """Fill `space` from the front; return how many bytes, fewer than its length only at the end of the stream."""
        if self._fd is not None:
            return _fill_from(self._fd, space)
        filled = 0
        while filled < len(space):
            if not self._rest:
                chunk = next(self._chunks, None)
                if chunk is None:
                    break
                self._rest = memoryview(chunk).cast("B")
            take = min(len(self._rest), len(space) - filled)
            space[filled : filled + take] = self._rest[:take]
            self._rest = self._rest[take:]
            filled += take
        return filled

    def remaining(self) -> Iterator[bytes]:
        """Yield what has not been filled into a buffer yet."""
        if self._rest:
            yield bytes(self._rest)
        for chunk in self._chunks:
            yield bytes(chunk)

    def _chunks_of(self, output: Output) -> Iterator[bytes | memoryview]:
        if isinstance(output, str):
            return (self._encoded(output[at : at + _PIECE]) for at in range(0, len(output), _PIECE))
        if isinstance(output, memoryview) and not output.c_contiguous:
            output = output.tobytes()
        if isinstance(output, bytes | bytearray | memoryview):
            return iter((memoryview(output),))
        if hasattr(output, "read"):
            output = cast("Readable", output)
            return _read_descriptor(self._fd) if self._fd is not None else self._read_file(output)
        if isinstance(output, Iterable) and not isinstance(output, Mapping | Set):  # pyright: ignore[reportUnnecessaryIsInstance]
            return (self._encoded(chunk) for chunk in output)
        kind = type(cast("object", output)).__name__
        raise UsageError(
            f"A tool's output of type `{kind}` cannot be kept. Give `str`, `bytes`, a file, "
            "a pipe or an iterator of chunks; turn other objects into text first, for example with `json.dumps`."
        )

    def _encoded(self, chunk: object) -> bytes:
        if isinstance(chunk, str):
            data, encoding = utf8.encode(chunk)
            if encoding == "surrogates":
                self.encoding = "surrogates"
            return data
        if isinstance(chunk, bytes | bytearray | memoryview):
            return bytes(cast("bytes", chunk))
        raise UsageError(f"A chunk of type `{type(chunk).__name__}` cannot be kept; give `str` or `bytes` chunks.")

    def _read_file(self, file: Readable) -> Iterator[bytes]:
        while chunk := file.read(_PIECE):
            yield self._encoded(chunk)
        if chunk is None:
            raise UsageError("The output has no data yet. Give a pipe or file that waits: a blocking one.")


class MeasuredFeed:
    """A feed whose `first` bytes were read already, given out in chunks and measured as it goes by."""

    def __init__(self, feed: Feed, first: bytes) -> None:
        self._feed, self._first = feed, memoryview(first)
        self._measurer = Measurer(feed.encoding, max(feed.expected, len(first)))
        self._chunk = self._pending = memoryview(b"")
        self._count = 0

    def chunks(self) -> Iterator[memoryview]:
        """Yield each chunk once; it is valid until the next one is asked for, and measured then."""
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
        """Return the facts of everything that went by."""
        return self._measurer.finish()

    def whole(self) -> memoryview | None:
        """Return the whole body if it was one chunk, else None."""
        return self._chunk if self._count <= 1 else None

    def remaining(self) -> Iterator[bytes]:
        """Yield the chunk that was given out last, unless another one was asked for since, and what follows it."""
        yield bytes(self._pending)
        yield bytes(self._first)
        yield from self._feed.remaining()


def _expected(output: Output) -> int:
    if isinstance(output, bytes | bytearray | memoryview):
        return len(output)
    return len(output) if isinstance(output, str) and output.isascii() else CHUNK


def _descriptor(file: Readable) -> int | None:
    """Return the file descriptor to read directly, if nothing is decoded or buffered above it."""
    raw = cast("IO[bytes]", getattr(file, "raw", file))
    if type(raw).__name__ != "FileIO" or (raw is not file and type(file).__name__ != "BufferedReader"):
        return None
    peek = getattr(file, "peek", None)
    if peek is not None and not raw.seekable():
        return None
    fd = raw.fileno()
    if peek is not None:
        os.lseek(fd, cast("IO[bytes]", file).tell(), os.SEEK_SET)
    elif _SET_PIPE_SIZE is not None:
        try:
            fcntl.fcntl(fd, _SET_PIPE_SIZE, CHUNK)
        except OSError:
            pass  # not a pipe, or not allowed to be larger
    return fd


def _fill_from(fd: int, space: memoryview) -> int:
    """Fill `space` straight from a file or pipe."""
    filled = 0
    while filled < len(space) and (count := os.readv(fd, [space[filled:]])):
        filled += count
    return filled


def _read_descriptor(fd: int) -> Iterator[bytes]:
    while chunk := os.read(fd, _PIECE):
        yield chunk


def pipe(fd: int) -> Readable:
    """Return the read end of a pipe as an output that a `Feed` accepts."""
    return open(fd, "rb", buffering=0, closefd=False)
