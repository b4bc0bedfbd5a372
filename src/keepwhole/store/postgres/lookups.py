"""`PostgresLookups`: the entries that a conversation asks for, found by indexes, so that old ones cost nothing.

Owns: the queries that the indexes in `sql/0007_lookups.sql` are made for; each is written as its index has it.
Must not know: what the entries mean. Rows are not checked.

Every question is one round trip, however many ids it has: they are sent as an array, and each is looked up by itself
in a `LATERAL` subquery. A subquery that is sorted is not merged with the rest, so the server goes by the index of the
ids even while it has no statistics.
"""

from collections.abc import Callable, Iterable
from typing import Any

from keepwhole.store.postgres.server import Server
from keepwhole.store.protocol import Row
from keepwhole.store.sql_store import FORGOTTEN, LIGHT, as_bytes, as_row, in_parts

_MANY = 2_000
"""Ids in one query: a query must not take so long that the server is taken to be silent."""
_TEXT = (
    "e.kind IN ('result', 'decision') AND CASE e.kind WHEN 'result' THEN e.digest "
    'ELSE substring(e.header FROM position(\'"shown_digest":"\'::bytea IN e.header) + 16 FOR 64) END = wanted.id'
)
_CALL = "e.call_id IS NOT NULL AND sha256(e.call_id) = sha256(wanted.id) AND e.call_id = wanted.id"
_NOTE = "e.kind = 'result' AND position('\"tool\":\"keepwhole_'::bytea IN e.header) > 0"
_REQUEST = "e.kind IN ('request', 'response')"


class PostgresLookups:
    """Finds entries of a session up to a number, by indexes."""

    def __init__(self, server: Server, as_text: Callable[[str], str]) -> None:
        """`as_text` returns text that the server accepts."""
        self._server, self._as_text = server, as_text

    def results_of_calls(self, session: str, upto: int, call_ids: Iterable[str]) -> list[Row]:
        """Return the results of these calls, in order."""
        return self._each(_query(_CALL, "bytea"), session, upto, map(as_bytes, call_ids))

    def results(self, session: str, upto: int, trace_ids: Iterable[str]) -> list[Row]:
        """Return the results with these trace ids, in order."""
        query = _query("e.kind = 'result' AND e.trace_id = wanted.id", "text")
        return self._each(query, session, upto, map(self._as_text, trace_ids))

    def decisions_about(self, session: str, upto: int, trace_ids: Iterable[str]) -> list[Row]:
        """Return all decisions about these results, in order, with their bodies."""
        query = _query("e.kind = 'decision' AND e.trace_id = wanted.id", "text")
        return self._each(query, session, upto, map(self._as_text, trace_ids))

    def first_with_text(self, session: str, upto: int, digests: Iterable[bytes], most: int) -> list[Row]:
        """Return the first results and the first decisions that produce a text with one of these digests, in order."""
        keys = (key for digest in digests for key in (digest, digest.hex().encode()))
        return self._each(_query(_TEXT, "bytea", f"LIMIT {most:d}"), session, upto, keys)

    def newest_views(self, session: str, upto: int, digests: Iterable[bytes], most: int) -> list[Row]:
        """Return the newest decisions that show a text with one of these digests, in order."""
        keys = (digest.hex().encode() for digest in digests)
        return self._each(_query(_TEXT, "bytea", f"DESC LIMIT {most:d}"), session, upto, keys)

    def notes(self, session: str, upto: int) -> list[Row]:
        """Return the results of Keepwhole's own tools, in order."""
        return self._rows(_query(_NOTE), upto, session)

    def newest_requests(self, session: str, upto: int, most: int) -> list[Row]:
        """Return the newest requests and responses, in order."""
        return self._rows(_query(_REQUEST, order=f"DESC LIMIT {most:d}"), upto, session)[::-1]

    def _each(self, query: str, session: str, upto: int, wanted: Iterable[Any]) -> list[Row]:
        found: list[Row] = []
        for some in in_parts(dict.fromkeys(wanted), _MANY):
            found += self._rows(query, some, upto, session)
        return sorted(found, key=lambda row: row.seq)

    def _rows(self, query: str, *values: Any) -> list[Row]:
        return [as_row(row) for row in self._server.select(query, values)]


def _query(which: str, kind: str | None = None, order: str = "") -> str:
    """Return a query for entries; with a `kind`, its first value is an array of ids of this type, each looked up."""
    wanted = f", unnest(%s::{kind}[]) AS wanted (id)" if kind else ""
    return (
        f"SELECT {LIGHT} FROM sessions s{wanted}, LATERAL (SELECT * FROM entries e WHERE e.session = s.id "
        f"AND e.seq <= %s AND e.format <> {FORGOTTEN} AND {which} ORDER BY e.seq {order}) e WHERE s.name = %s"
    )
