"""Bodies too large for a row, as pieces in a table: durable with or before the row that has them, read in ranges.

A body of one piece waits in memory and goes into the table with its row.
"""

from collections.abc import Iterable, Iterator
from functools import partial

import psycopg

from keepwhole.canonical.body import BodyFacts
from keepwhole.errors import NotStored, StoreError
from keepwhole.store.blobs.folder import new_name
from keepwhole.store.blobs.spool import Reread, spool_body
from keepwhole.store.feed import Feed
from keepwhole.store.postgres.server import Server, one_line
from keepwhole.store.protocol import Body, StoredBody
from keepwhole.store.reader import BodyReader, ReadAhead

PIECE = 1_048_576
_PUT = "SELECT put_piece(%s, %s, %s)"
_RANGE = "SELECT substring(data FROM %s FOR %s) FROM pieces WHERE blob = %s AND piece = %s"
_OLD = (
    "SELECT p.blob FROM pieces p WHERE p.piece = 0 AND p.at < now() - interval '1 hour' AND p.blob > %s "
    "AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.blob = p.blob) ORDER BY p.blob LIMIT 500"
)


class BlobTable:
    """The large bodies of a record, in its own database."""

    def __init__(self, server: Server, folder: str) -> None:
        """`folder` holds bodies on their way."""
        self._server, self._folder = server, folder

    def write(self, feed: Feed, first: bytes, room: int) -> StoredBody:
        """Store `first` and the rest of `feed`, at most `room` bytes; durable on return, or in memory for its row."""
        name, reader = new_name(), spool_body(feed, first, room, self._folder)
        if reader.facts.size <= PIECE:
            return StoredBody(Body(reader.facts, reader.read(), name), reader)
        try:
            self._server.retry(partial(self._upload, name, reader))
        except psycopg.Error as error:
            raise NotStored(
                f"The result could not be written ({one_line(error)}). It is shown in full; check the server.",
                rescue=Reread(reader),
            ) from error
        except StoreError as error:
            raise NotStored(f"The result could not be written. {error}", rescue=Reread(reader)) from error
        except BaseException:
            reader.close()
            raise
        return StoredBody(Body(reader.facts, blob=name), reader)

    def _upload(self, name: str, reader: BodyReader) -> None:
        with self._server.transaction() as execute:
            for piece, start in enumerate(range(0, reader.facts.size, PIECE)):
                execute(_PUT, (name, piece, reader.read(start, start + PIECE)))

    def open(self, blob: str, facts: BodyFacts) -> BodyReader:
        """Open the body `blob` for reading."""
        return BodyReader(facts, ReadAhead(partial(self._read, blob), facts.size))

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

    def read_all(self, blob: str) -> bytes:
        """Return a body as it is in the table, unchecked."""
        rows = self._server.select("SELECT data FROM pieces WHERE blob = %s ORDER BY piece", (blob,))
        return b"".join(data for (data,) in rows)

    def remove(self, blobs: Iterable[str]) -> None:
        """Delete these bodies if they are condemned; the rest is left for the collection of orphans."""
        try:
            self._server.select("SELECT remove(%s)", (list(blobs),))
        except StoreError:
            pass

    def old(self) -> Iterator[str]:
        """Yield the names of bodies that are older than an hour and that no entry has."""
        after = ""
        while rows := self._server.select(_OLD, (after,)):
            yield from (blob for (blob,) in rows)
            after = rows[-1][0]

    def close(self) -> None:
        """Do nothing: nothing is held open."""
