"""Finding results by their words: a contentless index over the first 256 KB of each text, never on the write path.

The index is caught up in bounded batches when somebody searches. What lies beyond the first 256 KB is scanned.
"""

import re
from typing import TYPE_CHECKING, Any

from keepwhole.canonical.entry import parse_header
from keepwhole.canonical.media import TEXT
from keepwhole.errors import StoreError
from keepwhole.store.blobs.stores import is_away
from keepwhole.store.excerpt import match_of, scan
from keepwhole.store.passages import first_text
from keepwhole.store.protocol import Body, Match, is_over

if TYPE_CHECKING:
    from keepwhole.store.sqlite.store import SqliteStore

_BATCH_ROWS = 200
_BATCH_BYTES = 16_000_000
_WORD = re.compile(r"\w+")
_ROWS = "SELECT id, header, digest, blocks, body, blob FROM entries WHERE kind = 'result'"


def search(store: "SqliteStore", session: str, words: str, limit: int, until: float | None = None) -> list[Match]:
    """Results of `session` that hold all the words, best first; those found before `until`."""
    wanted = _WORD.findall(words.lower())
    if not wanted:
        return []
    is_indexed = catch_up(store, until)
    query = " AND ".join(f'"{word}"*' for word in wanted)
    ranked = store.select(
        "SELECT e.trace_id FROM words JOIN entries e ON e.id = words.rowid JOIN sessions s ON s.id = e.session "
        "WHERE words MATCH ? AND s.name = ? ORDER BY bm25(words), e.seq DESC LIMIT ?",
        (query, session, limit),
    )
    found = [match for (trace_id,) in ranked if (match := match_of(store, session, trace_id, wanted, until))]
    if len(found) < limit:
        seen = {match.trace_id for match in found}
        found += scan(store, session, wanted, seen, limit - len(found), until, large_only=is_indexed)
    return found


def catch_up(store: "SqliteStore", until: float | None = None) -> bool:
    """Index what was kept since the last search, a bounded batch a transaction; the rest another time.

    Whether the record could be read and written; if not, what is not in the index has to be looked through.
    """
    try:
        while not is_over(until) and _add_batch(store, until):
            pass
    except StoreError:
        return False
    return True


def _add_batch(store: "SqliteStore", until: float | None) -> bool:
    """Index some more; whether there was more."""
    with store.writing() as execute:
        up_to = execute("SELECT up_to FROM indexed").fetchone()[0]
        newest, done = up_to, 0
        for row in execute(_ROWS + " AND id > ? ORDER BY id LIMIT ?", (up_to, _BATCH_ROWS)).fetchall():
            newest, text = row[0], _indexed_text(store, row)
            execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (newest, text))
            done += len(text)
            if done > _BATCH_BYTES or is_over(until):
                break
        execute("UPDATE indexed SET up_to = ?", (newest,))
        return newest > up_to


def forget(store: "SqliteStore", execute: Any, session: int) -> None:
    """Take a session out of the index, and its words off the disk; a contentless index wants the same text again."""
    up_to = execute("SELECT up_to FROM indexed").fetchone()[0]
    for row in execute(_ROWS + " AND session = ? AND id <= ?", (session, up_to)).fetchall():
        text = _indexed_text(store, row)
        execute("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (row[0], text))
    execute("INSERT INTO words (words) VALUES ('optimize')")


def _indexed_text(store: "SqliteStore", row: Any) -> str:
    """The text of a row that goes into the index; nothing for what is not text. Unchecked: it is only a hint."""
    _, raw, digest, blocks, inline, blob = row
    try:
        header, facts = parse_header(raw, digest, blocks)
        if getattr(header, "media_type", TEXT) != TEXT:
            return ""
        with store.open(Body(facts, inline, blob)) as reader:
            return first_text(reader)
    except Exception as error:  # a damaged body must neither stop a search nor a purge
        if is_away(error):
            raise
        return ""
