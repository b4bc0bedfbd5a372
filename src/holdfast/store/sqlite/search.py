"""Finding results by their words: a contentless index over the first 256 KB of each text, never on the write path.

The index is caught up in bounded batches when somebody searches. What lies beyond the first 256 KB is scanned.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from holdfast.canonical.entry import parse_header
from holdfast.canonical.media import TEXT
from holdfast.canonical.utf8 import decode, showable
from holdfast.errors import NotStored, StoreError
from holdfast.store.passages import INDEXED_BYTES, first_text
from holdfast.store.protocol import Body, Match, Row, body_of, is_over, result_of
from holdfast.store.reader import BodyReader

if TYPE_CHECKING:
    from holdfast.store.sqlite.store import SqliteStore

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
    found = [match for (trace_id,) in ranked if (match := _match(store, session, trace_id, wanted, until))]
    if len(found) < limit:
        seen = {match.trace_id for match in found}
        found += _scan(store, session, wanted, seen, limit - len(found), until, large_only=is_indexed)
    return found


def catch_up(store: "SqliteStore", until: float | None = None) -> bool:
    """Index what was kept since the last search, a bounded batch a transaction; the rest another time.

    Whether the record could be written; if not, what is not in the index has to be looked through.
    """
    try:
        while not is_over(until) and _add_batch(store, until):
            pass
    except NotStored:
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
    except Exception:  # a damaged body must neither stop a search nor a purge
        return ""


def _match(store: "SqliteStore", session: str, trace_id: str, wanted: list[str], until: float | None) -> Match | None:
    row = store.find(session, trace_id)
    return None if row is None else _match_in(store, row, wanted, until)


def _match_in(store: "SqliteStore", row: Row, wanted: list[str], until: float | None) -> Match | None:
    try:
        return first_match(store.open(body_of(row)), row.trace_id, wanted, until)
    except StoreError:  # one damaged body must not hide the others
        return None


def first_match(reader: BodyReader, trace_id: str, wanted: list[str], until: float | None = None) -> Match | None:
    """The first line with the most of the words, if all of them occur somewhere in the body."""
    missing, most, best = set(wanted), 0, None
    with reader:
        for number, line in _lines(reader, until):
            folded = line.lower()
            here = {word for word in wanted if word in folded}
            if len(here) > most:
                most, best = len(here), Match(trace_id=trace_id, line=number, text=showable(line[:500]))
            missing -= here
            if most == len(wanted):
                break
    return None if missing else best


def _lines(reader: BodyReader, until: float | None) -> Iterator[tuple[int, str]]:
    """The lines of a body with their numbers, in bounded memory however long a line is."""
    number, rest = 1, b""
    eol = reader.facts.eol.encode()
    for chunk in reader.stream():
        if is_over(until):
            return
        *whole, rest = (rest + chunk).split(eol)
        for line in whole:
            yield number, decode(line, "bytes")
            number += 1
        if len(rest) > INDEXED_BYTES:
            yield number, decode(rest, "bytes")
            rest = rest[-256:]
    if rest:
        yield number, decode(rest, "bytes")


def _scan(
    store: "SqliteStore",
    session: str,
    wanted: list[str],
    seen: set[str],
    limit: int,
    until: float | None,
    large_only: bool,
) -> list[Match]:
    """Search what the index does not hold: the bodies that go on after their first 256 KB, or all where it is old."""
    found: list[Match] = []
    for row in store.rows(session, kind="result"):
        if is_over(until):
            break
        if row.trace_id in seen or not _is_text(row) or (large_only and not _goes_on(row)):
            continue
        match = _match_in(store, row, wanted, until)
        if match is not None:
            found.append(match)
            if len(found) >= limit:
                break
    return found


def _goes_on(row: Row) -> bool:
    return body_of(row).facts.size > INDEXED_BYTES


def _is_text(row: Row) -> bool:
    return result_of(row).media_type == TEXT
