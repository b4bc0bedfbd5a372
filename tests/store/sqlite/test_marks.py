"""A record that lost something, or was changed outside of Keepwhole, is noticed when it is opened, verified, examined.

Nothing is destroyed by looking: the bodies of a record whose rows were lost are the only copies that are left.
"""

import contextlib
import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.apps.cli.main import main
from keepwhole.errors import NotStored, StoreError, StoreRefused
from keepwhole.store.feed import Feed
from keepwhole.store.verify import verify
from tests.build import numbered_lines

LONG = numbered_lines(9_000)
"""A result in a file of its own."""
TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a record with two sessions and five bodies in files."""
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path / "home"))
    with record(tmp_path / "home") as store:
        for number in range(5):
            Session("one", store=store, agent="alice").keep("t", None, f"{number}{LONG}", call_id=f"c{number}")
        Session("two", store=store, agent="bob").keep("t", None, "short")
    return tmp_path / "home"


@contextlib.contextmanager
def record(home: Path) -> Generator[SqliteStore]:
    store = SqliteStore(str(home))
    try:
        yield store
    finally:
        store.close()


def edit(home: Path, *statements: str) -> None:
    """Change the database as somebody would who knows SQLite; the triggers are there again afterwards."""
    with contextlib.closing(sqlite3.connect(home / "record.db")) as connection:
        triggers = connection.execute(TRIGGERS).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in (*statements, *(sql for _, sql in triggers)):
            connection.execute(statement)
        connection.commit()


def age(home: Path) -> None:
    """Let every body be old enough to be collected."""
    for path in (home / "blobs").rglob("*/*"):
        os.utime(path, (time.time() - 9_000, time.time() - 9_000))


def bodies(home: Path) -> set[str]:
    return {path.name for path in (home / "blobs").rglob("*/*")}


def is_noticed(home: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What `doctor` says; it and `verify` notice something, and neither removes a body."""
    age(home)
    before = bodies(home)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert main(["sessions", "verify", "--all"]) != 0
    assert bodies(home) == before
    assert main(["artifacts", "collect", "--all"]) != 0
    assert bodies(home) == before
    capsys.readouterr()
    return said


# What is lost


def empty(home: Path) -> None:
    (home / "record.db").write_bytes(b"")


def unlink(home: Path) -> None:
    (home / "record.db").unlink()


def replace(home: Path) -> None:
    unlink(home)
    with contextlib.closing(sqlite3.connect(home / "record.db")) as connection:
        connection.execute("VACUUM")
    (home / "record.db").chmod(0o600)


@pytest.mark.parametrize("lose", [empty, unlink, replace])
@pytest.mark.parametrize("marked", [True, False])
def test_a_database_that_is_gone_is_not_made_anew_beside_its_bodies(
    home: Path, capsys: pytest.CaptureFixture[str], lose: Callable[[Path], None], marked: bool
) -> None:
    lose(home)
    if not marked:
        (home / "record.marks").unlink()
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    with record(home) as store, pytest.raises(StoreRefused, match="restore"):
        store.sessions()
    assert "missing or empty" in is_noticed(home, capsys)
    assert Session("one", store=str(home)).keep("t", None, LONG).content == LONG
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_a_database_that_is_gone_is_noticed_by_its_marks_alone(home: Path) -> None:
    shutil.rmtree(home / "blobs")
    unlink(home)
    with record(home) as store, pytest.raises(StoreRefused, match="marks"):
        store.sessions()


def test_a_log_beside_an_empty_database_is_not_deleted(tmp_path: Path) -> None:
    with record(tmp_path / "home") as store:
        Session("s", store=store).keep("t", None, "short")
        shutil.copytree(tmp_path / "home", tmp_path / "copy")
    (tmp_path / "copy" / "record.marks").unlink()
    empty(tmp_path / "copy")
    log = (tmp_path / "copy" / "record.db-wal").read_bytes()
    assert log
    with record(tmp_path / "copy") as store, pytest.raises(StoreRefused, match="log"):
        store.sessions()
    assert (tmp_path / "copy" / "record.db-wal").read_bytes() == log


