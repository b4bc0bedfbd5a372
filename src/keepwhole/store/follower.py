"""Reading a session's record as it grows: what is new since the last look, and whether the old is still there.

Owns: how far somebody has read. Entries of other kinds are stepped over without being read.
Must not know: what the entries mean to whoever reads them.
"""

from collections.abc import Iterator
from itertools import islice

from keepwhole.store.protocol import Row, Store

_GLANCE = 64
"""So many entries at most are looked at in one go, whatever their kind."""


class RecordFollower:
    """One reader's place in the record of a session."""

    def __init__(self, store: Store, session: str, *kinds: str) -> None:
        self._store, self._session, self._kinds = store, session, kinds
        self._last: Row | None = None
        self._glance: list[Row] | None = None
        self.seq, self._chain = 0, b""

    def look(self) -> bool:
        """See how far the record goes; whether what was read is still in it. If not, `new` begins at the beginning."""
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

    def new(self) -> Iterator[Row]:
        """What was written up to the last look, without bodies but those of decisions; the next time what follows."""
        last = self._last
        if last is None or self._is_read(last):
            return
        for row in self._wanted():
            if row.seq > last.seq:
                break  # it came after the look, perhaps to a session that was purged and begun anew
            yield row
            self.seq, self._chain = row.seq, row.chain
        self.seq, self._chain = last.seq, last.chain

    def _glanced(self) -> list[Row] | None:
        """The last entry that was read and the few after it, which tells at once all there is to know of them."""
        if not self.seq:
            return None
        found = list(islice(self._store.rows(self._session, after=self.seq - 1, light=True), _GLANCE))
        return found if found and self._is_read(found[0]) and len(found) < _GLANCE else None

    def _wanted(self) -> Iterator[Row]:
        """What follows what was read, of the kinds that somebody follows."""
        if self._glance is None:
            return self._store.rows(self._session, after=self.seq, kind=self._kinds, light=True)
        follows = [row for row in self._glance if row.seq > self.seq]
        return (row for row in follows if not self._kinds or row.kind in self._kinds)

    def _is_read(self, row: Row | None) -> bool:
        return row is not None and (row.seq, row.chain) == (self.seq, self._chain)
