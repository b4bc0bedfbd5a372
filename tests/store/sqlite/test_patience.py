"""A store whose users have others waiting: what cannot be written soon is not stored, and nobody waits in line."""

import sqlite3
import time
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.errors import NotStored


def test_a_record_that_others_hold_is_given_up_soon_and_tried_again_later(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path), patience=0.2)
    with Session("s", store=store) as session:
        session.keep("read", {}, "one")
        other = sqlite3.connect(tmp_path / "record.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        begun = time.monotonic()
        for _ in range(20):
            assert session.keep("read", {}, "two").problem is not None
        assert time.monotonic() - begun < 1.5, "only the first one waits"
        other.close()
        time.sleep(0.25)
        assert session.keep("read", {}, "three").problem is None
    store.close()


def test_who_waits_for_the_turnstile_gives_up_too(tmp_path: Path) -> None:
    store, other = SqliteStore(str(tmp_path), patience=0.1), SqliteStore(str(tmp_path))
    with Session("s", store=store) as session:
        session.keep("read", {}, "one")
        with other.database.turnstile.held(), pytest.raises(NotStored):
            session.keep("read", {}, "two", on_trouble="raise")
    store.close()