def with_log(home: Path, copy: Path) -> Path:
    """A copy of a record with entries that are in its log alone, one of them a body in a file."""
    with record(home) as store:
        Session("two", store=store).keep("t", None, "in the log")
        Session("two", store=store).keep("t", None, f"in the log {LONG}")
        shutil.copytree(home, copy)
    assert (copy / "record.db-wal").stat().st_size
    return copy


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_a_log_that_was_lost_or_cut_is_noticed(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    copy = with_log(home, home.parent / "copy")
    monkeypatch.setenv("KEEPWHOLE_HOME", str(copy))
    log = copy / "record.db-wal"
    log.write_bytes(log.read_bytes()[: int(log.stat().st_size * share)])
    (copy / "record.db-shm").unlink(missing_ok=True)
    said = is_noticed(copy, capsys)
    assert "went back in time" in said
    assert "--accept" in said
    with record(copy) as store:
        assert verify(store, "one").findings[0].what.startswith("`")
        assert "missing" in verify(store, "two").findings[0].what
        assert Session("one", store=store).keep("t", None, LONG).content == LONG, "hidden in a record that lost entries"
        assert len(list(store.rows("one"))) == 10, "what is left cannot be read"


def test_an_older_copy_of_the_database_is_noticed_and_can_be_accepted(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = (home / "record.db").read_bytes()
    with record(home) as store:
        Session("one", store=store).keep("t", None, "more")
    (home / "record.db").write_bytes(older)
    assert "went back in time" in is_noticed(home, capsys)
    with record(home) as store:
        assert isinstance(Session("one", store=store).keep("t", None, "x").problem, NotStored)
        assert "went back" in str(store.trouble())
        assert main(["doctor", "--accept"]) == 0
        assert Session("one", store=store).keep("t", None, "x").problem is None, "needs a restart to go on"
        assert store.trouble() is None
    assert main(["sessions", "verify", "--all"]) == 0


def test_the_database_of_another_record_is_noticed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with record(home.parent / "other") as store:
        for _ in range(20):
            Session("one", store=store).keep("t", None, "x")
    shutil.copy(home.parent / "other" / "record.db", home / "record.db")
    assert is_noticed(home, capsys)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries WHERE session = 1 AND seq > 6",
        "DELETE FROM entries WHERE session = 1",
        "UPDATE entries SET session = CASE session WHEN 1 THEN 3 ELSE session END",
    ],
)
def test_entries_that_are_gone_are_noticed_though_the_rest_is_a_whole_chain(
    home: Path, capsys: pytest.CaptureFixture[str], statement: str
) -> None:
    edit(home, statement)
    assert is_noticed(home, capsys)
    with record(home) as store:
        assert not verify(store, "one").whole
        assert verify(store, "two").whole


def test_a_session_that_is_gone_without_a_purge_is_noticed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(home, "DELETE FROM entries WHERE session = 1", "DELETE FROM sessions WHERE id = 1")
    assert "not purged" in is_noticed(home, capsys)


