"""A body on its way to a server: in memory, and a large one in a file that has no name.

It is measured while it is read and may yet be refused, so none of it is sent before all of it has been read. The file
is not synced: it need not outlive the process.
"""

import errno
import os
import tempfile
from collections.abc import Iterator

from keepwhole.canonical.body import CHUNK, BodyFacts
from keepwhole.errors import NotStored
from keepwhole.store.blobs.folder import not_stored
from keepwhole.store.durable import make_folder, write_all
from keepwhole.store.feed import Feed, MeasuredFeed
from keepwhole.store.reader import BodyReader, bytes_reader, file_reader

IN_MEMORY = 8 * CHUNK
"""A body up to this size is spooled in memory."""


def spool_body(feed: Feed, first: bytes, room: int, folder: str) -> BodyReader:
    """Read `first` and the rest of `feed`, at most `room` bytes; return them measured and open for reading.

    Raises `NotStored` with a `rescue` that gives the original back.
    """
    measured = MeasuredFeed(feed, first)
    spool = _Spool(folder)
    try:
        for chunk in measured.chunks():
            try:
                if spool.size + len(chunk) > room:
                    raise OSError(errno.EDQUOT, "the session's quota is used up")
                spool.add(chunk)
            except OSError as error:
                raise not_stored(error, _Rescue(spool, measured)) from error
    except NotStored:
        raise
    except BaseException:
        spool.close()
        raise
    reader = spool.reader(measured.finish())
    whole = measured.whole()
    return reader if whole is None else reader.remember(whole)


class _Spool:
    """The bytes read so far."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._pieces: list[bytes] = []
        self._fd = -1
        self.size = 0

    def add(self, chunk: memoryview) -> None:
        """Add a chunk."""
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
        """Yield all of it."""
        yield from self._pieces
        for start in range(0, self.size if self._fd >= 0 else 0, CHUNK):
            yield os.pread(self._fd, min(CHUNK, self.size - start), start)

    def reader(self, facts: BodyFacts) -> BodyReader:
        """Return a reader of all of it, which closes the file."""
        return bytes_reader(b"".join(self._pieces), facts) if self._fd < 0 else file_reader(facts, self._fd)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class _Rescue:
    """The output that could not be stored: what was read of it, then the rest."""

    def __init__(self, spool: _Spool, measured: MeasuredFeed) -> None:
        self._spool, self._measured = spool, measured

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole original, once."""
        yield from self._spool.chunks()
        yield from self._measured.remaining()

    def close(self) -> None:
        """Close the file."""
        self._spool.close()

    def __del__(self) -> None:
        """Close the file, also where nobody asked for the original."""
        self._spool.close()


class Reread:
    """An original that was read completely and could not be stored."""

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole original."""
        yield from self._reader.stream()

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def __del__(self) -> None:
        """Close the file, also where nobody asked for the original."""
        self._reader.close()
