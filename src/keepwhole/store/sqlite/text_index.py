"""The text index of the SQLite back end: one contentless FTS5 table of passages, see `keepwhole.store.passages`.

Owns: bringing the index up to date in bounded batches, asking it, and removing a session from it.
Must not know: what a term means.

The table has neither positions nor sizes (`detail = none`, `columnsize = 0`), only which passage has which term. So a
term's list of passages can be read from its newest end without reading the rest. The rowid is the session's number and
then the passage's: the passages of a session are one range of rowids.

An index that is contentless cannot forget a text by itself: it must be given the same terms again. A purge therefore
reads the bodies of its session once more, and a change to how terms are spelled needs a migration that empties the
table.

Words are gathered outside of any transaction, because that takes long, and added in one. In between another process
may have added the same rows or purged them. `_add` therefore checks, inside the transaction, that the index is still
where gathering began and that the rows still have the chain hashes that they had.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from keepwhole.errors import StoreError
from keepwhole.store.blobs.stores import is_away
from keepwhole.store.passages import IndexedPassages, PassageTerms, long_results, stored_passages
from keepwhole.store.protocol import Body, is_over
from keepwhole.store.reader import BodyReader
from keepwhole.store.sql_store import FORGOTTEN, Execute
from keepwhole.store.sqlite.database import Database

_BATCH_ROWS = 4_000
_BATCH_TERMS = 250_000
_MANY = 100_000
_OF_SESSION = 1 << 36
"""Rowids of one session; more than it can ever have passages."""
_PAGE = 200
_INDEXED = f"kind = 'result' AND format <> {FORGOTTEN}"
_ROWS = f"SELECT id, chain, session, seq, header, digest, blocks, body, blob FROM entries WHERE {_INDEXED}"
_INDEXED_TO = "SELECT max(seq) FROM entries WHERE session = ? AND id <= ?"
_LEFT = f"SELECT 1 FROM entries WHERE {_INDEXED} AND id > ? LIMIT 1"
_OF_OTHERS = f"SELECT 1 FROM entries WHERE {_INDEXED} AND id > ? AND id <= ? AND session <> ? LIMIT 1"
_CHAINS = f"SELECT id, chain FROM entries WHERE {_INDEXED} AND id > ? AND id <= ? ORDER BY id"
_FIND = "SELECT rowid FROM passages WHERE passages MATCH ? AND rowid > ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM entries WHERE session = ? AND kind = 'result' LIMIT ?)"
_BEYOND = (  # as the partial index has it, with `passages.LONG` written out
    "SELECT trace_id, header, digest, blocks FROM entries WHERE session = ? AND kind = 'result' "
    "AND length(blocks) > 160 ORDER BY seq DESC LIMIT 100"
)


class Gathered(NamedTuple):
    """The terms of the next results, not yet in the index."""

    after: int
    up_to: int
    rows: list[tuple[int, bytes]]
    """The results: id and chain hash."""
    terms: PassageTerms


class TextIndex:
    """The passages of all sessions."""

    def __init__(self, database: Database, open_body: Callable[[Body], BodyReader]) -> None:
        self._database, self._open_body = database, open_body

    def passages(
        self, session: str, task_id: str | None, query_id: str | None, until: float | None
    ) -> "SqlitePassages":
        """Return the passages of a session, or of one task or query of it; the index is brought up to date first.

        Results are indexed in the order in which they came. Where those of other sessions wait too, half of the time is
        left for those of this session, which are then held in memory.
        """
        numbers = self._database.select("SELECT id FROM sessions WHERE name = ?", (session,))
        found = SqlitePassages(self._database, numbers[0][0] if numbers else 0, task_id, query_id)
        is_all = self._catch_up(until if until is None else self._share(found.session, until))
        if not is_all:
            up_to = self._up_to()
            found.indexed_to = self._database.select(_INDEXED_TO, (found.session, up_to))[0][0] or 0
            found.add_unindexed(partial(self._gather_session, until, found.session), up_to, until)
        return found

    def _share(self, session: int, until: float) -> float:
        """Return until when results are indexed, if this session is asked about until `until`."""
        up_to = self._up_to()
        shares = self._database.select(_OF_OTHERS, (up_to, up_to + _BATCH_ROWS, session))
        return (time.monotonic() + until) / 2 if shares else until

    def _catch_up(self, until: float | None) -> bool:
        """Index the new results, one bounded batch per transaction, so that no writer waits for long.

        Return whether all of them are indexed: not if the record cannot be written, or `until` has passed; but one
        result is always indexed.
        """
        try:
            while (gathered := self.gather(self._up_to(), until)).rows:
                self.add(gathered)
                if is_over(until):
                    return not self._database.select(_LEFT, (self._up_to(),))
        except StoreError:
            return False
        return True

    def _up_to(self) -> int:
        return self._database.select("SELECT up_to FROM indexed")[0][0]

    def gather(self, after: int, until: float | None = None, session: int | None = None) -> Gathered:
        """Return the terms of the next results, in the order of rowids, in which FTS5 adds them fastest.

        One bounded batch, which ends early when `until` has passed.
        """
        up_to = after
        only, values = ("", ()) if session is None else (" AND session = ?", (session,))
        rows: list[tuple[int, bytes]] = []
        terms: PassageTerms = []
        count, is_late = 0, False
        while count < _BATCH_TERMS and len(rows) < _BATCH_ROWS and not is_late:
            page = self._database.select(_ROWS + only + " AND id > ? ORDER BY id LIMIT ?", (*values, up_to, _PAGE))
            for id, chain, *row in page:
                up_to = id
                rows.append((id, chain))
                own = list(self._terms(row))
                terms += own
                count += sum(len(found) for _, found in own)
                if is_late := is_over(until):
                    break
            if len(page) < _PAGE:
                break
        return Gathered(after, up_to, rows, sorted(terms))

    def _gather_session(self, until: float | None, session: int, after: int) -> tuple[int, PassageTerms]:
        gathered = self.gather(after, until, session)
        return gathered.up_to, [(number - session * _OF_SESSION, terms) for number, terms in gathered.terms]

    def add(self, gathered: Gathered) -> bool:
        """Add gathered terms, unless another process has added them or the results changed; return whether it did."""
        with self._database.writing() as execute:
            after = execute("SELECT up_to FROM indexed").fetchone()[0]
            now = execute(_CHAINS, (gathered.after, gathered.up_to)).fetchall()
            if after != gathered.after or now != gathered.rows:
                return False
            for number, terms in gathered.terms:
                execute("INSERT INTO passages (rowid, words) VALUES (?, ?)", (number, " ".join(terms)))
            execute("UPDATE indexed SET up_to = ?", (gathered.up_to,))
            return True

    def forget(self, execute: Execute, session: int, seqs: Iterable[int] | None = None) -> None:
        """Remove a session, or these results of it, from the index, inside the transaction that deletes them."""
        up_to = execute("SELECT up_to FROM indexed").fetchone()[0]
        only = "" if seqs is None else f" AND seq IN ({', '.join(map(str, map(int, seqs)))})"
        for row in execute(_ROWS + " AND session = ? AND id <= ?" + only, (session, up_to)).fetchall():
            for number, terms in self._terms(row[2:]):
                execute(
                    "INSERT INTO passages (passages, rowid, words) VALUES ('delete', ?, ?)", (number, " ".join(terms))
                )
        execute("INSERT INTO passages (passages) VALUES ('optimize')")

    def _terms(self, row: Any) -> Iterator[tuple[int, list[str]]]:
        """Yield the rowids and terms of a row's passages. The row is not checked: the index is only a hint."""
        session, seq, *stored = row
        try:
            found = list(stored_passages(self._open_body, seq, tuple(stored)))
        except Exception as error:  # a damaged body must neither stop a search nor a purge
            if is_away(error):
                raise
            return
        for number, terms in found:
            yield session * _OF_SESSION + number, terms


