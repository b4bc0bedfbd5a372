"""Rows in PostgreSQL, large bodies elsewhere: many machines, one record, and never an entry without its body."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.cli.main import main
from keepwhole.errors import Damaged, NotStored
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft, body_of
from keepwhole.store.verify import verify
from tests.build import NOON, ROOM, draft, opened, result, stored_bytes, taken
from tests.objects import fresh_bucket
from tests.postgres import fresh_url, running

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.blobs import folder as blobs_module
from keepwhole.store.postgres.address import address_of
from keepwhole.store.postgres.store import PostgresStore

SIZE = 1_100_000
"""Of a body that is written before its entry, wherever it goes."""


@pytest.fixture
def url() -> str:
    return fresh_url()


@pytest.fixture(params=["s3", "folder", "table"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each place where large bodies can be."""
    if request.param == "s3":
        return fresh_bucket()
    return str(tmp_path / "shared") if request.param == "folder" else ""


@pytest.fixture
def store(url: str, blobs: str, tmp_path: Path) -> Iterator[PostgresStore]:
    store = PostgresStore(url, str(tmp_path / "one"), blobs=blobs)
    opened(store)
    yield store
    store.close()


@contextmanager
def directly(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of somebody else, in the record's schema, in a transaction of its own."""
    address = address_of(url)
    with psycopg.connect(address.url) as connection:
        connection.execute(f"SET search_path TO {address.schema}".encode())
        yield connection


def age(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything that is there be old."""
    with directly(url) as connection:
        connection.execute("ALTER TABLE pieces DISABLE TRIGGER never_changed")
        connection.execute("UPDATE pieces SET at = at - interval '2 hours'")
        connection.execute("ALTER TABLE pieces ENABLE TRIGGER never_changed")
    monkeypatch.setattr(blobs_module, "ORPHAN_SECONDS", -10)
    try:
        from keepwhole.store.blobs import s3
    except ImportError:
        return
    monkeypatch.setattr(s3, "ORPHAN_SECONDS", -10)


def referring(connection: psycopg.Connection[Any], body: Body) -> None:
    """Add an entry that has this body, as an append does, and do not commit yet."""
    connection.execute(
        "INSERT INTO entries (session, seq, kind, trace_id, at, stored, previous, header, digest, chain, blocks, blob) "
        "SELECT id, 1, 'result', 'trace_x', 1, 1, '', '', '', '', '', %s FROM sessions WHERE name = 's'",
        (body.blob,),
    )


def waits(work: threading.Thread) -> bool:
    """Whether a thread that was started is still at it after a while."""
    work.start()
    work.join(0.4)
    return work.is_alive()


def test_what_one_machine_keeps_another_reads(url: str, store: PostgresStore, blobs: str, tmp_path: Path) -> None:
    other = PostgresStore(url, str(tmp_path / "two"), blobs=blobs)
    store.append("s", [draft(store, b"x" * SIZE)])
    assert stored_bytes(other, next(other.rows("s"))) == b"x" * SIZE
    other.close()


def test_bodies_that_no_entry_has_are_collected_and_never_another(
    url: str, store: PostgresStore, blobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = PostgresStore(fresh_url(), str(tmp_path / "two"), blobs=blobs)
    theirs = taken(other, b"another record's" * 90_000)
    store.append("s", [draft(store, b"x" * SIZE)])
    taken(store, b"y" * SIZE)
    assert store.collect_orphans() == 0
    age(url, monkeypatch)
    assert store.collect_orphans() == 1
    assert store.collect_orphans() == 0
    assert verify(store, "s").whole
    with other.open(theirs) as reader:
        assert reader.read() == b"another record's" * 90_000
    other.close()


def test_a_body_whose_entry_is_being_added_is_not_collected(
    url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The append comes long after its upload, and its commit while the collector is at work."""
    body = taken(store, b"y" * SIZE)
    age(url, monkeypatch)
    collected: list[int] = []
    with directly(url) as connection:
        referring(connection, body)
        collector = threading.Thread(target=lambda: collected.append(store.collect_orphans()))
        assert waits(collector)
    collector.join(10)
    assert collected == [0]
    with store.open(body) as reader:
        assert reader.read() == b"y" * SIZE


def test_a_body_that_is_being_collected_gets_no_entry(url: str, store: PostgresStore) -> None:
    late = draft(store, b"y" * SIZE)
    refused: list[NotStored] = []

    def append() -> None:
        with pytest.raises(NotStored, match="given up") as error:
            store.append("s", [late])
        refused.append(error.value)

    appending = threading.Thread(target=append)
    with directly(url) as connection:
        assert connection.execute("SELECT condemn(%s)", ([late.body.blob],)).fetchall() == [(late.body.blob,)]
        assert waits(appending)
    appending.join(10)
    assert len(refused) == 1
    assert list(store.rows("s")) == []
    store.append("s", [Draft(result(), taken(store, b"y" * SIZE))])
    assert verify(store, "s").whole


def test_a_body_is_not_discarded_while_an_append_that_nobody_waits_for_comes_through(
    url: str, store: PostgresStore
) -> None:
    body = taken(store, b"y" * SIZE)
    with directly(url) as connection:
        referring(connection, body)
        discarding = threading.Thread(target=store.discard, args=(body,))
        assert waits(discarding)
    discarding.join(10)
    with store.open(body) as reader:
        assert reader.read() == b"y" * SIZE


def test_a_purge_deletes_bodies_wherever_they_are(url: str, store: PostgresStore, tmp_path: Path) -> None:
    without = PostgresStore(url, str(tmp_path / "two"))
    store.append("s", [draft(store, b"x" * SIZE)])
    without.append("s", [draft(without, b"z" * SIZE)])
    bodies = [body_of(row) for row in store.rows("s")]
    store.purge("s", NOON)
    for body in bodies:
        with pytest.raises(Damaged), store.open(body) as reader:
            reader.read()
    without.close()


def test_a_role_that_only_writes_can_use_a_place_outside(
    url: str, store: PostgresStore, blobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from keepwhole.store.postgres.server import migrate

    writer = f"writer_{address_of(url).schema}"
    with psycopg.connect(running().get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {writer} LOGIN".encode())
    migrate(url, writer)
    theirs = PostgresStore(url.replace("postgres:@", f"{writer}@"), str(tmp_path / "two"), blobs=blobs)
    theirs.append("s", [draft(theirs, b"x" * SIZE)])
    taken(theirs, b"y" * SIZE)
    theirs.discard(taken(theirs, b"z" * SIZE))
    age(url, monkeypatch)
    assert theirs.collect_orphans() == 1
    assert verify(theirs, "s").whole
    assert theirs.purge("s", NOON).entries == 1
    theirs.close()


def test_a_server_that_cannot_be_asked_for_the_place_costs_no_body(tmp_path: Path, blobs: str) -> None:
    away = PostgresStore("postgresql://me@127.0.0.1:1/db", str(tmp_path), blobs=blobs, patience=0.3)
    with pytest.raises(NotStored) as refused:
        away.store_body(Feed(iter([b"x" * 700_000, b"y" * 700_000])), ROOM)
    assert refused.value.rescue is not None
    assert b"".join(refused.value.rescue.chunks()) == b"x" * 700_000 + b"y" * 700_000


@pytest.mark.parametrize("blobs", ["s3"], indirect=True)
def test_the_doctor_looks_at_both_places(
    url: str, blobs: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KEEPWHOLE_STORE", url)
    monkeypatch.setenv("KEEPWHOLE_BLOBS", blobs)
    assert main(["doctor"]) == 0
    out = capfd.readouterr().out
    assert "the record is at postgresql://" in out
    assert f"large bodies are in {blobs}" in out
