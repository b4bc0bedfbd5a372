"""What the hashes of a record on a server do not cover: `doctor` and `verify` notice it and say what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.apps.cli.main import main
from keepwhole.errors import StoreRefused
from keepwhole.store.verify import verify
from tests.build import NOON, draft
from tests.objects import fresh_bucket
from tests.store.postgres.test_guarded import as_writer, ask, url

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres import schema
from keepwhole.store.postgres.address import address_of
from keepwhole.store.postgres.server import migrate
from keepwhole.store.postgres.store import PostgresStore

__all__ = ["url"]

LONG = "a long result\n" * 10_000
TABLES = ("sessions", "entries", "pieces", "endings", "tombstones", "removals", "indexed", "passages")


@pytest.fixture
def home(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a machine that has written two sessions as the writing role."""
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KEEPWHOLE_STORE", as_writer(url))
    store = writing(url, tmp_path / "home")
    for number in range(3):
        Session("one", store=store, agent="alice").keep("t", None, f"{number}{LONG}", call_id=f"c{number}")
    Session("two", store=store, agent="bob").keep("t", None, "short")
    store.close()
    return tmp_path / "home"


def writing(url: str, home: Path, blobs: str = "") -> PostgresStore:
    return PostgresStore(as_writer(url), str(home), blobs=blobs)


def edit(url: str, *statements: str) -> None:
    """Change the record as its owner can who switches the triggers off and on again."""
    ask(url, "; ".join(["SET session_replication_role = replica", *statements]))


def is_noticed(capsys: pytest.CaptureFixture[str]) -> str:
    """What `doctor` says; it and `verify` notice something."""
    capsys.readouterr()
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert main(["sessions", "verify", "--all"]) != 0
    capsys.readouterr()
    return said


def is_in_order() -> bool:
    return main(["doctor", "--full"]) == 0 and main(["sessions", "verify", "--all"]) == 0


def dump(url: str) -> dict[str, bytes]:
    """The tables of a record, as a dump has them."""
    address, found = address_of(url), dict[str, bytes]()
    with psycopg.connect(address.url) as connection:
        for table in TABLES:
            with connection.cursor().copy(f"COPY {address.schema}.{table} TO STDOUT".encode()) as copied:
                found[table] = b"".join(map(bytes, copied))
    return found


def restore(url: str, dumped: dict[str, bytes]) -> None:
    """Put the tables back as they were in a dump."""
    address = address_of(url)
    with psycopg.connect(address.url) as connection:
        connection.execute(f"SET search_path TO {address.schema}; SET session_replication_role = replica".encode())
        for table, data in dumped.items():
            connection.execute(f"DELETE FROM {table}".encode())
            with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copied:
                copied.write(data)


