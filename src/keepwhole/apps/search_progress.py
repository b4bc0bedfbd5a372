"""How far a search has looked, so that nobody is told that nothing was found before everything was looked at.

Owns: the count of results that were looked at, and its words.
Must not know: how an index is stored, how progress is drawn.
"""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from keepwhole.errors import KeepwholeError
from keepwhole.store.protocol import Store

_AT_ONCE = 0.4
"""Seconds of indexing between two reports of progress."""
_BATCH, _PAUSE = 0.1, 0.2
"""Seconds of indexing in the background, and between two of its batches."""


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


class BackgroundIndex:
    """Completes the index of sessions that were searched, in short batches with pauses, on a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._sessions: list[str] = []
        self._thread: threading.Thread | None = None

    def complete(self, session: str) -> None:
        """Let a session be indexed, unless it is already waiting for that."""
        with self._lock:
            if session in self._sessions or self._stopped.is_set():
                return
            self._sessions.append(session)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="keepwhole-index", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop after the batch at hand; what was indexed by then stays indexed."""
        self._stopped.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._sessions or self._stopped.is_set():
                    self._thread = None
                    return
                session = self._sessions[0]
            try:
                self._complete(session)
            except KeepwholeError:
                pass  # the next search says what is wrong
            with self._lock:
                self._sessions.remove(session)

    def _complete(self, session: str) -> None:
        before = -1
        while not (passages := self._store.passages(session, until=time.monotonic() + _BATCH)).is_all:
            if passages.indexed_to < before or self._stopped.wait(_PAUSE):
                return
            before = passages.indexed_to
