"""What the hashes of a session do not cover: its columns, its description, its end, and whether entries are missing.

Owns: comparing the rows of the record with each other and with its marks (`sqlite.marks`).
Must not know: bodies and the chain, which `store.verify` checks for every back end.
"""

import json
from collections.abc import Iterator
from typing import Any, cast

from keepwhole.store.sql_store import FORGOTTEN, as_bytes
from keepwhole.store.sqlite.database import Database
from keepwhole.store.sqlite.marks import describe

_PAGE = 1_000
_SESSION = """
SELECT s.id, d.at, s.name, s.agent, s.workspace, s.created_at, s.ephemeral
FROM sessions s LEFT JOIN endings d ON d.session = s.id
"""
_COLUMNS = (
    "SELECT seq, kind, at, call_id, stored, format, key_id, header FROM entries "
    f"WHERE session = ? AND seq > ? ORDER BY seq LIMIT {_PAGE}"
)


def record_findings(database: Database) -> Iterator[str]:
    """Yield in what the record as a whole is not as it was left, without reading its entries."""
    problem = database.problem()
    if problem is not None:
        yield problem
    if database.select("SELECT 1 FROM purging"):
        yield "The record is open for deleting: somebody put a row into the table `purging`. Delete that row."
    numbers: set[int] = set()
    for row in database.select(_SESSION):
        numbers.add(row[0])
        for _, what in _compare_with_marks(database, row):
            yield f"Session `{row[2]}`: {what}."
    for number in database.marks.sessions():
        head = None if number in numbers else database.marks.head(number)
        if head is not None:
            yield f"A session with entries up to number {head.seq:,} is gone, and it was not purged."


def session_findings(database: Database, session: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers of entries of a session that are not as they were written, and in what; 0 for the session."""
    problem = database.problem()
    for row in database.select(f"{_SESSION} WHERE s.name = ?", (session,)):
        found = list(_compare_with_marks(database, row))
        if problem is not None and not found:
            found = [(0, problem)]
        yield from found
        yield from _compare_columns(database, row[0])


def _compare_with_marks(database: Database, row: Any) -> Iterator[tuple[int, str]]:
    number, ended_at, *about = row
    marks = database.marks
    head, description, ending = marks.head(number), marks.description(number), marks.ending(number)
    if head is not None:
        query = "SELECT chain FROM entries WHERE session = ? AND seq = ?"
        if database.select(query, (number, head.seq)) != [(head.chain,)]:
            yield head.seq, f"entry {head.seq:,} was stored, and is missing or another one now"
    if description is not None and description != describe(about):
        yield 0, "its name, agent, folder, time or kind was changed"
    if ended_at is None and ending is not None and ending.is_committed:
        yield 0, "it had ended, and is open again"
    if ended_at is not None and description is not None and (ending is None or ending.at != ended_at):
        yield 0, "it did not end, or at another time"


def _compare_columns(database: Database, number: int) -> Iterator[tuple[int, str]]:
    """Yield the entries whose columns do not say what their headers say."""
    after = stored = 0
    while page := database.select(_COLUMNS, (number, after)):
        for seq, kind, at, call_id, total, format, key_id, header in page:
            after = seq
            if format == FORGOTTEN:  # what is left of it is checked with the chain
                stored = total
                if (call_id, key_id) != (None, None):
                    yield seq, "it was forgotten, and has a call id or a key id again"
                continue
            try:
                fields = cast("dict[str, Any]", json.loads(header))
                size, wanted = int(fields["body"][0]), fields.get("call_id") if kind == "result" else None
                columns = {
                    "at": at == fields["at"],
                    "call_id": call_id == (None if wanted is None else as_bytes(wanted)),
                    "stored": total == stored + size,
                    "format": format == 0,
                    "key_id": key_id is None,
                }
            except (ValueError, KeyError, IndexError, TypeError, AttributeError):
                yield seq, "its header cannot be read"
                stored = total if isinstance(total, int) else stored
                continue
            stored += size
            changed = [name for name, is_same in columns.items() if not is_same]
            if changed:
                yield seq, f"these of its columns were changed: {', '.join(changed)}"