def test_a_record_as_it_was_left_is_in_order_for_every_role(
    url: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_in_order()
    monkeypatch.setenv("KEEPWHOLE_STORE", url)
    assert is_in_order()


def test_a_record_that_was_made_by_an_earlier_version_is_in_order_after_its_migration(
    url: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier, first = url + "_earlier", schema.scripts()[:6]
    with monkeypatch.context() as patch:
        patch.setattr(schema, "scripts", lambda: first)
        migrate(earlier)
        store = PostgresStore(earlier, str(home))
        Session("s", store=store).keep("t", None, LONG)
        store.close()
    assert migrate(earlier, "keepwhole_writer") == len(schema.scripts()) - len(first)
    monkeypatch.setenv("KEEPWHOLE_STORE", as_writer(earlier))
    assert is_in_order()
    store = PostgresStore(earlier, str(home))
    assert store.forget("s", [1, 2]) == 2
    store.close()
    assert is_in_order()


# What is lost


def test_a_record_restored_from_an_older_dump_is_noticed_and_can_be_accepted(
    url: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = dump(url)
    store = writing(url, home)
    Session("one", store=store).keep("t", None, "more")
    Session("three", store=store).keep("t", None, "new")
    restore(url, older)
    said = is_noticed(capsys)
    assert "went back in time" in said
    assert "`one`: entry 7" in said
    assert "`three`" in said
    assert "--accept" in said
    assert [finding.seq for finding in verify(store, "one").findings] == [7]
    assert verify(store, "two").whole
    with pytest.raises(StoreRefused, match="No body was deleted"):
        store.collect_orphans()
    store.append("one", [draft(store)])
    store.close()
    assert "`one`: entry 7" in is_noticed(capsys), "one that goes on from an earlier entry looks whole"
    assert main(["doctor", "--accept"]) == 0
    assert is_in_order()


def test_another_machine_that_stored_nothing_since_notices_nothing(
    url: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = dump(url)
    store = writing(url, home)
    Session("one", store=store).keep("t", None, "more")
    store.close()
    restore(url, older)
    monkeypatch.setenv("KEEPWHOLE_HOME", str(home.parent / "other"))
    assert main(["doctor"]) == 0


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries e USING sessions s WHERE s.id = e.session AND s.name = 'one' AND e.seq > 2",
        "DELETE FROM entries e USING sessions s WHERE s.id = e.session AND s.name = 'one'",
        "DELETE FROM entries; DELETE FROM sessions",
    ],
)
def test_entries_that_are_gone_are_noticed_though_the_rest_is_a_whole_chain(
    url: str, home: Path, capsys: pytest.CaptureFixture[str], statement: str
) -> None:
    edit(url, statement)
    assert "went back in time" in is_noticed(capsys)


def test_what_others_purge_and_begin_anew_is_no_alarm(url: str, home: Path) -> None:
    other = writing(url, home.parent / "other")
    other.purge("one", NOON)
    assert is_in_order()
    Session("one", store=other, agent="mallory").keep("t", None, "anew")
    assert is_in_order()
    other.purge("two", NOON)
    Session("two", store=other).keep("t", None, "anew")
    other.purge("two", NOON)
    other.open_session(other.session("one") or pytest.fail("it is gone"))
    assert is_in_order()
    other.close()


def test_what_this_machine_purges_and_ends_is_no_alarm(url: str, home: Path) -> None:
    store = writing(url, home)
    store.end("one", 5)
    store.end("one", 6)
    store.purge("two", NOON)
    assert is_in_order()
    Session("two", store=store).keep("t", None, "anew")
    store.close()
    assert is_in_order()


@pytest.mark.parametrize("damage", [b"", b"\0" * 4_096, b"x" * 300_000])
def test_damaged_marks_claim_nothing(url: str, home: Path, damage: bytes) -> None:
    (home / "postgres.marks").write_bytes(damage)
    assert is_in_order()
    store = writing(url, home)
    assert Session("one", store=store).keep("t", None, "x").problem is None
    store.close()


# What is changed

ONE = "FROM sessions s WHERE s.id = e.session AND s.name = 'one' AND e.seq = 3"
EDITS = {
    "at": (f"UPDATE entries e SET at = e.at + 1 {ONE}", 3),
    "call id": (f"UPDATE entries e SET call_id = 'b' {ONE}", 3),
    "no call id": (f"UPDATE entries e SET call_id = NULL {ONE}", 3),
    "stored": (f"UPDATE entries e SET stored = 0 {ONE}", 3),
    "format": (f"UPDATE entries e SET format = 1 {ONE}", 3),
    "key id": (f"UPDATE entries e SET key_id = 'k' {ONE}", 3),
    "minute": (f"UPDATE entries e SET minute = 1 {ONE}", 3),
    "agent": ("UPDATE sessions SET agent = 'mallory' WHERE name = 'one'", 0),
    "workspace": ("UPDATE sessions SET workspace = '/etc' WHERE name = 'one'", 0),
    "created": ("UPDATE sessions SET created_at = 1 WHERE name = 'one'", 0),
    "ephemeral": ("UPDATE sessions SET ephemeral = true WHERE name = 'one'", 0),
    "ending": ("DELETE FROM endings", 0),
    "another ending": ("UPDATE endings SET at = 9", 0),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_column_is_noticed(url: str, home: Path, name: str) -> None:
    statement, seq = EDITS[name]
    store = writing(url, home)
    store.end("one", 5)
    assert verify(store, "one").whole
    edit(url, statement)
    assert seq in [finding.seq for finding in verify(store, "one").findings]
    assert verify(store, "two").whole
    store.close()
    assert main(["sessions", "verify", "--all"]) == 1


SWALLOW = "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
PLANTED = {
    "a trigger": f"{SWALLOW}; CREATE TRIGGER x BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION swallow()",
    "another function of a trigger": f"{SWALLOW}; CREATE OR REPLACE TRIGGER never_changed BEFORE UPDATE ON entries "
    "FOR EACH ROW EXECUTE FUNCTION swallow()",
    "a trigger for some columns": "CREATE OR REPLACE TRIGGER never_changed BEFORE UPDATE OF at ON entries "
    "FOR EACH ROW EXECUTE FUNCTION refuse_change()",
    "a trigger with a condition": "CREATE OR REPLACE TRIGGER never_changed BEFORE UPDATE ON entries "
    "FOR EACH ROW WHEN (false) EXECUTE FUNCTION refuse_change()",
    "a trigger switched off": "ALTER TABLE entries DISABLE TRIGGER never_changed",
    "all triggers switched off": "ALTER TABLE endings DISABLE TRIGGER ALL",
    "no trigger": "DROP TRIGGER only_purged ON entries",
    "a function": "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
    "'BEGIN RETURN NEW; END'",
    "a function as its caller": "ALTER FUNCTION append SECURITY INVOKER",
    "a function with another path": "ALTER FUNCTION append SET search_path = public",
    "a second function": "CREATE FUNCTION purge(text) RETURNS void LANGUAGE sql AS 'SELECT'",
    "a rule": "CREATE RULE x AS ON INSERT TO endings DO INSTEAD NOTHING",
    "a view": "CREATE VIEW x AS SELECT * FROM entries",
    "a table": "CREATE TABLE x (y int)",
    "hidden rows": "ALTER TABLE endings ENABLE ROW LEVEL SECURITY",
    "an index": "DROP INDEX result_by_call",
    "an index that is not unique": "DROP INDEX entry_with_blob; CREATE INDEX entry_with_blob ON entries (blob)",
    "a right": "GRANT INSERT ON entries TO keepwhole_writer",
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_not_ours_in_the_schema_is_noticed(
    url: str, home: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    ask(url, PLANTED[name])
    said = is_noticed(capsys)
    assert "is not Keepwhole's own" in said
    assert "keepwhole store copy" in said
    store = writing(url, home)
    assert not verify(store, "two").whole
    store.close()


def test_a_process_that_runs_on_after_an_upgrade_takes_the_newer_schema_for_no_damage(url: str, home: Path) -> None:
    """Older proxies go on until they are replaced; what the newer version brought into the schema is its own."""
    running = writing(url, home)
    assert verify(running, "one").whole
    newer = f"INSERT INTO migrations (version, needs) VALUES ({len(schema.scripts()) + 1}, '9.9.9')"
    ask(url, f"CREATE TABLE of_the_newer_version (session bigint PRIMARY KEY); {newer}")
    Session("one", store=running).keep("t", None, "after the upgrade")
    assert verify(running, "one").whole
    assert list(running.record_findings()) == []
    running.close()
    with pytest.raises(StoreRefused, match=r"needs Keepwhole 9\.9\.9"):
        writing(url, home).sessions()


def test_a_record_that_is_open_for_deleting_is_noticed_by_its_owner(
    url: str, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(url, "INSERT INTO purging VALUES ('x')")
    monkeypatch.setenv("KEEPWHOLE_STORE", url)
    assert "open for deleting" in is_noticed(capsys)


# Bodies


def test_pieces_that_are_gone_are_noticed(url: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(url, "DELETE FROM pieces")
    said = is_noticed(capsys)
    assert "of session `one`" in said
    assert "are not in the table `pieces`. Restore a backup" in said


def in_folder(folder: Path) -> str:
    return str(folder / "shared")


def in_bucket(folder: Path) -> str:
    return fresh_bucket()


@pytest.mark.parametrize("make", [in_folder, in_bucket])
def test_bodies_that_are_gone_from_outside_are_noticed(
    url: str,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], str],
) -> None:
    blobs = make(home.parent)
    monkeypatch.setenv("KEEPWHOLE_BLOBS", blobs)
    store = writing(url, home, blobs)
    for number in range(5):
        Session("three", store=store).keep("t", None, f"{number}{LONG}")
    assert is_in_order()
    names = [str(row.blob).removeprefix("@") for row in store.rows("three") if row.blob]
    store.blobs.outside().remove(names[1:])
    store.close()
    said = is_noticed(capsys)
    assert "entry 3 of session `three`" in said
    assert "and 1 more are not where `blobs` says" in said
