"""The passages of a session in a contentless FTS5 table, caught up in bounded batches when somebody asks.

No positions and no sizes are kept, only which passage has which word: that is all the ranking asks, and a list of
passages can be read from its newest end without reading the rest. The rowid is the session's number, then the
passage's: a session is a range of rowids, and asking for it costs nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keepwhole.errors import StoreError
from keepwhole.store.blobs.stores import is_away
from keepwhole.store.passages import EACH, Place, going_on, indexed_text, marks, passage_words, places_of
from keepwhole.store.protocol import is_over
from keepwhole.store.word_index import WordIndex

if TYPE_CHECKING:
    from keepwhole.store.sqlite.store import SqliteStore

_BATCH_ROWS = 4_000
_BATCH_CHARS = 2_000_000
_MANY = 100_000
_OF_SESSION = 1 << 36
"""Rowids of one session; more than it can ever have entries."""
_PAGE = 200
_ROWS = "SELECT id, chain, session, seq, header, digest, blocks, body, blob FROM entries WHERE kind = 'result'"
_LEFT = "SELECT 1 FROM entries WHERE kind = 'result' AND id > ? LIMIT 1"
_CHAINS = "SELECT id, chain FROM entries WHERE kind = 'result' AND id > ? AND id <= ? ORDER BY id"
_BEYOND = (  # as the partial index has it, `GOES_ON` spelled out
    "SELECT trace_id, header, digest, blocks FROM entries WHERE session = ? AND kind = 'result' "
    "AND length(blocks) > 160 ORDER BY seq DESC LIMIT 100"
)


class SqlitePassages:
    """The passages of one session, or of one task or query of it."""

    def __init__(self, store: "SqliteStore", session: str, task_id: str | None, query_id: str | None) -> None:
        self._store, self._only = store, (task_id, query_id)
        found = store.select("SELECT id FROM sessions WHERE name = ?", (session,))
        self._number: int = found[0][0] if found else 0
        self._groups = [[mark] for mark in marks(task_id, query_id)]
        self._unindexed = WordIndex()
        self.is_all = True

    def size(self) -> int:
        """How many results there are; of very many about, by the number of the last entry."""
        query = "SELECT count(*) FROM (SELECT 1 FROM entries WHERE session = ? AND kind = 'result' LIMIT ?)"
        counted: int = self._store.select(query, (self._number, _MANY))[0][0]
        if counted < _MANY:
            return counted
        return self._store.select("SELECT max(seq) FROM entries WHERE session = ?", (self._number,))[0][0] or 0

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """The newest passages above a number that have a word of every group, at most so many."""
        if not groups or not all(groups):
            return []
        groups = [*groups, *self._groups]
        asked = " AND ".join("(" + " OR ".join(f'"{word}"' for word in group) + ")" for group in groups)
        first = self._number * _OF_SESSION
        query = (
            "SELECT rowid FROM passages WHERE passages MATCH ? AND rowid > ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"
        )
        last = first + _OF_SESSION
        found = self._store.select(query, (asked, first + max(0, above), last, most))
        newer = self._unindexed.newest(groups, most, above)
        return list(dict.fromkeys([*newer, *(number - first for (number,) in found)]))[:most]

    def add_unindexed(self, until: float | None) -> None:
        """Hold the words of what is not in the index, for this question only: the record cannot be written."""
        first = self._number * _OF_SESSION
        after, self.is_all = _up_to(self._store), False
        while not is_over(until):
            try:
                gathered = gather(self._store, after, self._number)
            except StoreError:
                return  # a body cannot be read now
            if not gathered.rows:
                self.is_all = True
                return
            for number, words in gathered.words:
                self._unindexed.add(number - first, words.split())
            after = gathered.up_to

    def places(self, numbers: Iterable[int]) -> dict[int, Place]:
        """Where these passages lie."""
        wanted = list(numbers)
        asked = sorted({number // EACH for number in wanted})
        query = f"SELECT seq, trace_id FROM entries WHERE session = ? AND seq IN ({', '.join('?' * len(asked))})"
        found = dict(self._store.select(query, (self._number, *asked)))
        return places_of(wanted, found)

    def beyond(self) -> Iterator[str]:
        """The trace ids of results that go on after what is indexed, the newest first."""
        return going_on(self._store.select(_BEYOND, (self._number,)), self._only)


class Gathered(NamedTuple):
    """The words of the next few results, not yet in the index."""

    after: int
    up_to: int
    rows: list[tuple[int, bytes]]
    """The results they are of: number and chain hash."""
    words: list[tuple[int, str]]


def catch_up(store: "SqliteStore", until: float | None = None) -> bool:
    """Index what was kept since somebody last asked, a bounded batch a transaction; no writer waits for the work.

    Whether all of it is indexed now; not where the record cannot be written, or past `until`, but one batch always is.
    """
    try:
        while (gathered := gather(store, _up_to(store))).rows:
            add(store, gathered)
            if is_over(until):
                return not store.select(_LEFT, (_up_to(store),))
    except StoreError:
        return False
    return True


def _up_to(store: "SqliteStore") -> int:
    return store.select("SELECT up_to FROM passages_indexed")[0][0]


def gather(store: "SqliteStore", after: int, session: int | None = None) -> Gathered:
    """The words of what comes next, in the order of rowids: an index that goes back begins a new piece each time."""
    up_to = after
    only, values = ("", ()) if session is None else (" AND session = ?", (session,))
    rows: list[tuple[int, bytes]] = []
    words: list[tuple[int, str]] = []
    done = 0
    while done < _BATCH_CHARS and len(rows) < _BATCH_ROWS:
        page = store.select(_ROWS + only + " AND id > ? ORDER BY id LIMIT ?", (*values, up_to, _PAGE))
        for id, chain, *row in page:
            up_to = id
            rows.append((id, chain))
            own = list(_indexed(store, row))
            words += own
            done += sum([len(text) for _, text in own])
        if len(page) < _PAGE:
            break
    return Gathered(after, up_to, rows, sorted(words))


def add(store: "SqliteStore", gathered: Gathered) -> bool:
    """Put gathered words into the index, if nobody else has and the results are still what they were."""
    with store.writing() as execute:
        after = execute("SELECT up_to FROM passages_indexed").fetchone()[0]
        now = execute(_CHAINS, (gathered.after, gathered.up_to)).fetchall()
        if after != gathered.after or now != gathered.rows:
            return False
        for number_and_words in gathered.words:
            execute("INSERT INTO passages (rowid, words) VALUES (?, ?)", number_and_words)
        execute("UPDATE passages_indexed SET up_to = ?", (gathered.up_to,))
        return True


def forget(store: "SqliteStore", execute: Any, session: int) -> None:
    """Take a session out of the index; a contentless one wants the same words again."""
    up_to = execute("SELECT up_to FROM passages_indexed").fetchone()[0]
    for row in execute(_ROWS + " AND session = ? AND id <= ?", (session, up_to)).fetchall():
        for number_and_words in _indexed(store, row[2:]):
            execute("INSERT INTO passages (passages, rowid, words) VALUES ('delete', ?, ?)", number_and_words)
    execute("INSERT INTO passages (passages) VALUES ('optimize')")


def _indexed(store: "SqliteStore", row: Any) -> Iterator[tuple[int, str]]:
    """The passages of a row with their words. Unchecked: they are only a hint."""
    session, seq, *stored = row
    try:
        found = indexed_text(store.open, tuple(stored))
    except Exception as error:  # a damaged body must neither stop a search nor a purge
        if is_away(error):
            raise
        return
    if found is None:
        return
    header, text = found
    own = marks(header.task_id, header.query_id)
    for at, words in enumerate(passage_words(header, text)):
        yield session * _OF_SESSION + seq * EACH + at, " ".join([*own, *sorted(words)])
