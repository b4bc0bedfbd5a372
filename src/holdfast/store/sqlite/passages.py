"""The passages of a session in a contentless FTS5 table, caught up in bounded batches when somebody asks.

No positions and no sizes are kept, only which passage has which word: that is all the ranking asks, and a list of
passages can be read from its newest end without reading the rest.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.canonical.entry import Result, parse_header
from holdfast.store.passages import EACH, Place, first_text, is_indexed, marks, marks_of, passage_words, place_of
from holdfast.store.protocol import Body

if TYPE_CHECKING:
    from holdfast.store.sqlite.store import SqliteStore

_BATCH_ROWS = 500
_BATCH_CHARS = 4_000_000
_ROWS = (
    "SELECT e.id, e.header, e.digest, e.blocks, e.body, e.blob, s.name FROM entries e "
    "JOIN sessions s ON s.id = e.session WHERE e.kind = 'result'"
)
_BEYOND = (  # as the partial index has it, `GOES_ON` spelled out
    "SELECT e.trace_id FROM entries e JOIN sessions s ON s.id = e.session WHERE s.name = ? AND e.kind = 'result' "
    "AND length(e.blocks) > 160 ORDER BY e.seq DESC"
)


class SqlitePassages:
    """The passages of one session, or of one task or query of it."""

    def __init__(self, store: "SqliteStore", session: str, task_id: str | None, query_id: str | None) -> None:
        self._store, self._session = store, session
        self._marks = "".join(f' AND "{mark}"' for mark in marks(session, task_id, query_id))

    def size(self) -> int:
        """How many results there are, about: the number of the last entry."""
        query = "SELECT max(e.seq) FROM entries e WHERE e.session = (SELECT id FROM sessions WHERE name = ?)"
        return self._store.select(query, (self._session,))[0][0] or 0

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """The newest passages above a number that have a word of every group, at most so many."""
        if not groups or not all(groups):
            return []
        asked = " AND ".join("(" + " OR ".join(f'"{word}"' for word in group) + ")" for group in groups)
        query = "SELECT rowid FROM passages WHERE passages MATCH ? AND rowid > ? ORDER BY rowid DESC LIMIT ?"
        return [number for (number,) in self._store.select(query, (asked + self._marks, above, most))]

    def places(self, numbers: Iterable[int]) -> dict[int, Place]:
        """Where these passages lie."""
        wanted = list(numbers)
        ids = sorted({number // EACH for number in wanted})
        query = (
            f"SELECT e.id, e.trace_id, e.seq FROM entries e JOIN sessions s ON s.id = e.session "
            f"WHERE s.name = ? AND e.id IN ({', '.join('?' * len(ids))})"
        )
        found = {id: (trace_id, seq) for id, trace_id, seq in self._store.select(query, (self._session, *ids))}
        return {number: place_of(number, *found[number // EACH]) for number in wanted if number // EACH in found}

    def beyond(self) -> Iterator[str]:
        """The trace ids of results that go on after what is indexed, the newest first."""
        return (trace_id for (trace_id,) in self._store.select(_BEYOND, (self._session,)))


def catch_up(store: "SqliteStore") -> None:
    """Index what was kept since somebody last asked, a bounded batch a transaction."""
    behind = "SELECT 1 FROM entries WHERE kind = 'result' AND id > (SELECT up_to FROM passages_indexed) LIMIT 1"
    while store.select(behind):
        with store.writing() as execute:
            _index_batch(store, execute)


def _index_batch(store: "SqliteStore", execute: Any) -> None:
    up_to = newest = execute("SELECT up_to FROM passages_indexed").fetchone()[0]
    done = 0
    for row in execute(_ROWS + " AND e.id > ? ORDER BY e.id LIMIT ?", (up_to, _BATCH_ROWS)).fetchall():
        newest = row[0]
        for number, words in _indexed(store, row):
            execute("INSERT INTO passages (rowid, words) VALUES (?, ?)", (number, words))
            done += len(words)
        if done > _BATCH_CHARS:
            break
    execute("UPDATE passages_indexed SET up_to = ?", (newest,))


def forget(store: "SqliteStore", execute: Any, session: int) -> None:
    """Take a session out of the index; a contentless one wants the same words again."""
    up_to = execute("SELECT up_to FROM passages_indexed").fetchone()[0]
    for row in execute(_ROWS + " AND e.session = ? AND e.id <= ?", (session, up_to)).fetchall():
        for number, words in _indexed(store, row):
            execute("INSERT INTO passages (passages, rowid, words) VALUES ('delete', ?, ?)", (number, words))
    execute("INSERT INTO passages (passages) VALUES ('optimize')")


def _indexed(store: "SqliteStore", row: Any) -> Iterator[tuple[int, str]]:
    """The passages of a row with their words. Unchecked: they are only a hint."""
    id, raw, digest, blocks, inline, blob, session = row
    try:
        header, facts = parse_header(raw, digest, blocks)
        if not isinstance(header, Result) or not is_indexed(header):
            return
        with store.open(Body(facts, inline, blob)) as reader:
            text = first_text(reader)
    except Exception:  # a damaged body must neither stop a search nor a purge
        return
    own = marks_of(session, header)
    for at, words in enumerate(passage_words(header, text)):
        yield id * EACH + at, " ".join([*own, *sorted(words)])
