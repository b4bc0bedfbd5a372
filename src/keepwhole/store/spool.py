"""A body on its way to where it is kept: in memory, and a large one in a file that has no name.

It is measured while it is read and may yet be refused, so nothing of it is sent before all of it is here. The file is
not synced: it need not outlive the process.
"""

import errno
import os
import tempfile
from collections.abc import Iterator

from keepwhole.canonical.body import CHUNK, BodyFacts
from keepwhole.errors import NotStored
from keepwhole.store.blobs.folder import not_stored
from keepwhole.store.body_stream import Measuring
from keepwhole.store.durable import make_folder, write_all
from keepwhole.store.feed import Feed
from keepwhole.store.reader import BodyReader, bytes_reader, file_reader

IN_MEMORY = 8 * CHUNK
"""A body up to this size is on its way in memory."""


def spooled(feed: Feed, first: bytes, room: int, folder: str) -> BodyReader:
    """`first` and the rest of `feed`, at most `room` bytes, measured and open for reading.

    Raises `NotStored` with a `rescue` that gives the original back.
    """
    measuring = Measuring(feed, first)
    spool = _Spool(folder)
    try:
        for chunk in measuring.chunks():
            try:
                if spool.size + len(chunk) > room:
                    raise OSError(errno.EDQUOT, "the session's quota is used up")
                spool.add(chunk)
            except OSError as error:
                raise not_stored(error, _Rescue(spool, measuring)) from error
    except NotStored:
        raise
    except BaseException:
        spool.close()
        raise
    reader = spool.reader(measuring.finish())
    whole = measuring.whole()
    return reader if whole is None else reader.remember(whole)


class _Spool:
    """What was read so far."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._pieces: list[bytes] = []
        self._fd = -1
        self.size = 0

    def add(self, chunk: memoryview) -> None:
        """Take one more chunk."""
        if self._fd < 0 and self.size + len(chunk) > IN_MEMORY:
            self._spill()
        if self._fd < 0:
            self._pieces.append(bytes(chunk))
        else:
            write_all(self._fd, chunk)
        self.size += len(chunk)

    def _spill(self) -> None:
        make_folder(self._folder)
        with tempfile.TemporaryFile(dir=self._folder, buffering=0) as file:
            for piece in self._pieces:
                write_all(file.fileno(), memoryview(piece))
            self._fd = os.dup(file.fileno())
        self._pieces.clear()

    def chunks(self) -> Iterator[bytes]:
        """All of it."""
        yield from self._pieces
        for start in range(0, self.size if self._fd >= 0 else 0, CHUNK):
            yield os.pread(self._fd, min(CHUNK, self.size - start), start)

    def reader(self, facts: BodyFacts) -> BodyReader:
        """All of it, to be read anywhere; it closes the file."""
        return bytes_reader(b"".join(self._pieces), facts) if self._fd < 0 else file_reader(facts, self._fd)

    def close(self) -> None:
        """Give the file back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class _Rescue:
    """What was read of an output that could not be stored, then the rest of it."""

    def __init__(self, spool: _Spool, measuring: Measuring) -> None:
        self._spool, self._measuring = spool, measuring

    def chunks(self) -> Iterator[bytes]:
        """The whole original, once; nothing of it is lost."""
        yield from self._spool.chunks()
        yield from self._measuring.remaining()

    def close(self) -> None:
        """Give the file back."""
        self._spool.close()

    def __del__(self) -> None:
        """Give the file back, also where nobody asked for the original."""
        self._spool.close()


class Reread:
    """An original that was read whole and could not be stored."""

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader

    def chunks(self) -> Iterator[bytes]:
        """The whole original."""
        yield from self._reader.stream()

    def close(self) -> None:
        """Give the file back."""
        self._reader.close()

    def __del__(self) -> None:
        """Give the file back, also where nobody asked for the original."""
        self._reader.close()