def test_a_missing_session_is_not_whole(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with record(home) as store:
        assert not Session("nobody", store=store).verify().whole
        store.purge("one", 1)
        assert Session("one", store=store).verify().whole
    shutil.rmtree(home)
    assert main(["sessions", "verify", "--all"]) != 0
    assert "nothing was verified" in capsys.readouterr().err


# What is changed

EDITS = {
    "at": ("UPDATE entries SET at = at + 1 WHERE session = 1 AND seq = 3", 3),
    "call id": ("UPDATE entries SET call_id = x'62' WHERE session = 1 AND seq = 3", 3),
    "no call id": ("UPDATE entries SET call_id = NULL WHERE session = 1 AND seq = 3", 3),
    "a call id more": ("UPDATE entries SET call_id = x'62' WHERE session = 1 AND seq = 4", 4),
    "stored": ("UPDATE entries SET stored = 0 WHERE session = 1 AND seq = 3", 3),
    "format": ("UPDATE entries SET format = 1 WHERE session = 1 AND seq = 3", 3),
    "key id": ("UPDATE entries SET key_id = 'k' WHERE session = 1 AND seq = 3", 3),
    "agent": ("UPDATE sessions SET agent = 'mallory' WHERE id = 1", 0),
    "no agent": ("UPDATE sessions SET agent = NULL WHERE id = 1", 0),
    "workspace": ("UPDATE sessions SET workspace = '/etc' WHERE id = 1", 0),
    "created": ("UPDATE sessions SET created_at = 1 WHERE id = 1", 0),
    "ephemeral": ("UPDATE sessions SET ephemeral = 1 WHERE id = 1", 0),
    "ending": ("INSERT INTO endings VALUES (1, 5)", 0),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_column_is_noticed(home: Path, name: str) -> None:
    statement, seq = EDITS[name]
    with record(home) as store:
        assert verify(store, "one").whole
    edit(home, statement)
    with record(home) as store:
        assert seq in [finding.seq for finding in verify(store, "one").findings]
        assert verify(store, "two").whole
    assert main(["sessions", "verify", "--all"]) == 1


@pytest.mark.parametrize("statement", ["UPDATE endings SET at = 9", "DELETE FROM endings"])
def test_an_edited_ending_is_noticed(home: Path, statement: str) -> None:
    with record(home) as store:
        store.end("one", 5)
        assert verify(store, "one").whole
    edit(home, statement)
    assert main(["sessions", "verify", "--all"]) == 1
    assert main(["doctor"]) == 1


def test_two_sessions_that_swapped_their_names_are_noticed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swap = "UPDATE sessions SET name = '{}' WHERE id = {}"
    edit(home, swap.format("x", 1), swap.format("one", 2), swap.format("two", 1))
    with record(home) as store:
        assert not verify(store, "one").whole
        assert not verify(store, "two").whole
    assert is_noticed(home, capsys)


@pytest.mark.parametrize(
    "planted",
    [
        "CREATE TRIGGER x BEFORE INSERT ON entries BEGIN SELECT RAISE (IGNORE); END",
        "CREATE TRIGGER x AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE id = NEW.id; END",
        "CREATE TRIGGER x BEFORE INSERT ON sessions BEGIN SELECT RAISE (IGNORE); END",
        "CREATE TRIGGER sessions_x AFTER INSERT ON endings BEGIN SELECT 1; END",
        "CREATE VIEW x AS SELECT * FROM entries",
        "CREATE TABLE x (y)",
        "CREATE INDEX x ON entries (at)",
        "DROP TRIGGER entries_never_change",
        "DROP INDEX result_by_call",
    ],
)
def test_what_is_not_ours_in_the_schema_is_noticed(
    home: Path, capsys: pytest.CaptureFixture[str], planted: str
) -> None:
    with record(home) as store:
        running = Session("one", store=store)
        assert running.keep("t", None, "x").problem is None
        with contextlib.closing(sqlite3.connect(home / "record.db")) as connection:
            connection.execute(planted)
        kept = running.keep("t", None, LONG)
        assert kept.problem is not None or running.recall(str(kept.trace_id)) == LONG, "hidden, and not stored"
    with record(home) as store:
        kept = Session("one", store=store).keep("t", None, LONG)
        assert kept.content == LONG
        assert "schema" in str(kept.problem)
        assert not verify(store, "two").whole
    assert "copy" in is_noticed(home, capsys)


def test_a_changed_copy_of_a_result_for_reading_is_noticed(home: Path) -> None:
    with record(home) as store:
        shown = Session("two", store=store, recall="path").keep("t", None, LONG)
        path = Path(store.files.path_of("two", str(shown.trace_id)))
        assert verify(store, "two").whole
        path.chmod(0o600)
        path.write_text("EVIL INSTRUCTIONS")
        assert str(path) in verify(store, "two").findings[0].what
        path.unlink()
        assert verify(store, "two").whole


# What is no damage


def test_a_record_without_marks_gets_them_and_says_so_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "record.marks").unlink()
    assert main(["doctor"]) == 0
    assert "record.marks" in capsys.readouterr().out
    assert main(["doctor"]) == 0
    assert "record.marks" not in capsys.readouterr().out
    edit(home, "UPDATE sessions SET agent = 'mallory' WHERE id = 1")
    assert main(["doctor"]) == 1


@pytest.mark.parametrize("damage", [b"", b"\0" * 4_096, b"x" * 300])
def test_damaged_marks_claim_nothing(home: Path, damage: bytes) -> None:
    (home / "record.marks").write_bytes(damage)
    assert main(["doctor", "--full"]) == 0
    with record(home) as store:
        assert Session("one", store=store).keep("t", None, "x").problem is None


def test_marks_that_lag_behind_are_no_alarm(home: Path) -> None:
    older = (home / "record.marks").read_bytes()
    with record(home) as store:
        Session("one", store=store).keep("t", None, "x")
        Session("three", store=store).keep("t", None, "x")
    (home / "record.marks").write_bytes(older)
    assert main(["doctor", "--full"]) == 0


def test_purged_sessions_leave_no_alarm_and_their_numbers_are_used_again(home: Path) -> None:
    with record(home) as store:
        store.purge("two", 1)
        store.purge("one", 1)
        for name in ("three", "one", "four"):
            Session(name, store=store).keep("t", None, LONG)
        store.end("four", 8)
        store.purge("four", 9)
        assert not list(store.record_findings())
    assert main(["doctor", "--full"]) == 0


def fail(fd: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_purge_that_did_not_happen_leaves_no_alarm(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with record(home) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            with pytest.raises(StoreError):
                store.purge("one", 1)
        assert verify(store, "one").whole
        assert not list(store.record_findings())


# Orphans


def orphans(home: Path, count: int) -> None:
    with record(home) as store:
        for number in range(count):
            stored = store.blobs.own.write(Feed(f"orphan {number}"), b"", 10_000)
            stored.reader.close()
    age(home)


def test_orphans_are_reported_by_the_doctor_and_moved_by_collect(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = bodies(home)
    orphans(home, 2)
    assert main(["doctor"]) == 0
    assert "artifacts collect" in capsys.readouterr().out
    assert len(bodies(home)) == len(before) + 2
    assert main(["artifacts", "collect"]) == 0
    assert bodies(home) == before
    assert len(list((home / "trash").iterdir())) == 2
    assert main(["doctor", "--full"]) == 0


def test_more_orphans_than_killed_processes_leave_are_not_taken(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orphans(home, 4)
    before = bodies(home)
    assert main(["artifacts", "collect"]) != 0
    assert "4 of 9" in capsys.readouterr().err
    with record(home) as store, pytest.raises(StoreRefused, match="4 of 9 bodies have no entry"):
        store.collect_orphans()
    assert bodies(home) == before
    assert main(["artifacts", "collect", "--all"]) == 0
    assert len(bodies(home)) == 5
