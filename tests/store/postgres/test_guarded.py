"""What the server itself refuses: to change what is on record, and to us, to be less than safe."""

import os
from pathlib import Path

import pytest

from keepwhole.apps.cli.main import main
from keepwhole.errors import ConfigError, Damaged, QuotaExceeded, StoreRefused
from keepwhole.store.feed import Feed
from keepwhole.store.verify import verify
from tests.build import NOON, decision, draft, opened, stored_bytes
from tests.postgres import fresh_url, running

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres.address import address_of, redacted
from keepwhole.store.postgres.server import migrate
from keepwhole.store.postgres.store import PostgresStore

KEPT = ("sessions", "entries", "pieces", "endings", "tombstones", "record", "condemned")
WRITER = "keepwhole_writer"


def ask(url: str, query: str, user: str = "postgres") -> None:
    """Ask the server directly, in the record's schema."""
    address = address_of(url.replace("postgres:@", f"{user}@"))
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {address.schema}".encode())
        connection.execute(query.encode())


def filled(url: str, folder: Path) -> PostgresStore:
    """A record with something in every table."""
    store = PostgresStore(url, str(folder))
    opened(store)
    store.append("s", [subject := draft(store), decision(subject.header.trace_id), draft(store, b"x" * 100_000)])
    store.end("s", 5)
    opened(store, "gone")
    store.append("gone", [draft(store)])
    store.purge("gone", NOON)
    store.discard(draft(store, b"y" * 1_100_000).body)
    return store


@pytest.fixture
def url() -> str:
    """The address of a record that a role of its own may write to."""
    admin = running().get_uri()
    with psycopg.connect(admin, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (WRITER,)).fetchone():
            connection.execute(f"CREATE ROLE {WRITER} LOGIN".encode())
        connection.execute(f"ALTER ROLE {WRITER} RESET ALL".encode())
    return fresh_url(WRITER)


def as_writer(url: str) -> str:
    return url.replace("postgres:@", f"{WRITER}@")


@pytest.mark.parametrize("table", KEPT)
def test_even_the_owner_cannot_change_or_empty_what_is_on_record(url: str, tmp_path: Path, table: str) -> None:
    store = filled(url, tmp_path)
    column = {"pieces": "blob", "condemned": "blob", "record": "id", "entries": "at", "endings": "at"}.get(
        table, "name"
    )
    for query in (f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}", f"TRUNCATE {table} CASCADE"):
        with pytest.raises(psycopg.Error, match="append-only"):
            ask(url, query)
    assert verify(store, "s").whole
    store.close()


@pytest.mark.parametrize("table", KEPT)
def test_a_role_that_writes_has_no_right_to_change_or_delete(url: str, tmp_path: Path, table: str) -> None:
    filled(url, tmp_path).close()
    for query in (f"UPDATE {table} SET at = at", f"DELETE FROM {table}", f"TRUNCATE {table}", f"DROP TABLE {table}"):
        with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedColumn)):
            ask(url, query, WRITER)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(url, "INSERT INTO purging VALUES ('s')", WRITER)


def test_a_role_that_writes_can_do_all_that_a_store_does(url: str, tmp_path: Path) -> None:
    store = filled(as_writer(url), tmp_path)
    assert verify(store, "s").whole
    assert len(store.search("s", "body")) == 1
    assert store.passages("s").size() == 2
    store.discard(store.store_body(Feed(b"y" * 50_000), 1 << 20).body)
    opened(store, "fleeting", ephemeral=True)
    store.hold("fleeting")
    assert store.is_held("fleeting")
    assert store.purge("s", NOON).entries == 3
    store.close()


@pytest.mark.parametrize("setting", ["off", "local", "remote_write"])
def test_a_server_that_says_stored_too_early_is_refused(url: str, tmp_path: Path, setting: str) -> None:
    ask(url, f"ALTER ROLE {WRITER} SET synchronous_commit = {setting}")
    store = PostgresStore(as_writer(url), str(tmp_path))
    with pytest.raises(StoreRefused, match="synchronous_commit"):
        store.sessions()


def test_a_record_that_was_not_made_yet_says_how_to_make_it(url: str, tmp_path: Path) -> None:
    store = PostgresStore(url + "_none", str(tmp_path))
    with pytest.raises(StoreRefused, match="keepwhole store migrate"):
        store.sessions()


def test_a_record_of_a_later_version_is_left_alone(url: str, tmp_path: Path) -> None:
    ask(url, "INSERT INTO migrations VALUES (999)")
    with pytest.raises(StoreRefused, match="newer"):
        PostgresStore(url, str(tmp_path)).sessions()
    with pytest.raises(StoreRefused, match="newer"):
        migrate(url)


def test_migrating_again_changes_nothing(url: str, tmp_path: Path) -> None:
    store = filled(url, tmp_path)
    before = verify(store, "s")
    assert migrate(url) == 0
    assert verify(store, "s") == before
    store.close()


