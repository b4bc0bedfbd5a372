"""Bodies too large for a row, as pieces in a table: durable with or before the row that has them, read in ranges.

A body of one piece is on its way in memory, and goes into the table with its row. A larger one is first written to a
file here, since it is measured while it is read and may yet be refused; the file has no name any more when the body is
in the table.
"""

import os
from collections.abc import Iterator
from functools import partial

import psycopg

from holdfast.canonical.body import BodyFacts, measure
from holdfast.errors import NotStored
from holdfast.store.blobs import BlobFolder
from holdfast.store.feed import Feed
from holdfast.store.postgres.server import Server, said
from holdfast.store.protocol import Body, Taken
from holdfast.store.reader import BodyReader, bytes_reader

PIECE = 1_048_576
_INSERT = "INSERT INTO pieces (blob, piece, data) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
_RANGE = "SELECT substring(data FROM %s FOR %s) FROM pieces WHERE blob = %s AND piece = %s"


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


def _filled(feed: Feed, first: bytes) -> bytes:
    """`first` and what follows it, up to a piece."""
    buffer = bytearray(PIECE)
    buffer[: len(first)] = first
    filled = len(first) + feed.fill(memoryview(buffer)[len(first) :])
    return bytes(memoryview(buffer)[:filled])


class Bodies:
    """The large bodies of a record."""

    def __init__(self, server: Server, folder: str) -> None:
        self._server = server
        self._spool = BlobFolder(os.path.join(folder, "spool"))

    def write(self, feed: Feed, first: bytes, room: int) -> Taken:
        """Store `first` and the rest of `feed`, at most `room` bytes; durable on return, or in memory for its row."""
        name = os.urandom(16).hex()
        first = _filled(feed, first)
        if len(first) < PIECE and len(first) <= room:
            facts = measure(first, feed.encoding)
            return Taken(Body(facts, first, name), bytes_reader(first, facts).remember(first))
        reader = self._spool.write(name, feed, first, room)
        self._spool.remove([name])
        try:
            self._server.again(partial(self._upload, name, reader))
        except psycopg.Error as error:
            raise NotStored(
                f"The result could not be written ({said(error)}). It is shown whole; check the server.",
                rescue=Reread(reader),
            ) from error
        except BaseException:
            reader.close()
            raise
        return Taken(Body(reader.facts, blob=name), reader)

    def _upload(self, name: str, reader: BodyReader) -> None:
        with self._server.transaction() as execute:
            for piece, start in enumerate(range(0, reader.facts.size, PIECE)):
                execute(_INSERT, (name, piece, reader.read(start, start + PIECE)))

    def open(self, name: str, facts: BodyFacts) -> BodyReader:
        """A reader of the body `name`."""
        return BodyReader(facts, partial(self._read, name))

    def _read(self, name: str, offset: int, length: int) -> bytes:
        found: list[bytes] = []
        while length > 0:
            piece, at = divmod(offset, PIECE)
            rows = self._server.select(_RANGE, (at + 1, min(length, PIECE - at), name, piece))
            if not rows or not rows[0][0]:
                break
            found.append(rows[0][0])
            offset, length = offset + len(found[-1]), length - len(found[-1])
        return b"".join(found)

    def collect(self) -> None:
        """Delete files here that a killed process left."""
        self._spool.collect(self._spool.orphans(()))

    def close(self) -> None:
        """Give the folder back."""
        self._spool.close()
