"""How far a search has looked, so that nobody is told that nothing was found before everything was looked at.

Owns: the count of results that were looked at, and its words.
Must not know: how an index is stored, how progress is drawn.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepwhole.store.protocol import Store

_AT_ONCE = 0.4
"""Seconds of indexing between two reports of progress."""


class Looked(NamedTuple):
    """How many results of a session were looked at."""

    looked: int
    total: int

    def words_while(self, is_all: bool) -> str:
        """The count in words, for a search that is through or not.

        >>> Looked(640, 1_935).words_while(False)
        'Searched 640 of 1,935 results so far'
        """
        return f"Searched {self.looked:,} of {self.total:,} results" + ("" if is_all else " so far")


def looked_at(store: Store, session: str, seqs: Sequence[int]) -> Looked:
    """How many of the results with these numbers are indexed by now; nothing more is indexed for this."""
    passages = store.passages(session, until=time.monotonic())
    indexed = len(seqs) if passages.is_all else sum(seq <= passages.indexed_to for seq in seqs)
    return Looked(indexed, len(seqs))


def index_all(store: Store, session: str, report: Callable[[Looked], None]) -> None:
    """Index every result of a session; report how far it is while that takes long.

    Where an index cannot be written any further, a search reads the other results itself.
    """
    before = -1
    while not (passages := store.passages(session, until=time.monotonic() + _AT_ONCE)).is_all:
        if passages.indexed_to <= before:
            return
        before = passages.indexed_to
        seqs = [row.seq for row in store.rows(session, kind="result", light=True)]
        report(Looked(sum(seq <= passages.indexed_to for seq in seqs), len(seqs)))
