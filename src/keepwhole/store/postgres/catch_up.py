"""Catching an index up with the record, one session at a time, in bounded batches, when somebody asks.

Owns: how far an index has come. An entry's number says when it was committed only within its session, so that is what
is counted. Two who do the same at once do no harm: what is there already is left as it is.
Must not know: what an index holds.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from keepwhole.canonical.entry import Result
from keepwhole.errors import KeepwholeError
from keepwhole.store.blobs.stores import is_away
from keepwhole.store.passages import indexed_text
from keepwhole.store.protocol import is_over

if TYPE_CHECKING:
    from keepwhole.store.postgres.store import PostgresStore

_BATCH_ROWS = 200
_BATCH_CHARS = 4_000_000
_UP_TO = "SELECT up_to FROM indexed WHERE session = %s AND what = %s"
_ROWS = (
    "SELECT seq, header, digest, blocks, body, blob FROM entries WHERE session = %s AND kind = 'result' AND seq > %s "
    "ORDER BY seq LIMIT %s"
)
_DONE = (
    "INSERT INTO indexed (session, what, up_to) VALUES (%s, %s, %s) "
    "ON CONFLICT (session, what) DO UPDATE SET up_to = greatest(indexed.up_to, excluded.up_to)"
)

Words = Iterator[tuple[int, str]]
"""Numbers, each with a `tsvector` written out."""


class Index(NamedTuple):
    """One index: its name, the statement that adds to it, and the words of a result."""

    what: str
    insert: str
    words: Callable[[int, Result, str], Words]


def up_to(store: "PostgresStore", index: Index, session: int) -> int:
    """How far an index has come in a session."""
    rows = store.select(_UP_TO, (session, index.what))
    return rows[0][0] if rows else 0


def catch_up(store: "PostgresStore", index: Index, session: int, until: float | None = None) -> bool:
    """Add what was kept since somebody last asked, a batch a transaction; whether all of it is in the index now."""
    after = up_to(store, index, session)
    try:
        while True:
            last, words = gather(store, index, session, after)
            if last == after:
                return True
            _add(store, index, session, last, words)
            after = last
            if is_over(until):
                return not store.select(_ROWS, (session, after, 1))
    except (psycopg.Error, KeepwholeError):
        return False  # it cannot be written, or the session was purged meanwhile


def gather(store: "PostgresStore", index: Index, session: int, after: int) -> tuple[int, list[tuple[int, str]]]:
    """The number of the last result of the next batch, and the words of the batch."""
    found: list[tuple[int, str]] = []
    done = 0
    for seq, *row in store.select(_ROWS, (session, after, _BATCH_ROWS)):
        own = list(_words(store, index, seq, row))
        found += own
        after = seq
        done += sum(len(words) for _, words in own)
        if done > _BATCH_CHARS:
            break
    return after, found


def _add(store: "PostgresStore", index: Index, session: int, last: int, words: list[tuple[int, str]]) -> None:
    with store.server.transaction(pipelined=True) as execute:
        for number, written in words:
            execute(index.insert, (session, number, f"{written} {quoted(session_mark(session))}"))
        execute(_DONE, (session, index.what, last))


def _words(store: "PostgresStore", index: Index, seq: int, row: Any) -> Words:
    """The words of a row, as the index has them. Unchecked: they are only a hint."""
    try:
        found = indexed_text(store.open, row)
    except KeepwholeError as error:  # a damaged body must not stop a search
        if is_away(error):
            raise
        return
    if found is not None:
        yield from index.words(seq, *found)


def session_mark(session: int) -> str:
    """The word that everything of a session has, so that the index need not be read for others."""
    return f"_s{session}"


def quoted(word: str) -> str:
    """A word as a `tsvector` and a `tsquery` write it."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
