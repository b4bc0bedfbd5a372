"""What a role that writes the record is let do, whatever it asks: add and read, and nothing of anybody else."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from keepwhole.store.verify import verify
from tests.build import NOON, draft, opened
from tests.postgres import fresh_url
from tests.store.postgres.test_guarded import as_writer, filled, url

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres.address import address_of
from keepwhole.store.postgres.store import PostgresStore

__all__ = ["url"]

DERIVED = {"passages", "indexed"}
"""Tables that can be made again from the record, and are."""
ON_A_TABLE = (
    "DELETE FROM {0}",
    "TRUNCATE {0}",
    "TRUNCATE {0} CASCADE",
    "DROP TABLE {0} CASCADE",
    "ALTER TABLE {0} ADD COLUMN more text",
    "ALTER TABLE {0} DISABLE TRIGGER ALL",
    "ALTER TABLE {0} OWNER TO CURRENT_USER",
    "ALTER TABLE {0} RENAME TO other",
    "CREATE TRIGGER mine BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION refuse_change()",
    "CREATE RULE mine AS ON INSERT TO {0} DO INSTEAD NOTHING",
    "CREATE INDEX mine ON {0} ((1))",
)
ON_THE_SERVER = (
    "CREATE TABLE mine (x int)",
    "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "ALTER FUNCTION purge SECURITY INVOKER",
    "DROP FUNCTION refuse_unless_purged() CASCADE",
    "SET session_replication_role = replica",
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION postgres",
    "INSERT INTO purging VALUES ('s')",
    "INSERT INTO tombstones VALUES ('s', 9, '', 0, 0, 0)",
    "INSERT INTO migrations VALUES (999)",
    "INSERT INTO removals (what, name) VALUES ('sessions', 's')",
    "SELECT * FROM removals",
    "INSERT INTO endings VALUES (1, 1) ON CONFLICT (session) DO UPDATE SET at = 0",
    "SELECT 1 FROM entries FOR UPDATE",
    "COPY entries TO PROGRAM 'cat'",
    "UPDATE pg_trigger SET tgenabled = 'D'",
)


@pytest.fixture
def asks(url: str) -> Iterator[Callable[[str], Any]]:
    """Asks the server directly as the role that writes; gives the rows."""
    address = address_of(as_writer(url))
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {address.schema}".encode())

        def ask(query: str) -> Any:
            told = connection.execute(query.encode())
            return told.fetchall() if told.description else None

        yield ask


def tables(url: str) -> list[str]:
    address = address_of(url)
    with psycopg.connect(address.url, autocommit=True) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1"
        return [name for (name,) in connection.execute(query, (address.schema,)).fetchall()]


def columns(asks: Callable[[str], Any], table: str) -> list[str]:
    query = "SELECT attname FROM pg_attribute WHERE attrelid = '{}'::regclass AND attnum > 0 AND NOT attisdropped"
    return [name for (name,) in asks(query.format(table))]


def test_no_statement_on_any_canonical_table_changes_it(url: str, asks: Callable[[str], Any], tmp_path: Path) -> None:
    store = filled(url, tmp_path)
    before = verify(store, "s")
    tried = 0
    canonical = [table for table in tables(url) if table not in DERIVED]
    for table in canonical:
        updates = [f"UPDATE {table} SET {column} = {column}" for column in columns(asks, table)]
        for statement in [*(each.format(table) for each in ON_A_TABLE), *updates]:
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.GeneratedAlways)):
                asks(statement)
            tried += 1
        with suppress(psycopg.errors.InsufficientPrivilege):  # else it does nothing
            asks(f"GRANT ALL ON {table} TO PUBLIC")
        rights = "'UPDATE, DELETE, TRUNCATE, TRIGGER, REFERENCES'"
        assert asks(f"SELECT has_table_privilege('{table}', {rights})") == [(False,)]
    assert {"sessions", "entries", "pieces", "endings", "tombstones", "removals"} <= set(canonical)
    assert tried > 100
    assert verify(store, "s") == before
    store.close()


@pytest.mark.parametrize("statement", ON_THE_SERVER)
def test_no_way_around_it_is_open(url: str, asks: Callable[[str], Any], tmp_path: Path, statement: str) -> None:
    filled(url, tmp_path).close()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        asks(statement)


def test_the_functions_that_delete_take_nothing_that_is_on_record_but_whole_sessions(
    url: str, asks: Callable[[str], Any], tmp_path: Path
) -> None:
    store = filled(url, tmp_path)
    before = verify(store, "s")
    for (blob,) in asks("SELECT blob FROM entries WHERE blob IS NOT NULL"):
        assert asks(f"SELECT condemn(ARRAY['{blob}'])") == []
        assert asks(f"SELECT remove(ARRAY['{blob}'])") == [(0,)]
    assert asks("SELECT restart('s', 0, '')") == [(False,)]
    assert asks("SELECT * FROM purge('nobody', 0)") == []
    assert asks("SELECT * FROM purge('s'' OR true --', 0)") == []
    assert verify(store, "s") == before
    store.close()


def test_nobody_takes_away_a_session_or_its_tombstone_without_a_trace(url: str, tmp_path: Path) -> None:
    store = PostgresStore(as_writer(url), str(tmp_path))
    opened(store)
    store.append("s", [draft(store)])
    store.purge("s", NOON)
    opened(store)
    store.restart("s", 0, b"")
    assert store.tombstones() == []
    address = address_of(url)
    with psycopg.connect(address.url, autocommit=True) as owner:
        owner.execute(f"SET search_path TO {address.schema}".encode())
        noted = owner.execute("SELECT what, name, seq, by FROM removals ORDER BY id").fetchall()
        assert noted == [("session", "s", 1, "keepwhole_writer"), ("tombstone", "s", 1, "keepwhole_writer")]
        for statement in ("DELETE FROM removals", "UPDATE removals SET by = 'me'", "TRUNCATE removals"):
            with pytest.raises(psycopg.Error, match="append-only"):
                owner.execute(statement.encode())
    store.close()


def test_a_role_of_one_record_has_no_way_into_another(url: str, asks: Callable[[str], Any], tmp_path: Path) -> None:
    theirs = fresh_url()
    store = filled(theirs, tmp_path)
    schema = address_of(theirs).schema
    statements = [f"SELECT * FROM {schema}.{table}" for table in tables(theirs)]
    statements += [f"INSERT INTO {schema}.{table} DEFAULT VALUES" for table in tables(theirs)]
    statements += [f"SELECT {schema}.purge('s', 0)", f"SELECT {schema}.restart('s', 0, '')"]
    statements += [f"SELECT {schema}.condemn(ARRAY['x'])", f"SELECT {schema}.remove(ARRAY['x'])"]
    for statement in statements:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            asks(statement)
    assert store.sessions()[0].entries == 3
    store.close()