def test_a_role_that_writes_still_can_when_the_owner_has_migrated_the_record(url: str, tmp_path: Path) -> None:
    ask(url, f"REVOKE ALL ON FUNCTION purge, put_piece FROM {WRITER}; REVOKE ALL ON entries FROM {WRITER}")
    migrate(url)
    store = filled(as_writer(url), tmp_path)
    assert verify(store, "s").whole
    store.close()


def test_an_append_of_many_entries_is_one_though_it_goes_in_parts(url: str, tmp_path: Path) -> None:
    store = PostgresStore(url, str(tmp_path))
    opened(store)
    first = draft(store, b"known", call_id="call 0")
    store.append("s", [first])
    again = draft(store, b"known", call_id="call 0")
    others = [draft(store, call_id=f"call {number}") for number in range(1, 700)]
    drafts = [again, *others, decision(again.header.trace_id), decision(others[0].header.trace_id)]
    entries = store.append("s", drafts, once=True)
    assert [entry.seq for entry in entries] == list(range(1, 702))
    assert entries[0].header.trace_id == first.header.trace_id
    large = [draft(store, b"%d" % number * 900_000) for number in range(1, 10)]
    with pytest.raises(QuotaExceeded):
        store.append("s", large, quota=8_000_000)
    assert len(list(store.rows("s"))) == 701
    store.append("s", large)
    assert verify(store, "s").whole
    assert [stored_bytes(store, row)[:1] for row in store.rows("s", after=701)] == [b"%d" % n for n in range(1, 10)]
    store.close()


def test_a_server_that_does_not_chain_what_it_was_sent_is_noticed(url: str, tmp_path: Path) -> None:
    store = PostgresStore(url, str(tmp_path))
    opened(store)
    definition = "SELECT replace(pg_get_functiondef('next_chain'::regproc), '686631', '686632')"
    ask(url, f"DO $$ BEGIN EXECUTE ({definition.replace('$$', '')}); END $$")
    with pytest.raises(Damaged, match="not written as it was sent"):
        store.append("s", [draft(store)])
    store.close()
    with pytest.raises(StoreRefused, match="do not do what this Keepwhole expects"):
        store.append("s", [draft(store)])


def test_collect_removes_bodies_that_nothing_refers_to_and_no_others(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    store = filled(url, tmp_path)
    draft(store, b"z" * 1_100_000)
    assert store.collect_orphans() == 0
    ask(url, "SET session_replication_role = replica; UPDATE pieces SET at = at - interval '2 hours'")
    monkeypatch.setenv("KEEPWHOLE_STORE", url)
    assert main(["doctor", "--full"]) == 0
    assert main(["artifacts", "collect"]) == 0
    assert "1 body without an entry: removed" in capfd.readouterr().out
    assert verify(store, "s").whole
    store.close()


def test_a_forked_child_does_not_disturb_its_parent(url: str, tmp_path: Path) -> None:
    store = filled(url, tmp_path)
    opened(store, "fleeting", ephemeral=True)
    store.hold("fleeting")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.append("s", [draft(store, b"from the child")])
            store.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert store.is_held("fleeting")
    store.append("s", [draft(store, b"from the parent")])
    assert [stored_bytes(store, row) for row in store.rows("s", after=3)] == [b"from the child", b"from the parent"]
    assert verify(store, "s").whole
    store.close()


SECRET = "s3cr%40t%2Fp"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/db",
        f"postgresql://127.0.0.1:1/db?user=me&password={SECRET}",
        "postgresql://me:s3cr@t/p@127.0.0.1:1/db",
        "postgresql://me:s3cr[t/p@127.0.0.1:1/db",
        "postgresql://me:s3crt/p:x@127.0.0.1:1/db",
        "postgresql://me:x?s3crt@127.0.0.1:1/db",
        "postgresql://me:x#s3crt@127.0.0.1:1/db",
        "postgresql://me:s3crt",
        f"postgres://me:{SECRET}@127.0.0.1:port/db",
    ],
)
def test_no_password_is_in_an_error_or_in_what_is_shown(url: str, tmp_path: Path) -> None:
    assert "s3cr" not in redacted(url)
    with pytest.raises((StoreRefused, ConfigError)) as refused:
        PostgresStore(url, str(tmp_path)).sessions()
    error: BaseException | None = refused.value
    while error is not None:
        assert "s3cr" not in str(error)
        error = error.__cause__


@pytest.mark.parametrize("schema", ["A", "a b", "a;b", 'a"', "x" * 64, "1a"])
def test_a_schema_with_an_odd_name_is_refused(schema: str) -> None:
    with pytest.raises(ConfigError, match="schema"):
        address_of(f"postgresql://h/db?schema={schema}")


def test_the_schema_is_the_one_asked_for() -> None:
    assert address_of("postgresql://h/db").schema == "keepwhole"
    assert address_of("postgresql://h/db?options=-csearch_path%3Dmine").schema == "mine"
    assert address_of("postgresql://h/db?schema=ours&sslmode=require")[:2] == (
        "postgresql://h/db?sslmode=require",
        "ours",
    )
