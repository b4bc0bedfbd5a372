"""Texts that the record holds, known by their digests: results whole, and every view that was shown of one.

Owns: which entries give a text again.
Must not know: requests.
"""

from typing import NamedTuple

from keepwhole.canonical.entry import Decision
from keepwhole.errors import Damaged
from keepwhole.record.journal import digest_of_text
from keepwhole.store.follower import RecordFollower
from keepwhole.store.protocol import Row, Store, entry_of


class Origin(NamedTuple):
    """Where a text comes from: a result, shown whole or by a decision."""

    trace_id: str
    decision: int = 0
    """The decision's number; 0 for the whole."""


class Texts:
    """The texts of one session, caught up with the record whenever it is asked to."""

    def __init__(self, store: Store, session: str) -> None:
        self._following = RecordFollower(store, session, "result", "decision")
        self._known: dict[str, Origin] = {}

    def find(self, text: str) -> Origin | None:
        """Where this very text comes from; None if it is not on record."""
        return self._known.get(digest_of_text(text).hex()) if self._known else None

    def catch_up(self) -> None:
        """Learn what was written since."""
        if not self._following.look():
            self._known = {}
        for row in self._following.new():
            self._learn(row)

    @property
    def seen(self) -> int:
        """The number of the last entry that is known."""
        return self._following.seq

    def _learn(self, row: Row) -> None:
        try:
            entry = entry_of(row)
        except Damaged:
            return
        if isinstance(entry.header, Decision):
            self._known.setdefault(entry.header.shown_digest, Origin(row.trace_id, row.seq))
        elif entry.facts.encoding != "bytes":  # else what is kept is no text, so no text gives it again
            self._known.setdefault(row.digest.hex(), Origin(row.trace_id))
