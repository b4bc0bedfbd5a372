"""The text index of the PostgreSQL back end: a table of passages with a GIN index, see `keepwhole.store.passages`.

Owns: bringing the index up to date in bounded batches, one session at a time, and asking it.
Must not know: what a term means.

Each passage is one row with its terms as a `tsvector`, and one more term for its session, so that the GIN index is not
read for other sessions. Entries of different sessions are committed in any order, and numbers say what is new only
within a session: so how far the index has come is recorded per session. Two processes that index the same session at
once are harmless: rows that are there already are left as they are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import psycopg

from keepwhole.errors import KeepwholeError
from keepwhole.store.blobs.stores import is_away
from keepwhole.store.passages import EACH, IndexedPassages, PassageTerms, long_results, stored_passages
from keepwhole.store.postgres.server import Server
from keepwhole.store.protocol import Body, is_over
from keepwhole.store.reader import BodyReader

_BATCH_ROWS = 200
_BATCH_TERMS = 500_000
_MANY = 100_000
_UP_TO = "SELECT up_to FROM indexed WHERE session = %s"
_ROWS = (
    "SELECT seq, header, digest, blocks, body, blob FROM entries WHERE session = %s AND kind = 'result' AND seq > %s "
    "ORDER BY seq LIMIT %s"
)
_INDEX = "SELECT index_passages(%s, %s, %s, %s::bigint[], %s::text[])"
_FIND = (
    "SELECT number FROM passages WHERE words @@ %s::text::tsquery AND session = %s AND number > %s "
    "ORDER BY number DESC LIMIT %s"
)
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM entries WHERE session = %s AND kind = 'result' LIMIT %s) AS counted"
_BEYOND = (  # as the partial index has it, with `passages.LONG` written out
    "SELECT trace_id, header, digest, blocks FROM entries WHERE session = %s AND kind = 'result' "
    "AND length(blocks) > 160 ORDER BY seq DESC LIMIT 100"
)


class TextIndex:
    """The passages of all sessions."""

    def __init__(self, server: Server, open_body: Callable[[Body], BodyReader]) -> None:
        self._server, self._open_body = server, open_body

    def passages(
        self, session: int, task_id: str | None, query_id: str | None, until: float | None
    ) -> "PostgresPassages":
        """Return the passages of a session, or of one task or query of it; the index is brought up to date first."""
        is_all = self._catch_up(session, until)
        found = PostgresPassages(self._server, session, task_id, query_id)
        if not is_all:
            found.indexed_to = self._up_to(session)
            found.add_unindexed(partial(self._gather, until, session), found.indexed_to, until)
        return found

    def _up_to(self, session: int) -> int:
        rows = self._server.select(_UP_TO, (session,))
        return rows[0][0] if rows else 0

    def _catch_up(self, session: int, until: float | None) -> bool:
        """Index the new results of a session, one batch per transaction; return whether all of them are indexed."""
        after = self._up_to(session)
        try:
            while True:
                last, terms = self._gather(until, session, after)
                if last == after:
                    return True
                after = self._add(session, after, last, terms)
                if is_over(until):
                    return not self._server.select(_ROWS, (session, after, 1))
        except (psycopg.Error, KeepwholeError):
            return False  # it cannot be written, or the session was purged meanwhile

    def _gather(self, until: float | None, session: int, after: int) -> tuple[int, PassageTerms]:
        """Return the number of the last result of the next batch, and the passages of the batch.

        The batch is bounded, and ends early when `until` has passed.
        """
        found: PassageTerms = []
        count = 0
        for seq, *row in self._server.select(_ROWS, (session, after, _BATCH_ROWS)):
            own = self._passages_of(seq, row)
            found += own
            after = seq
            count += sum(len(terms) for _, terms in own)
            if count > _BATCH_TERMS or is_over(until):
                break
        return after, found

    def _passages_of(self, seq: int, row: Any) -> PassageTerms:
        """Return the passages of a row, at least an empty one. The row is not checked: the index is only a hint."""
        try:
            return list(stored_passages(self._open_body, seq, row)) or [(seq * EACH, [])]
        except KeepwholeError as error:  # a damaged body must not stop a search
            if is_away(error):
                raise
            return [(seq * EACH, [])]

    def _add(self, session: int, after: int, last: int, passages: PassageTerms) -> int:
        """Put passages into the index; return how far it goes then, which another process may have decided."""
        numbers = [number for number, _ in passages]
        terms = [" ".join(map(_quoted, [*terms, _session_mark(session)])) for _, terms in passages]
        return self._server.ask(_INDEX, (session, after, last, numbers, terms))[0][0]


class PostgresPassages(IndexedPassages):
    """The passages of one session, or of one task or query of it."""

    def __init__(self, server: Server, session: int, task_id: str | None, query_id: str | None) -> None:
        super().__init__(task_id, query_id)
        self._server, self._session = server, session

    def size(self) -> int:
        """Return how many results there are; of very many, the number of the last entry."""
        count: int = self._server.select(_COUNT, (self._session, _MANY))[0][0]
        if count < _MANY:
            return count
        return self._server.select("SELECT max(seq) FROM entries WHERE session = %s", (self._session,))[0][0] or 0

    def _find(self, groups: Sequence[Sequence[str]], most: int, above: int) -> list[int]:
        either = ["(" + " | ".join(map(_quoted, group)) + ")" for group in groups]
        query = " & ".join([_quoted(_session_mark(self._session)), *either])
        return [number for (number,) in self._server.select(_FIND, (query, self._session, above, most))]

    def _trace_ids(self, seqs: Sequence[int]) -> Mapping[int, str]:
        query = "SELECT seq, trace_id FROM entries WHERE session = %s AND seq = ANY(%s)"
        return dict(self._server.select(query, (self._session, list(seqs))))

    def beyond(self) -> Iterator[str]:
        """Yield the trace ids of some of the newest results that are longer than what is indexed, newest first."""
        return long_results(self._server.select(_BEYOND, (self._session,)), self.only)


def _session_mark(session: int) -> str:
    return f"_s{session}"


def _quoted(term: str) -> str:
    """Return a term as a `tsvector` and a `tsquery` write it, a beginning with its star.

    Words and tokens have 64 characters at most, so none is longer than the 2,046 bytes that a lexeme may have.
    """
    start = term.removesuffix("*")
    return "'" + start.replace("\\", "\\\\").replace("'", "''") + ("'" if start == term else "':*")
