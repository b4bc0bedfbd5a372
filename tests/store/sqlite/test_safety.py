"""Where the record lies and how its file is opened: private, durable, and never a schema we do not know."""

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.errors import StoreRefused
from keepwhole.store.sqlite.database import connect, needs_turnstile
from keepwhole.store.sqlite.record_folder import file_system
from keepwhole.store.sqlite.schema import APPLICATION_ID, migrate, scripts, statements, version_of
from tests.build import numbered_lines, open_files, opened, run_python


def filled(folder: Path, **options: Any) -> SqliteStore:
    """A store with a small and a large result, closed."""
    store = SqliteStore(str(folder), **options)
    session = Session("s", store=store)
    session.keep("t", None, "short")
    session.keep("t", None, numbered_lines(9_000))
    store.close()
    return store


def modes(folder: Path) -> dict[str, str]:
    """What every file and folder in there is, and who may touch it."""
    return {path.name: stat.filemode(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}


# Private


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_folders_are_0700_and_files_0600_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        store = SqliteStore(str(tmp_path / "deep" / "home"))
        session = Session("s", store=store, ephemeral=True)
        session.keep("t", None, "short")
        session.keep("t", None, numbered_lines(9_000))
        found = modes(tmp_path / "deep")
        store.close()
    finally:
        os.umask(old)
    assert {"record.db", "record.db-wal", "record.lock", "blobs"} <= set(found)
    assert set(found.values()) == {"drwx------", "-rw-------"}


def test_opening_a_store_leaves_the_umask_as_it_was(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        filled(tmp_path / "home")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(old)


def test_a_folder_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o755)
    filled(tmp_path / "home")
    assert modes(tmp_path / "home")["home"] == "drwx------"


def test_a_store_writes_nothing_before_it_is_used(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "home"))
    Session("s", store=store).close()
    store.close()
    assert not (tmp_path / "home").exists()


def test_a_closed_store_holds_no_file_open(tmp_path: Path) -> None:
    filled(tmp_path / "home")
    assert open_files(str(tmp_path)) == []


def test_a_closed_store_holds_no_file_open_though_a_session_was_held(tmp_path: Path) -> None:
    session = Session("s", store=str(tmp_path / "home"), ephemeral=True)
    session.keep("t", None, "short")
    session.close()
    assert open_files(str(tmp_path)) == []


# Refused


@pytest.mark.parametrize("place", ["/proc/keepwhole", "/dev/null/keepwhole"])
def test_a_place_where_no_folder_can_be_is_refused_and_says_what_to_do(place: str) -> None:
    with pytest.raises(StoreRefused, match="KEEPWHOLE_HOME"):
        SqliteStore(place).sessions()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(StoreRefused, match="KEEPWHOLE_HOME"):
        SqliteStore(str(tmp_path / "home")).sessions()
    assert (tmp_path / "home").read_text() == "a file"


def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "record.db").write_bytes(b"this is not a database" * 100)
    with pytest.raises(StoreRefused, match="doctor"):
        SqliteStore(str(tmp_path)).sessions()
    assert (tmp_path / "record.db").read_bytes() == b"this is not a database" * 100


@pytest.mark.parametrize("why", ["no database", "a newer schema"])
def test_a_refused_store_holds_no_file_open(tmp_path: Path, why: str) -> None:
    if why == "no database":
        (tmp_path / "record.db").write_bytes(b"this is not a database" * 100)
    else:
        filled(tmp_path)
        connection = sqlite3.connect(tmp_path / "record.db")
        connection.execute("PRAGMA user_version = 99")
        connection.close()
    store = SqliteStore(str(tmp_path))
    with pytest.raises(StoreRefused):
        store.sessions()
    store.close()
    assert open_files(str(tmp_path)) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs Linux's /proc")
def test_the_file_system_of_a_folder_is_known(tmp_path: Path) -> None:
    assert file_system("/proc") == "proc"
    assert file_system(str(tmp_path)) not in ("", "proc")


