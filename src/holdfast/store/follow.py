"""Reading a session's record as it grows: what is new since the last look, and whether the old is still there.

Owns: how far somebody has read. Entries of other kinds are stepped over without being read.
Must not know: what the entries mean to whoever reads them.
"""

from collections.abc import Iterator

from holdfast.store.protocol import Row, Store


class Following:
    """One reader's place in the record of a session."""

    def __init__(self, store: Store, session: str, *kinds: str) -> None:
        self._store, self._session, self._kinds = store, session, kinds
        self._last: Row | None = None
        self.seq, self._chain = 0, b""

    def look(self) -> bool:
        """See how far the record goes; whether what was read is still in it. If not, `new` begins at the beginning."""
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
        for row in self._store.rows(self._session, after=self.seq, kind=self._kinds, light=True):
            if row.seq > last.seq:
                break  # it came after the look, perhaps to a session that was purged and begun anew
            yield row
            self.seq, self._chain = row.seq, row.chain
        self.seq, self._chain = last.seq, last.chain

    def _is_read(self, row: Row | None) -> bool:
        return row is not None and (row.seq, row.chain) == (self.seq, self._chain)
