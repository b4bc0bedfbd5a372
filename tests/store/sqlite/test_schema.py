"""The schema of a new file is made whole or not at all."""

import sqlite3
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.store.sqlite.schema import migrate, scripts, version_of
from keepwhole.store.verify import verify

FIRST = "CREATE TABLE one (a);\n"


def test_a_new_file_is_made_in_one_transaction(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "record.db", isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, str(tmp_path / "record.db"), [FIRST, "CREATE TABLE one (b);\n"])
    assert version_of(connection) == 0
    migrate(connection, str(tmp_path / "record.db"), [FIRST, "CREATE TABLE two (b);\n"])
    assert version_of(connection) == 2
    assert not list(tmp_path.glob("*.before-*"))


def test_a_file_that_may_have_data_is_copied_before_it_is_changed(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "record.db", isolation_level=None)
    migrate(connection, str(tmp_path / "record.db"), [FIRST])
    migrate(connection, str(tmp_path / "record.db"), [FIRST, "CREATE TABLE two (b);\n", "CREATE TABLE three (c);\n"])
    assert version_of(connection) == 3
    assert [path.name for path in tmp_path.glob("*.before-*")] == ["record.db.before-2"]


def test_what_a_newer_version_brought_in_is_no_alarm_in_a_process_that_was_there_before(tmp_path: Path) -> None:
    Session("s", store=SqliteStore(str(tmp_path))).keep("t", None, "one")
    stranger = sqlite3.connect(tmp_path / "record.db", isolation_level=None)
    stranger.execute("CREATE TABLE of_a_stranger (a)")
    store = SqliteStore(str(tmp_path))
    assert "of_a_stranger" in str(store.database.problem())
    stranger.execute("DROP TABLE of_a_stranger")
    migrate(stranger, str(tmp_path / "record.db"), [*scripts(), "CREATE TABLE of_the_newer_version (a);\n"])
    assert store.database.problem() is None
    Session("s", store=store).keep("t", None, "two")
    assert verify(store, "s").whole
