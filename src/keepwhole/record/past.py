"""`Past`: the entries that a session had when it was first read, looked up one by one as a conversation asks for them.

Owns: what is read of them and when, so that a first view takes as long in a session of 50,000 results as in one of 50.
Must not know: which of them are known already, and what came since (`journal`).

Whatever is returned is complete: a result comes with all decisions about it up to the number `upto`, or an error is
raised and nothing is returned. Damaged entries are left out.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from keepwhole.canonical.entry import Decision, Entry
from keepwhole.errors import Damaged
from keepwhole.record.known_result import KnownResult, Origin, origin_of_entry, read_decision, read_result
from keepwhole.store.protocol import Lookups, Row, Store, entry_of
from keepwhole.truncation.cut import Cut

_REQUESTS = 1_024
"""The newest requests and responses, which bills are learned from."""
_SAME = 64
"""Most entries with the same text that are looked at: more are damaged or have nothing to say."""
_T = TypeVar("_T")


class Past:
    """The entries of a session up to a number."""

    def __init__(self, store: Store, lookups: Lookups, session: str, upto: int) -> None:
        self._store, self._lookups, self._session = store, lookups, session
        self.upto = upto
        self._origins: dict[str, Origin | None] = {}

    def notes(self) -> list[KnownResult]:
        """The results of Keepwhole's own tools, in order."""
        return self._results(self._lookups.notes(self._session, self.upto))

    def bills(self) -> list[Entry]:
        """The newest requests and responses, in order."""
        return _undamaged(entry_of, self._lookups.newest_requests(self._session, self.upto, _REQUESTS))

    def results_of_calls(self, call_ids: Collection[str]) -> list[KnownResult]:
        """The results of these calls, in order."""
        return self._results(self._lookups.results_of_calls(self._session, self.upto, call_ids))

    def results(self, trace_ids: Collection[str]) -> list[KnownResult]:
        """The results with these trace ids, in order."""
        return self._results(self._lookups.results(self._session, self.upto, trace_ids))

    def results_showing(self, digests: Iterable[bytes]) -> list[KnownResult]:
        """The results of which a text with one of these digests was shown, in order."""
        trace_ids = {row.trace_id for row in self._lookups.newest_views(self._session, self.upto, digests, _SAME)}
        return self.results(trace_ids) if trace_ids else []

    def origins_of(self, digests: Collection[bytes]) -> Mapping[str, Origin | None]:
        """The first entries that produce the texts with these digests, by the digests in hex; None for no entry."""
        new = [digest for digest in digests if digest.hex() not in self._origins]
        if new:
            rows = self._lookups.first_with_text(self._session, self.upto, new, _SAME)
            found: dict[str, Origin] = {}
            for entry in _undamaged(entry_of, rows):
                if (produced := origin_of_entry(entry)) is not None:
                    found.setdefault(*produced)
            self._origins.update((digest.hex(), found.get(digest.hex())) for digest in new)
        return self._origins

    def decisions_after(self, seq: int) -> list[str]:
        """Trace ids of the decisions that follow the entry of this number without a gap."""
        found: list[str] = []
        for row in self._store.rows(self._session, after=seq, light=True):
            if row.seq != seq + len(found) + 1 or row.seq > self.upto or not self._is_decision(row):
                break
            found.append(row.trace_id)
        return found

    def _is_decision(self, row: Row) -> bool:
        return row.kind == "decision" and bool(_undamaged(self._read_decision, [row]))

    def _read_decision(self, row: Row) -> tuple[Decision, Cut]:
        return read_decision(self._store, row)

    def _results(self, rows: Iterable[Row]) -> list[KnownResult]:
        """The results in these rows, each with all decisions about it."""
        found = {known.result.trace_id: known for known in _undamaged(read_result, rows) if known is not None}
        for row in self._lookups.decisions_about(self._session, self.upto, found):
            for decision, cut in _undamaged(self._read_decision, [row]):
                if decision.trace_id in found:
                    found[decision.trace_id].decide(row.seq, decision, cut)
        return list(found.values())


def _undamaged(read: Callable[[Row], _T], rows: Iterable[Row]) -> list[_T]:
    found: list[_T] = []
    for row in rows:
        try:
            found.append(read(row))
        except Damaged:
            continue
    return found