# The version of SQLite


@pytest.mark.parametrize(
    ("version", "unsafe"),
    [
        ((3, 40, 1), True),
        ((3, 44, 0), True),
        ((3, 44, 6), True),
        ((3, 50, 4), True),
        ((3, 51, 0), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 52, 0), False),
        ((3, 54, 0), False),
        ((4, 0, 0), False),
    ],
)
def test_the_version_gate_knows_which_sqlite_needs_the_turnstile(version: tuple[int, int, int], unsafe: bool) -> None:
    assert needs_turnstile(version) is unsafe


# Settings of a connection


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("busy_timeout", 30_000),
        ("foreign_keys", 1),
        ("recursive_triggers", 1),
        ("trusted_schema", 0),
        ("cell_size_check", 1),
        ("mmap_size", 0),
        ("temp_store", 2),
        ("journal_size_limit", 67_108_864),
        ("fullfsync", 1),
        ("checkpoint_fullfsync", 1),
        ("secure_delete", 1),
        ("auto_vacuum", 2),
        ("application_id", APPLICATION_ID),
    ],
)
def test_every_safety_is_really_switched_on(tmp_path: Path, pragma: str, value: object) -> None:
    store = SqliteStore(str(tmp_path))
    store.sessions()
    connections: list[Any] = [store.database._writer, store.database._reader]
    for connection in connections:
        assert connection.execute(f"PRAGMA {pragma}").fetchone()[0] == value
    store.close()


def test_the_tables_of_the_record_are_strict(tmp_path: Path) -> None:
    filled(tmp_path)
    connection = sqlite3.connect(tmp_path / "record.db")
    tables = connection.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'").fetchall()
    connection.close()
    ours = ("sessions", "entries", "endings", "tombstones", "purging", "indexed")
    assert {name: strict for name, strict in tables if name in ours} == dict.fromkeys(ours, 1)


# Schema


def test_a_newer_schema_is_refused_and_the_file_left_as_it_is(tmp_path: Path) -> None:
    filled(tmp_path)
    connection = sqlite3.connect(tmp_path / "record.db")
    connection.execute(f"PRAGMA user_version = {len(scripts()) + 1}")
    connection.close()
    before = (tmp_path / "record.db").read_bytes()
    store = SqliteStore(str(tmp_path))
    with pytest.raises(StoreRefused, match="nothing was changed"):
        store.sessions()
    assert (tmp_path / "record.db").read_bytes() == before
    assert all(path.stat().st_size == 0 for path in tmp_path.glob("record.db-wal"))


