"""`SqliteLookups`: the entries that a conversation asks for, found by indexes, so that old ones cost nothing.

Owns: the queries that the indexes in `sql/0005_texts.sql` and `sql/0006_calls.sql` are made for; each is written as
its index has it.
Must not know: what the entries mean. Rows are not checked.
"""

from collections.abc import Iterable
from typing import Any

from keepwhole.canonical.utf8 import showable
from keepwhole.store.protocol import Row
from keepwhole.store.sql_store import ENTRIES, LIGHT, as_bytes, as_row, in_parts
from keepwhole.store.sqlite.database import Database

_SELECT = f"SELECT {LIGHT} {ENTRIES} AND e.seq <= ? AND"
_MANY = 200
"""Ids in one query."""
_TEXT = (
    "e.kind IN ('result', 'decision') AND CASE e.kind WHEN 'result' THEN e.digest "
    'ELSE substr(e.header, instr(e.header, CAST(\'"shown_digest":"\' AS BLOB)) + 16, 64) END = ?'
)
_BY_CALL = ENTRIES.replace("FROM entries e", "FROM entries e INDEXED BY result_by_call")
"""For several calls SQLite would rather read the whole session: the session is not the first column of their index."""
_NOTE = "e.kind = 'result' AND instr(e.header, CAST('\"tool\":\"keepwhole_' AS BLOB)) > 0"


class SqliteLookups:
    """Finds entries of a session up to a number, by indexes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def results_of_calls(self, session: str, upto: int, call_ids: Iterable[str]) -> list[Row]:
        """Return the results of these calls, in order."""
        return self._each(session, upto, "e.call_id", map(as_bytes, call_ids), entries=_BY_CALL)

    def results(self, session: str, upto: int, trace_ids: Iterable[str]) -> list[Row]:
        """Return the results with these trace ids, in order."""
        return self._each(session, upto, "e.kind = 'result' AND e.trace_id", map(showable, trace_ids))

    def decisions_about(self, session: str, upto: int, trace_ids: Iterable[str]) -> list[Row]:
        """Return all decisions about these results, in order, with their bodies."""
        return self._each(session, upto, "e.kind = 'decision' AND e.trace_id", map(showable, trace_ids))

    def first_with_text(self, session: str, upto: int, digests: Iterable[bytes], most: int) -> list[Row]:
        """Return the first results and the first decisions that produce a text with one of these digests, in order."""
        keys = (key for digest in digests for key in (digest, digest.hex().encode()))
        return self._with_keys(session, upto, keys, "", most)

    def newest_views(self, session: str, upto: int, digests: Iterable[bytes], most: int) -> list[Row]:
        """Return the newest decisions that show a text with one of these digests, in order."""
        return self._with_keys(session, upto, (digest.hex().encode() for digest in digests), " DESC", most)

    def notes(self, session: str, upto: int) -> list[Row]:
        """Return the results of Keepwhole's own tools, in order."""
        return self._rows(f"{_SELECT} {_NOTE} ORDER BY e.seq", session, upto)

    def newest_requests(self, session: str, upto: int, most: int) -> list[Row]:
        """Return the newest requests and responses, in order."""
        query = f"{_SELECT} e.kind IN ('request', 'response') ORDER BY e.seq DESC LIMIT ?"
        return self._rows(query, session, upto, most)[::-1]

    def _with_keys(self, session: str, upto: int, keys: Iterable[bytes], order: str, most: int) -> list[Row]:
        query = f"{_SELECT} {_TEXT} ORDER BY e.seq{order} LIMIT ?"
        found = [row for key in keys for row in self._rows(query, session, upto, key, most)]
        return sorted(found, key=lambda row: row.seq)

    def _each(
        self, session: str, upto: int, column: str, wanted: Iterable[Any], *, entries: str = ENTRIES
    ) -> list[Row]:
        found: list[Row] = []
        for some in in_parts(wanted, _MANY):
            # with `+`, the index of the ids is used, and not that of the numbers
            query = f"SELECT {LIGHT} {entries} AND +e.seq <= ? AND {column} IN ({', '.join('?' * len(some))})"
            found += self._rows(query, session, upto, *some)
        return sorted(found, key=lambda row: row.seq)

    def _rows(self, query: str, *values: Any) -> list[Row]:
        return [as_row(row) for row in self._database.select(query, values)]
