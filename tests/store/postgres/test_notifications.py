"""Whoever watches a record on a server is told of what anybody adds to it; who does not costs nobody anything."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keepwhole.store.protocol import Watchable
from tests.build import NOON, draft, opened
from tests.postgres import fresh_url, running

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres import notifications
from keepwhole.store.postgres.address import address_of
from keepwhole.store.postgres.store import PostgresStore

_HELD = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())"
)


class Bell:
    """How often it rang."""

    def __init__(self) -> None:
        self.count, self._rung = 0, threading.Condition()

    def __call__(self) -> None:
        with self._rung:
            self.count += 1
            self._rung.notify_all()

    def rings_after(self, act: Callable[[], object]) -> bool:
        """Whether it rings within a moment when something is done."""
        with self._rung:
            before = self.count
        act()
        with self._rung:
            return self._rung.wait_for(lambda: self.count > before, 1.0)


@pytest.fixture
def url() -> str:
    return fresh_url()


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[PostgresStore]:
    store = PostgresStore(url, str(tmp_path / "one"))
    yield store
    store.close()


@pytest.fixture
def other(url: str, tmp_path: Path) -> Iterator[PostgresStore]:
    """Another handle on the same record, as on another machine."""
    other = PostgresStore(url, str(tmp_path / "other"))
    yield other
    other.close()


def watched(store: PostgresStore) -> tuple[Bell, Callable[[], None]]:
    """Somebody who watches, and has looked once."""
    bell = Bell()
    stops: list[Callable[[], None]] = []
    assert bell.rings_after(lambda: stops.append(store.watch(bell)))
    return bell, stops[0]


def admin(query: str) -> int:
    with psycopg.connect(running().get_uri(), autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
        return row[0] if row else 0


def test_whatever_another_does_to_the_record_is_told(store: PostgresStore, other: PostgresStore) -> None:
    bell, _ = watched(store)
    assert isinstance(store, Watchable)
    assert bell.rings_after(lambda: opened(other))
    assert bell.rings_after(lambda: other.append("s", [draft(other)]))
    assert bell.rings_after(lambda: other.append("s", [draft(other), draft(other, b"x" * 100_000)]))
    assert bell.rings_after(lambda: other.end("s", NOON))
    assert bell.rings_after(lambda: other.purge("s", NOON))


def test_nothing_of_another_record_on_the_same_server_is_told(store: PostgresStore, tmp_path: Path) -> None:
    bell, _ = watched(store)
    stranger = PostgresStore(fresh_url(), str(tmp_path / "stranger"))
    assert not bell.rings_after(lambda: opened(stranger))
    stranger.close()


def test_a_notice_says_nothing_and_is_sent_only_while_somebody_watches(
    url: str, store: PostgresStore, other: PostgresStore
) -> None:
    address = address_of(url)
    opened(other, "secret")
    with psycopg.connect(address.url, autocommit=True) as overheard:
        overheard.execute(f'LISTEN "{other.server.salt()}"'.encode())
        other.append("secret", [draft(other)])
        assert list(overheard.notifies(timeout=0.2)) == []
        watched(store)
        other.append("secret", [draft(other)])
        (notice,) = overheard.notifies(timeout=1, stop_after=1)
        assert (notice.channel, notice.payload) == (other.server.salt(), "")


def test_one_connection_listens_for_all_who_watch_and_ends_with_the_last(store: PostgresStore) -> None:
    before = admin(_HELD)
    first, stop_first = watched(store)
    stop_second = store.watch(Bell())
    assert admin(_HELD) == before + 1
    stop_second()
    stop_second()
    assert first.rings_after(lambda: opened(store))
    stop_first()
    for _ in range(100):
        if admin(_HELD) == before:
            break
        time.sleep(0.02)
    assert admin(_HELD) == before
    assert not first.rings_after(lambda: store.append("s", [draft(store)]))


def test_a_lost_connection_is_made_anew_and_who_watches_looks_again(
    store: PostgresStore, other: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "RENEWED_AFTER", 0.05)
    opened(other)
    bell, _ = watched(store)
    query = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
    assert bell.rings_after(lambda: admin(query))
    assert bell.rings_after(lambda: other.append("s", [draft(other)]))


def test_a_forked_child_neither_watches_nor_stops_its_parent(store: PostgresStore, other: PostgresStore) -> None:
    bell, _ = watched(store)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            opened(store, "from the child")
            store.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    time.sleep(0.1)
    assert bell.rings_after(lambda: opened(other, "afterwards"))


def test_of_many_who_append_at_once_none_fails_and_the_last_is_seen(store: PostgresStore, other: PostgresStore) -> None:
    bell, _ = watched(store)
    names = [opened(other, f"s{number}") for number in range(6)]
    bell.rings_after(lambda: None)

    def work(name: str) -> None:
        for _ in range(15):
            other.append(name, [draft(other)])

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.sessions()[at].entries for at in range(6)] == [15] * 6
    assert bell.count > 1
    assert bell.rings_after(lambda: other.append("s0", [draft(other)]))