def test_a_newer_schema_costs_no_result(tmp_path: Path) -> None:
    filled(tmp_path)
    connection = sqlite3.connect(tmp_path / "record.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    shown = Session("s", store=str(tmp_path)).keep("t", None, numbered_lines(9_000))
    assert shown.content == numbered_lines(9_000)
    assert isinstance(shown.problem, StoreRefused)


def test_a_migration_that_breaks_in_the_middle_leaves_the_old_schema_and_all_data(tmp_path: Path) -> None:
    store = filled(tmp_path)
    head = Session("s", store=store).verify().head
    store.close()
    connection = connect(store.path)
    broken = "CREATE TABLE fresh (x) STRICT;\nINSERT INTO indexed VALUES ('no number');\n"
    with pytest.raises(sqlite3.Error):
        migrate(connection, store.path, [*scripts(), broken])
    assert version_of(connection) == len(scripts())
    assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'fresh'").fetchall() == []
    connection.close()
    with Session("s", store=str(tmp_path)) as session:
        after = session.verify()
    assert after.whole
    assert after.head == head


def test_of_several_migrations_those_before_the_broken_one_hold(tmp_path: Path) -> None:
    store = filled(tmp_path)
    connection = connect(store.path)
    with pytest.raises(sqlite3.Error):
        migrate(connection, store.path, [*scripts(), "CREATE TABLE fresh (x INTEGER) STRICT;", "NO SUCH STATEMENT;"])
    assert version_of(connection) == len(scripts()) + 1
    migrate(connection, store.path, [*scripts(), "", "CREATE TABLE second (x INTEGER) STRICT;"])
    assert version_of(connection) == len(scripts()) + 2
    connection.close()


def test_a_file_with_data_is_copied_before_it_is_migrated(tmp_path: Path) -> None:
    store = filled(tmp_path)
    connection = connect(store.path)
    migrate(connection, store.path, [*scripts(), "CREATE TABLE fresh (x INTEGER) STRICT;"])
    connection.close()
    copy = tmp_path / f"record.db.before-{len(scripts()) + 1}"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    old = sqlite3.connect(copy)
    assert old.execute("SELECT count(*) FROM entries").fetchone()[0] == 3
    assert old.execute("PRAGMA user_version").fetchone()[0] == len(scripts())
    old.close()


def test_an_interrupted_first_opening_can_be_done_again(tmp_path: Path) -> None:
    connection = connect(str(tmp_path / "record.db"))
    with pytest.raises(sqlite3.Error):
        migrate(connection, "x", [scripts()[0] + "\nNO SUCH STATEMENT;\n"])
    connection.close()
    store = filled(tmp_path)
    assert Session("s", store=store).verify().whole
    store.close()


def test_a_script_is_split_into_statements_with_its_triggers_whole() -> None:
    found = [statement for script in scripts() for statement in statements(script)]
    assert all(sqlite3.complete_statement(statement) for statement in found)
    assert sum("CREATE TRIGGER" in statement for statement in found) == 9
    assert "".join(found).split() == "".join(scripts()).split()


# Processes

FORK = """
import os, sys
from keepwhole import Session, SqliteStore
store = SqliteStore(sys.argv[1])
session = Session("s", store=store)
session.keep("parent", None, "before")
pids = []
for number in range(3):
    pid = os.fork()
    if pid == 0:
        for turn in range(5):
            shown = session.keep("child", None, f"{number}/{turn} " + "x" * 40_000)
            assert shown.problem is None, shown.problem
        os._exit(0)
    pids.append(pid)
for turn in range(5):
    assert session.keep("parent", None, f"after {turn}").problem is None
assert all(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 for pid in pids)
proof = session.verify()
assert proof.whole, proof.findings
print(len(list(store.rows("s", kind="result"))))
"""
WRITE = """
import sys
from keepwhole import Session, SqliteStore
session = Session("s", store=SqliteStore(sys.argv[1]))
for number in range(15):
    assert session.keep(sys.argv[2], None, str(number)).problem is None
"""


def test_a_forked_child_goes_on_writing_beside_its_parent(tmp_path: Path) -> None:
    assert run_python(FORK, str(tmp_path)).strip() == "21"


def test_several_processes_open_a_fresh_folder_at_once(tmp_path: Path) -> None:
    commands = [[sys.executable, "-c", WRITE, str(tmp_path / "home"), str(number)] for number in range(4)]
    for process in [subprocess.Popen(command) for command in commands]:
        assert process.wait(60) == 0
    store = SqliteStore(str(tmp_path / "home"))
    assert [row.seq for row in store.rows("s")] == list(range(1, 61))
    assert Session("s", store=store).verify().whole
    store.close()


def test_a_session_held_by_another_process_is_in_use_until_it_ends(tmp_path: Path) -> None:
    code = """
import sys
from keepwhole import Session
session = Session("s", store=sys.argv[1], ephemeral=True)
session.keep("t", None, "x")
print("held", flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    store = SqliteStore(str(tmp_path))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert store.is_held("s")
        holder.kill()
    assert not store.is_held("s")
    store.close()


def test_a_session_is_held_where_the_record_is_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("record")
    opened(store, ephemeral=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.hold("s")
    assert store.is_held("s")
    assert SqliteStore(str(tmp_path / "record")).is_held("s")
    store.close()
