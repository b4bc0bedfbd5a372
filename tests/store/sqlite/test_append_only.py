"""The record is append-only, twice over: the connection may not, and the file's triggers forbid it."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.store.sqlite.database import connect
from tests.build import numbered_lines


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(str(tmp_path / "home"))
    session = Session("s", store=store)
    session.keep("t", None, "short")
    session.keep("t", None, numbered_lines(500))
    session.end()
    gone = Session("gone", store=store)
    gone.keep("t", None, "short")
    store.purge("gone", 1)
    yield store
    store.close()


def everything(store: SqliteStore) -> list[Any]:
    tables = ("sessions", "entries", "endings", "tombstones")
    return [store.select(f"SELECT * FROM {table}") for table in tables]


CHANGES = [
    "UPDATE entries SET body = x'00'",
    "UPDATE entries SET header = x'00' WHERE seq = 1",
    "UPDATE OR REPLACE entries SET seq = 1 WHERE seq = 2",
    "DELETE FROM entries",
    "DELETE FROM entries WHERE seq = 1",
    "REPLACE INTO entries SELECT * FROM entries WHERE seq = 1",
    "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE seq = 1",
    "INSERT INTO entries SELECT * FROM entries WHERE seq = 1 ON CONFLICT DO UPDATE SET body = x'00'",
    "UPDATE sessions SET name = 'x'",
    "DELETE FROM sessions",
    "REPLACE INTO sessions SELECT * FROM sessions",
]
OF_THE_CONNECTION = [
    "UPDATE endings SET at = 0",
    "DELETE FROM endings",
    "UPDATE tombstones SET chain = x'00'",
    "DELETE FROM tombstones",
    "DROP TABLE entries",
    "DROP TRIGGER entries_never_change",
    "DROP INDEX result_by_trace",
    "ALTER TABLE entries RENAME TO others",
    "ALTER TABLE entries ADD COLUMN more",
    "ATTACH DATABASE ':memory:' AS other",
    "VACUUM INTO '/nowhere/copy.db'",
]


@pytest.mark.parametrize("statement", CHANGES + OF_THE_CONNECTION)
def test_our_own_connection_may_not_change_what_is_on_record(store: SqliteStore, statement: str) -> None:
    before = everything(store)
    writer: Any = store.database._writer
    with pytest.raises(sqlite3.Error):
        writer.execute(statement)
    assert everything(store) == before


@pytest.mark.parametrize("table", ["endings", "tombstones"])
def test_our_own_connection_may_not_replace_an_ending_or_a_tombstone(store: SqliteStore, table: str) -> None:
    before = everything(store)
    writer: Any = store.database._writer
    with pytest.raises(sqlite3.Error):
        writer.execute(f"REPLACE INTO {table} SELECT * FROM {table}")
    assert everything(store) == before


@pytest.mark.parametrize("statement", CHANGES)
def test_the_file_itself_forbids_changes_from_any_connection(store: SqliteStore, statement: str) -> None:
    before = everything(store)
    connection = connect(store.path)
    with pytest.raises(sqlite3.Error, match="append-only"):
        connection.execute(statement)
    connection.close()
    assert everything(store) == before


def test_our_reading_connection_cannot_write_at_all(store: SqliteStore) -> None:
    reader: Any = store.database._reader
    for statement in ("INSERT INTO indexed VALUES (1)", "CREATE TABLE t (x)", *CHANGES):
        with pytest.raises(sqlite3.Error):
            reader.execute(statement)


def test_a_purge_that_fails_halfway_takes_nothing(store: SqliteStore) -> None:
    before = everything(store)
    connection = connect(store.path)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO purging SELECT id FROM sessions")
    connection.execute("DELETE FROM entries")
    connection.execute("ROLLBACK")
    connection.close()
    assert everything(store) == before
    assert Session("s", store=store).verify().whole
