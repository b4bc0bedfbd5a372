"""What the hashes of a session do not cover: its columns, its description, its end, and whether entries are missing.

Owns: comparing the rows of the record with each other and with its marks (`sqlite.marks`), and with the places of
large bodies.
Must not know: the bytes of bodies and the chain, which `store.verify` checks for every back end.
"""

from collections.abc import Iterator
from typing import Any

from keepwhole.store.blobs.folder import BlobFolder
from keepwhole.store.blobs.stores import MARK, BlobStores
from keepwhole.store.row_check import COLUMNS, LOST_OUTSIDE, compare_columns, describe, name_owners
from keepwhole.store.sqlite.database import Database

_SESSION = """
SELECT s.id, d.at, s.name, s.agent, s.workspace, s.created_at, s.ephemeral
FROM sessions s LEFT JOIN endings d ON d.session = s.id
"""
_ENTRY_WITH = "SELECT s.name, e.seq FROM entries e JOIN sessions s ON s.id = e.session WHERE e.blob = ?"


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


def missing_bodies(database: Database, files: BlobFolder, blobs: BlobStores) -> Iterator[str]:
    """Yield which bodies that an entry has are neither in `files` nor outside, which is listed.

    Raises `StoreError` if that cannot be told.
    """
    names = [
        name for (name,) in database.select("SELECT blob FROM entries WHERE blob IS NOT NULL ORDER BY session, seq")
    ]
    lost = [name for name in names if not name.startswith(MARK) and not files.has(name)]
    if lost:
        yield f"{_owners(database, lost)} in `blobs/`. Put the files back, or restore a backup."
    lost = list(blobs.missing([name for name in names if name.startswith(MARK)]))
    if lost:
        yield f"{_owners(database, lost)} {LOST_OUTSIDE}"


def _owners(database: Database, blobs: list[str]) -> str:
    return name_owners(blobs, lambda blob: database.select(_ENTRY_WITH, (blob,)))


def session_findings(database: Database, session: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers of entries of a session that are not as they were written, and in what; 0 for the session."""
    problem = database.problem()
    for row in database.select(f"{_SESSION} WHERE s.name = ?", (session,)):
        found = list(_compare_with_marks(database, row))
        if problem is not None and not found:
            found = [(0, problem)]
        yield from found
        yield from compare_columns(lambda after: database.select(COLUMNS, (row[0], after)))  # noqa: B023


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
