"""What a store must look like after a migration that may have been killed: old or new, never between."""

import contextlib
import os
import sqlite3
from typing import NamedTuple

from keepwhole.store.sqlite.schema import scripts

OLD = len(scripts())
NEW = OLD + 1
ADDED = (
    "CREATE TABLE added (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;\n"
    "INSERT INTO added SELECT id, hex(chain) FROM entries;\n"
    "CREATE INDEX added_by_text ON added (text);\n"
)
"""The script of a next version, which touches as much as there is."""


class State(NamedTuple):
    """A record file: its version, its entries, and what the next version adds."""

    version: int
    entries: list[tuple[object, ...]]
    added: int | None


def state(path: str) -> State:
    """The state of a sound file."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'added%'")]
        added = connection.execute("SELECT count(*) FROM added").fetchone()[0] if "added" in names else None
        assert len(names) in (0, 2), f"half of a migration: {names}"
        return State(
            connection.execute("PRAGMA user_version").fetchone()[0],
            connection.execute("SELECT seq, header, digest, chain, blob, body FROM entries ORDER BY id").fetchall(),
            added,
        )


def check(path: str, before: State) -> int:
    """The version now; all data is there, and a backup that has its name is whole."""
    now = state(path)
    assert now.entries == before.entries, "a migration changed the record"
    assert now in (before, State(NEW, before.entries, len(before.entries)))
    backup = f"{path}.before-{NEW}"
    if os.path.exists(backup):
        assert state(backup) == before
    assert now.version == OLD or os.path.exists(backup), "migrated without a backup"
    return now.version
