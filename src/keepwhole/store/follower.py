"""`RecordFollower`: reads a session as it grows, and notices when it was purged and begun anew.

Owns: how far one reader has read. Entries of other kinds are skipped without being read.
Must not know: what the entries mean to the reader.

For example, a reader that has read up to entry 7 asks for the entries from 7 on. If the first of them is the entry 7
that it knows, by its hash, the rest is new; this one query is all that is needed while few entries are added. If not,
the session was purged, and reading starts again at its beginning.
"""

from collections.abc import Iterator
from itertools import islice

from keepwhole.store.protocol import Row, Store

_GLANCE = 64
"""Entries that are read in one query, whatever their kind."""


class RecordFollower:
    """The position of one reader in a session."""

    def __init__(self, store: Store, session: str, *kinds: str) -> None:
        self._store, self._session, self._kinds = store, session, kinds
        self._last: Row | None = None
        self._glance: list[Row] | None = None
        self.seq, self._chain = 0, b""

    def look(self) -> bool:
        """Read how far the session goes; return whether the entries read so far exist. If not, `new` starts over."""
        self._glance = self._glanced()
        if self._glance:
            self._last = self._glance[-1]
            return True
        self._last = self._store.last(self._session)
        if not self.seq or self._is_read(self._last) or self._is_read(self._store.entry(self._session, self.seq)):
            return True
        self.seq, self._chain = 0, b""
        self._last = self._store.last(self._session)
        return False

    @property
    def last_seq(self) -> int:
        """The number of the last entry at the last `look`; 0 where there was none."""
        return 0 if self._last is None else self._last.seq

    def skip(self) -> None:
        """Count the entries that were new at the last `look` as read."""
        if self._last is not None:
            self.seq, self._chain = self._last.seq, self._last.chain

    def new(self) -> Iterator[Row]:
        """Yield the entries that were new at the last `look`, once, without bodies except those of decisions."""
        last = self._last
        if last is None or self._is_read(last):
            return
        for row in self._wanted():
            if row.seq > last.seq:
                break  # it was added after the look, perhaps to a session that was purged and begun anew
            yield row
            self.seq, self._chain = row.seq, row.chain
        self.seq, self._chain = last.seq, last.chain

    def _glanced(self) -> list[Row] | None:
        """Return the last entry that was read and those after it, in one query; None if that cannot tell all."""
        if not self.seq:
            return None
        found = list(islice(self._store.rows(self._session, after=self.seq - 1, light=True), _GLANCE))
        return found if found and self._is_read(found[0]) and len(found) < _GLANCE else None

    def _wanted(self) -> Iterator[Row]:
        """Yield the entries after the position, of the kinds that are followed."""
        if self._glance is None:
            return self._store.rows(self._session, after=self.seq, kind=self._kinds, light=True)
        follows = [row for row in self._glance if row.seq > self.seq]
        return (row for row in follows if not self._kinds or row.kind in self._kinds)

    def _is_read(self, row: Row | None) -> bool:
        return row is not None and (row.seq, row.chain) == (self.seq, self._chain)