class SqlitePassages(IndexedPassages):
    """The passages of one session, or of one task or query of it."""

    def __init__(self, database: Database, session: int, task_id: str | None, query_id: str | None) -> None:
        super().__init__(task_id, query_id)
        self._database, self.session = database, session

    def size(self) -> int:
        """Return how many results there are; of very many, the number of the last entry."""
        count: int = self._database.select(_COUNT, (self.session, _MANY))[0][0]
        if count < _MANY:
            return count
        return self._database.select("SELECT max(seq) FROM entries WHERE session = ?", (self.session,))[0][0] or 0

    def _find(self, groups: Sequence[Sequence[str]], most: int, above: int) -> list[int]:
        query = " AND ".join("(" + " OR ".join(map(_quoted, group)) + ")" for group in groups)
        first = self.session * _OF_SESSION
        found = self._database.select(_FIND, (query, first + above, first + _OF_SESSION, most))
        return [number - first for (number,) in found]

    def _trace_ids(self, seqs: Sequence[int]) -> Mapping[int, str]:
        query = f"SELECT seq, trace_id FROM entries WHERE session = ? AND seq IN ({', '.join('?' * len(seqs))})"
        return dict(self._database.select(query, (self.session, *seqs)))

    def beyond(self) -> Iterator[str]:
        """Yield the trace ids of some of the newest results that are longer than what is indexed, newest first."""
        return long_results(self._database.select(_BEYOND, (self.session,)), self.only)


def _quoted(term: str) -> str:
    """Return a term as FTS5 writes it, a beginning with its star."""
    return f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"'
