"""Fifty workers on a server that takes a hundred connections, with the settings users have."""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from keepwhole import Session, config
from keepwhole.store.postgres import server
from keepwhole.store.postgres.store import PostgresStore
from tests.postgres import fresh_url, running

WORKERS, EACH, RESULTS = 50, 2, 3


def count(connection: psycopg.Connection[Any]) -> int:
    """The connections of Keepwhole that are open."""
    row: Any = connection.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'keepwhole'"
    ).fetchone()
    return row[0]


@pytest.fixture
def most() -> Iterator[list[int]]:
    """The largest number of connections to the record that were open at once, in a list."""
    seen, stop = [0], threading.Event()
    with psycopg.connect(running().get_uri(), autocommit=True) as connection:
        while count(connection):  # those of an earlier test are still being closed
            time.sleep(0.05)

        def watch() -> None:
            while not stop.is_set():
                seen[0] = max(seen[0], count(connection))
                time.sleep(0.02)

        thread = threading.Thread(target=watch)
        thread.start()
        yield seen
        stop.set()
        thread.join()


def test_fifty_workers_share_a_hundred_connections_and_all_is_stored(tmp_path: Path, most: list[int]) -> None:
    """A worker is a store of its own, as in a process of its own; each has two agents that work at the same time."""
    with psycopg.connect(running().get_uri()) as connection:
        assert connection.execute("SHOW max_connections").fetchone() == ("100",)
    settings = config.load(store=fresh_url())
    stores = [config.open_record(settings.replace(home=str(tmp_path / str(n)))) for n in range(WORKERS)]

    def work(number: int) -> int:
        session = Session(f"agent-{number}", store=stores[number % WORKERS], settings=settings)
        kept = [session.keep("bash", None, f"{number} {n}\n" * 2_000) for n in range(RESULTS)]
        return sum(one.trace_id is not None for one in kept)

    try:
        with ThreadPoolExecutor(WORKERS * EACH) as pool:
            assert sum(pool.map(work, range(WORKERS * EACH))) == WORKERS * EACH * RESULTS
        assert len(stores[0].sessions()) == WORKERS * EACH
    finally:
        for store in stores:
            store.close()
    assert WORKERS <= most[0] <= 100, most


def test_the_setting_limits_the_connections_of_a_process(tmp_path: Path, most: list[int]) -> None:
    environ = {**os.environ, "KEEPWHOLE_STORE_CONNECTIONS": "3", "KEEPWHOLE_STORE": fresh_url()}
    store = config.open_record(config.load(environ=environ, folder=str(tmp_path)))
    assert isinstance(store, PostgresStore)
    with ThreadPoolExecutor(8) as pool:
        kept = pool.map(lambda n: Session(f"s{n}", store=store).keep("t", None, "x" * 9_000).trace_id, range(32))
        assert all(kept)
    store.close()
    assert most[0] <= 3


def fill(others: list[psycopg.Connection[Any]]) -> None:
    """Open connections until the server takes no more."""
    while True:
        others.append(psycopg.connect(running().get_uri()))


def test_a_worker_that_finds_the_server_full_gets_in_when_others_give_back(
    tmp_path: Path, most: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections are given back ten times as fast as they are, so that nobody waits for long here."""
    assert 2 * server._IDLE < server.PATIENCE
    monkeypatch.setattr(server, "_IDLE", server._IDLE / 10)
    url = fresh_url()
    first, late = (PostgresStore(url, str(tmp_path / name)) for name in ("a", "b"))
    others: list[psycopg.Connection[Any]] = []
    with pytest.raises(psycopg.OperationalError, match="too many clients"):
        fill(others)
    for _ in range(2):
        others.pop().close()
    with ThreadPoolExecutor(16) as pool:
        while most[0] < 2:  # the first worker has both that are left
            kept = pool.map(lambda n: Session(f"s{n}", store=first).keep("t", None, "x" * 9_000).trace_id, range(64))
            assert all(kept)
    assert Session("late", store=late).keep("t", None, "x" * 9_000).trace_id is not None
    for connection in others:
        connection.close()
    first.close()
    late.close()
