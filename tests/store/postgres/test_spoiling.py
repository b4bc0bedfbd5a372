"""Servers, databases and schemas that would spoil a record are refused, or cannot."""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.errors import StoreRefused
from keepwhole.store.verify import verify
from tests.build import draft, opened
from tests.postgres import fresh_url, running
from tests.store.postgres.test_guarded import WRITER, as_writer, ask, url

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres import schema
from keepwhole.store.postgres.server import migrate
from keepwhole.store.postgres.store import PostgresStore

__all__ = ["url"]

TEXTS = (
    "plain",
    "caf\u00e9",
    "\u65e5\u672c\u8a9e\u306e\u7d50\u679c",
    "\u043f\u0440\u0438\u0432\u0435\u0442",
    "back\\slash \\x41",
)


@contextmanager
def database(encoding: str) -> Generator[str]:
    """The address of a database with this encoding."""
    name = f"in_{encoding.lower()}_{os.getpid()}"
    with psycopg.connect(running().get_uri(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0".encode())
        try:
            yield running().get_uri().replace("/postgres?", f"/{name}?")
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1", "WIN1251", "EUC_JP"])
def test_a_database_in_which_not_every_text_can_be_stored_is_refused(encoding: str, tmp_path: Path) -> None:
    with database(encoding) as url:
        for act in (lambda: migrate(url), PostgresStore(url, str(tmp_path)).sessions):
            with pytest.raises(StoreRefused, match=rf"encoding {encoding}.*ENCODING 'UTF8'"):
                act()


HARMLESS = (
    "standard_conforming_strings = off",
    "client_encoding = 'LATIN1'",
    "client_encoding = 'SQL_ASCII'",
    "bytea_output = 'escape'",
    "default_transaction_isolation = 'serializable'",
    "default_transaction_read_only = on",
    "statement_timeout = '500ms'",
    "search_path = 'nowhere'",
    "array_nulls = off",
    "transform_null_equals = on",
    "quote_all_identifiers = on",
    "DateStyle = 'German'",
)


@pytest.mark.parametrize("setting", HARMLESS)
def test_a_setting_of_the_role_changes_nothing_of_what_is_stored(url: str, tmp_path: Path, setting: str) -> None:
    ask(url, f"ALTER ROLE {WRITER} SET {setting}")
    store = PostgresStore(as_writer(url), str(tmp_path))
    session = Session("s", store=store, agent=TEXTS[2])
    for text in TEXTS:
        shown = session.keep(text, {"text": text}, text)
        assert session.recall(str(shown.trace_id)) == text
        assert store.search("s", text.split()[0])
    assert verify(store, "s").whole
    store.close()


def test_a_limit_of_the_role_on_the_time_of_statements_ends_none_of_ours(url: str, tmp_path: Path) -> None:
    ask(url, f"ALTER ROLE {WRITER} SET statement_timeout = '500ms'")
    store = PostgresStore(as_writer(url), str(tmp_path))
    assert store.server.select("SELECT 1 FROM pg_sleep(0.7)") == [(1,)]
    store.close()


@pytest.mark.parametrize("value", ["replica", "local"])
def test_a_role_without_triggers_is_refused(value: str, tmp_path: Path) -> None:
    role, record = f"no_triggers_{value}_{os.getpid()}", fresh_url()
    with psycopg.connect(running().get_uri(), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN SUPERUSER".encode())
        admin.execute(f"ALTER ROLE {role} SET session_replication_role = {value}".encode())
    with pytest.raises(StoreRefused, match="session_replication_role"):
        PostgresStore(record.replace("postgres:@", f"{role}@"), str(tmp_path)).sessions()


def test_no_script_has_a_backslash_whose_meaning_is_a_setting() -> None:
    assert [script for script in schema.scripts() if "\\" in script] == []
    assert re.search(r"SECURITY DEFINER(?! SET search_path FROM CURRENT)", "\n".join(schema.scripts())) is None


def test_a_schema_that_belongs_to_somebody_else_is_refused() -> None:
    record = fresh_url() + "_theirs"
    name = record.rpartition("schema=")[2]
    with psycopg.connect(running().get_uri(), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE tenant_{os.getpid()}".encode())
        admin.execute(f"CREATE SCHEMA {name} AUTHORIZATION tenant_{os.getpid()}".encode())
        with pytest.raises(StoreRefused, match=r"belongs to `tenant_.*as the schema's owner"):
            migrate(record)
        admin.execute(f"ALTER SCHEMA {name} OWNER TO CURRENT_USER".encode())
        admin.execute(f"GRANT CREATE ON SCHEMA {name} TO PUBLIC".encode())
        with pytest.raises(StoreRefused, match="lets `PUBLIC` create in it"):
            migrate(record)
        assert admin.execute("SELECT to_regclass(%s)", (f"{name}.entries",)).fetchone() == (None,)
        admin.execute(f"REVOKE CREATE ON SCHEMA {name} FROM PUBLIC".encode())
        assert migrate(record) == len(schema.scripts())


def test_rights_that_new_tables_get_by_default_are_taken_from_the_writing_role(url: str, tmp_path: Path) -> None:
    record = fresh_url() + "_default"
    with psycopg.connect(running().get_uri(), autocommit=True) as admin:
        admin.execute(f"ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO {WRITER}, PUBLIC".encode())
        try:
            migrate(record, WRITER)
        finally:
            admin.execute(f"ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM {WRITER}, PUBLIC".encode())
    store = PostgresStore(as_writer(record), str(tmp_path))
    opened(store)
    store.append("s", [draft(store)])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(record, "INSERT INTO entries SELECT * FROM entries", WRITER)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(record, "DELETE FROM entries", WRITER)
    store.close()
