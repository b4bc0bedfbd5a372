"""Removing a session: the one path that deletes. Rows, index and files go; a tombstone stays."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from keepwhole.errors import StoreError, UsageError
from keepwhole.store.protocol import Tombstone
from keepwhole.store.sqlite import search, table
from keepwhole.store.sqlite.connection import DATABASE_ERRORS, Transaction, connect

if TYPE_CHECKING:
    from keepwhole.store.sqlite.store import SqliteStore


def purge(store: "SqliteStore", session: str, at: int) -> Tombstone:
    """Remove everything of `session`; what other processes see is all of it or none of it."""
    with _unrestricted(store) as execute:
        stone, blobs = _purge_rows(store, execute, session, at)
    store.blobs.remove(blobs)
    return stone


def _purge_rows(store: "SqliteStore", execute: table.Execute, session: str, at: int) -> tuple[Tombstone, list[str]]:
    from keepwhole.store.sqlite import passages

    number = table.number_of(execute, session)
    stone = _tombstone(execute, session, number, at)
    blobs = [row[0] for row in execute("SELECT blob FROM entries WHERE session = ? AND blob NOT NULL", (number,))]
    store.blobs.reach(blobs)
    search.forget(store, execute, number)
    passages.forget(store, execute, number)
    execute("INSERT INTO purging VALUES (?)", (number,))
    execute("DELETE FROM entries WHERE session = ?", (number,))
    execute("DELETE FROM endings WHERE session = ?", (number,))
    execute("DELETE FROM sessions WHERE id = ?", (number,))
    if stone.seq:
        _bury(execute, stone)
    for caught_up in ("indexed", "passages_indexed"):
        execute(f"UPDATE {caught_up} SET up_to = min(up_to, (SELECT coalesce(max(id), 0) FROM entries))")
    execute("DELETE FROM purging")
    return stone, blobs


def restart(store: "SqliteStore", session: str, seq: int, chain: bytes) -> None:
    """Let a session that has no entries begin after this number and hash."""
    with _unrestricted(store) as execute:
        number = table.number_of(execute, session)
        if execute("SELECT 1 FROM entries WHERE session = ? LIMIT 1", (number,)).fetchone():
            raise UsageError(f"Session `{session}` has entries already; only an empty one can begin elsewhere.")
        execute("INSERT INTO purging VALUES (?)", (number,))
        execute("DELETE FROM tombstones WHERE name = ?", (session,))
        if seq:
            _bury(execute, Tombstone(name=session, seq=seq, chain=chain, at=0, entries=0, stored=0))
        execute("DELETE FROM purging")


def _bury(execute: table.Execute, stone: Tombstone) -> None:
    execute(
        "INSERT OR REPLACE INTO tombstones (name, seq, chain, at, entries, stored) VALUES (?, ?, ?, ?, ?, ?)",
        (stone.name, stone.seq, stone.chain, stone.at, stone.entries, stone.stored),
    )


@contextmanager
def _unrestricted(store: "SqliteStore") -> Generator[table.Execute]:
    """A transaction on a connection that may delete; everything is as it was if it fails."""
    try:
        with store.turnstile.held():
            connection = connect(store.path)
            try:
                with Transaction(connection) as execute:
                    yield execute
                connection.execute("PRAGMA incremental_vacuum").fetchall()
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.close()
    except (*DATABASE_ERRORS, OSError) as error:
        raise StoreError(f"`{store.path}` could not be changed ({error}). Run `keepwhole doctor`.") from error


def _tombstone(execute: table.Execute, session: str, number: int, at: int) -> Tombstone:
    seq, chain, stored = table.head_of(execute, session, number)
    entries = execute("SELECT count(*) FROM entries WHERE session = ?", (number,)).fetchone()[0]
    return Tombstone(name=session, seq=seq, chain=chain, at=at, entries=entries, stored=stored)
