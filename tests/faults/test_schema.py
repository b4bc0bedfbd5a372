"""A record of another version: a newer one is refused untouched, a killed migration did all or nothing."""

import contextlib
import hashlib
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.errors import StoreRefused
from tests.faults import isolated
from tests.faults.outputs import INLINE, KINDS, Keeper
from tests.torture import migration
from tests.torture.checks import opened


def some_store(folder: str) -> None:
    with opened(folder) as store:
        keeper = Keeper(Session("kept", store=store))
        for kind in KINDS:
            assert keeper.keep(kind, INLINE)


def digests(folder: str) -> dict[str, str]:
    """Every file of the folder but the lock, and what is in it."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(folder).iterdir()
        if path.name != "record.lock"
    }


def make_newer(folder: str) -> None:
    with contextlib.closing(sqlite3.connect(os.path.join(folder, "record.db"))) as connection:
        connection.execute("PRAGMA user_version = 999")


def test_a_newer_record_is_refused_and_not_changed_by_a_byte(tmp_path: Path) -> None:
    folder = str(tmp_path / "store")
    some_store(folder)
    make_newer(folder)
    before = digests(folder)
    with opened(folder) as store:
        keeper = Keeper(Session("kept", store=store))
        assert not keeper.keep("iterator", INLINE)
        with pytest.raises(StoreRefused, match=r"newer .*Update Keepwhole"):
            store.sessions()
    assert digests(folder) == before


def test_a_newer_record_with_commits_that_are_not_in_it_yet_keeps_them(tmp_path: Path) -> None:
    folder, copy = str(tmp_path / "store"), str(tmp_path / "copy")
    some_store(folder)
    with contextlib.closing(sqlite3.connect(os.path.join(folder, "record.db"))) as connection:
        connection.execute("PRAGMA user_version = 999")
        shutil.copytree(folder, copy)
    before = migration.state(os.path.join(folder, "record.db"))
    with opened(copy) as store, pytest.raises(StoreRefused):
        store.sessions()
    assert migration.state(os.path.join(copy, "record.db")) == before


def test_a_killed_migration_leaves_the_old_or_the_new_schema_and_all_data(tmp_path: Path) -> None:
    some_store(str(tmp_path / "store"))
    isolated.run(isolated.a_migration_is_killed, str(tmp_path))
