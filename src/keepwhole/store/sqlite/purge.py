"""Removing a session or single entries of it: the one path that deletes. Rows, index and files go; hashes remain."""

import hashlib
from collections.abc import Sequence

from keepwhole.errors import UsageError
from keepwhole.store.blobs.stores import BlobStores
from keepwhole.store.protocol import Row, Tombstone
from keepwhole.store.sql_store import FORGOTTEN, Execute
from keepwhole.store.sqlite import table
from keepwhole.store.sqlite.database import Database
from keepwhole.store.sqlite.text_index import TextIndex

_TO_FORGET = (
    "SELECT id, seq, kind, trace_id, artifact_id, at, stored, previous, header, digest, chain, blob FROM entries "
    "WHERE session = ? AND seq = ? AND format <> ?"
)
_INSERT_FORGOTTEN = (
    "INSERT INTO entries (id, session, seq, kind, trace_id, artifact_id, at, stored, previous, header, digest, chain, "
    "format, blocks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, x'')"
)


def purge(database: Database, index: TextIndex, blobs: BlobStores, session: str, at: int) -> Tombstone:
    """Remove everything of `session`; other processes see all of it or none of it."""
    with database.deleting() as execute:
        number = table.number_of(execute, session)
        stone = _tombstone(execute, session, number, at)
        names = [row[0] for row in execute("SELECT blob FROM entries WHERE session = ? AND blob NOT NULL", (number,))]
        blobs.check_reachable(names)
        index.forget(execute, number)
        execute("INSERT INTO purging VALUES (?)", (number,))
        execute("DELETE FROM entries WHERE session = ?", (number,))
        execute("DELETE FROM endings WHERE session = ?", (number,))
        execute("DELETE FROM sessions WHERE id = ?", (number,))
        if stone.seq:
            _insert_tombstone(execute, stone)
        execute("UPDATE indexed SET up_to = min(up_to, (SELECT coalesce(max(id), 0) FROM entries))")
        execute("DELETE FROM purging")
        database.marks.lower(number, database.last_entry(lambda query: execute(query).fetchall()))
    blobs.remove(names)
    return stone


def forget(database: Database, index: TextIndex, blobs: BlobStores, session: str, seqs: Sequence[int]) -> int:
    """Remove these entries of `session`, all or none, but for their numbers and hashes; return how many.

    What they said is neither in the file nor in its log afterwards. Raises `StoreError` if another process reads the
    log just then; the entries are removed all the same, and so is the log when that process ends. It is also raised if
    a body outside could not be deleted.
    """
    names: list[str] = []
    with database.deleting() as execute:
        number = table.number_of(execute, session)
        rows = [row for seq in seqs if (row := execute(_TO_FORGET, (number, seq, FORGOTTEN)).fetchone())]
        names = [row[-1] for row in rows if row[-1] is not None]
        blobs.check_reachable(names)
        index.forget(execute, number, seqs)
        execute("INSERT INTO purging VALUES (?)", (number,))
        for id, seq, kind, trace_id, artifact_id, at, stored, previous, header, digest, chain, _ in rows:
            execute("DELETE FROM entries WHERE id = ?", (id,))
            left = (id, number, seq, kind, trace_id, artifact_id, at, stored, previous)
            execute(_INSERT_FORGOTTEN, (*left, hashlib.sha256(header).digest(), digest, chain, FORGOTTEN))
        execute("DELETE FROM purging")
    database.empty_log()
    blobs.remove_for_good(names)
    return len(rows)


def insert_forgotten(execute: Execute, number: int, row: Row, stored: int) -> int:
    """Add what is left of an entry of another record, and return its row id."""
    left = (None, number, row.seq, row.kind, row.trace_id, row.artifact_id, 0, stored, row.previous)
    return execute(_INSERT_FORGOTTEN, (*left, row.header, row.digest, row.chain, FORGOTTEN)).lastrowid


def restart(database: Database, session: str, seq: int, chain: bytes) -> None:
    """Let a session without entries begin after this number and hash."""
    with database.deleting() as execute:
        number = table.number_of(execute, session)
        if execute("SELECT 1 FROM entries WHERE session = ? LIMIT 1", (number,)).fetchone():
            raise UsageError(f"Session `{session}` has entries already; only an empty one can begin elsewhere.")
        execute("INSERT INTO purging VALUES (?)", (number,))
        execute("DELETE FROM tombstones WHERE name = ?", (session,))
        if seq:
            _insert_tombstone(execute, Tombstone(name=session, seq=seq, chain=chain, at=0, entries=0, stored=0))
        execute("DELETE FROM purging")


def _insert_tombstone(execute: Execute, stone: Tombstone) -> None:
    execute(
        "INSERT OR REPLACE INTO tombstones (name, seq, chain, at, entries, stored) VALUES (?, ?, ?, ?, ?, ?)",
        (stone.name, stone.seq, stone.chain, stone.at, stone.entries, stone.stored),
    )


def _tombstone(execute: Execute, session: str, number: int, at: int) -> Tombstone:
    seq, chain, stored = table.head_of(execute, session, number)
    entries = execute("SELECT count(*) FROM entries WHERE session = ?", (number,)).fetchone()[0]
    return Tombstone(name=session, seq=seq, chain=chain, at=at, entries=entries, stored=stored)
