"""Removing a session: the one path that deletes. Rows, index and files go; a tombstone stays."""

from typing import TYPE_CHECKING

from holdfast.store.protocol import Tombstone
from holdfast.store.sqlite import search, table
from holdfast.store.sqlite.connection import Transaction, connect

if TYPE_CHECKING:
    from holdfast.store.sqlite.store import SqliteStore


def purge(store: "SqliteStore", session: str, at: int) -> Tombstone:
    """Remove everything of `session`; what other processes see is all of it or none of it."""
    with store.turnstile.held():
        connection = connect(store.path)
        try:
            with Transaction(connection) as execute:
                stone, blobs = _purge_rows(store, execute, session, at)
            store.blobs.remove(blobs)
            connection.execute("PRAGMA incremental_vacuum").fetchall()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.close()
    return stone


def _purge_rows(store: "SqliteStore", execute: table.Execute, session: str, at: int) -> tuple[Tombstone, list[str]]:
    number = table.number_of(execute, session)
    stone = _tombstone(execute, session, number, at)
    blobs = [row[0] for row in execute("SELECT blob FROM entries WHERE session = ? AND blob NOT NULL", (number,))]
    search.forget(store, execute, number)
    execute("INSERT INTO purging VALUES (?)", (number,))
    execute("DELETE FROM entries WHERE session = ?", (number,))
    execute("DELETE FROM endings WHERE session = ?", (number,))
    execute("DELETE FROM sessions WHERE id = ?", (number,))
    execute("DELETE FROM purging")
    execute(
        "INSERT OR REPLACE INTO tombstones (name, seq, chain, at, entries, stored) VALUES (?, ?, ?, ?, ?, ?)",
        (stone.name, stone.seq, stone.chain, stone.at, stone.entries, stone.stored),
    )
    return stone, blobs


def _tombstone(execute: table.Execute, session: str, number: int, at: int) -> Tombstone:
    seq, chain, stored = table.head_of(execute, session, number)
    entries = execute("SELECT count(*) FROM entries WHERE session = ?", (number,)).fetchone()[0]
    return Tombstone(name=session, seq=seq, chain=chain, at=at, entries=entries, stored=stored)
