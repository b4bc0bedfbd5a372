"""Appends of several threads that are sent together: each thread gets its own entries or its own error."""

import ctypes
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from keepwhole.canonical.entry import Entry
from keepwhole.errors import NotFound, NotStored, Overtaken, QuotaExceeded
from keepwhole.store.verify import verify
from tests.build import decision, draft, opened, request, stored_bytes
from tests.postgres import fresh_url, running

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres.group_commit import GroupCommit
from keepwhole.store.postgres.store import PostgresStore
from tests.store.postgres.relay import Relay

Work = Callable[[], list[Entry]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresStore]:
    """A store with one connection, so that one thread sends at a time."""
    store = PostgresStore(fresh_url(), str(tmp_path), connections=1)
    yield store
    store.close()


@contextmanager
def locked(store: PostgresStore, session: str) -> Generator[None]:
    """Hold the lock of a session, as a purge in another process does."""
    with psycopg.connect(running().get_uri()) as connection:
        connection.execute(f"SET search_path TO {store.address.schema}".encode())
        connection.execute("SELECT 1 FROM sessions WHERE name = %s FOR UPDATE", (session,))
        yield


def together(store: PostgresStore, *works: Work) -> list[Future[list[Entry]]]:
    """Begin an append that has to wait for a lock, and then these, which wait for it; return how each ended."""
    opened(store, "first")
    appends = store._appends
    with ThreadPoolExecutor(len(works) + 1) as pool, locked(store, "first"):
        first = pool.submit(store.append, "first", [draft(store)])
        wait_until(lambda: appends._free == 0)
        found: list[Future[list[Entry]]] = []
        for number, work in enumerate(works, 1):
            found.append(pool.submit(work))
            wait_until(lambda number=number: len(appends._queue) == number)
    assert len(first.result()) == 1
    assert appends._free == 1
    return found


def wait_until(is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < until
        time.sleep(0.001)


def transactions(store: PostgresStore, session: str) -> set[str]:
    """The transactions that wrote the entries of a session."""
    query = "SELECT e.xmin::text FROM entries e JOIN sessions s ON s.id = e.session WHERE s.name = %s"
    return {of for (of,) in store.select(query, (session,))}


def bodies(store: PostgresStore, session: str) -> list[bytes]:
    return [stored_bytes(store, row) for row in store.rows(session)]


def test_appends_that_wait_are_one_transaction_in_the_order_of_their_sessions(store: PostgresStore) -> None:
    for name in ("b", "a", "c"):
        opened(store, name)
    ended = together(store, *(lambda name=name: store.append(name, [draft(store, name.encode())]) for name in "bac"))
    for name, future in zip("bac", ended, strict=True):
        ((entry,), (row,)) = future.result(), store.rows(name)
        assert (entry.session, entry.seq, entry.chain) == (name, 1, row.chain)
        assert bodies(store, name) == [name.encode()]
    assert transactions(store, "a") == transactions(store, "b") == transactions(store, "c")
    in_order = (
        "SELECT s.name FROM entries e JOIN sessions s ON s.id = e.session WHERE s.name <> 'first' ORDER BY e.ctid"
    )
    assert store.select(in_order) == [("a",), ("b",), ("c",)]


def test_appends_to_one_session_are_chained_in_the_order_in_which_they_came(store: PostgresStore) -> None:
    opened(store)
    works = [lambda n=n: store.append("s", [draft(store, b"%d" % n), request(store)]) for n in range(6)]
    for number, future in enumerate(together(store, *works)):
        assert [entry.seq for entry in future.result()] == [2 * number + 1, 2 * number + 2]
    assert bodies(store, "s")[::2] == [b"%d" % n for n in range(6)]
    assert len(transactions(store, "s")) == 1
    assert verify(store, "s").whole


def test_an_append_that_is_refused_is_refused_alone(store: PostgresStore) -> None:
    opened(store)
    kept = draft(store)
    last = store.append("s", [kept])[0].seq
    store.append("s", [decision(kept.header.trace_id)])
    one, over, nowhere, late, other = together(
        store,
        lambda: store.append("s", [draft(store, b"one")]),
        lambda: store.append("s", [draft(store, b"much")], quota=1),
        lambda: store.append("not there", [draft(store)]),
        lambda: store.append("s", [draft(store, b"late")], after=last),
        lambda: store.append("s", [draft(store, b"other")]),
    )
    assert isinstance(over.exception(), QuotaExceeded)
    assert isinstance(nowhere.exception(), NotFound)
    assert isinstance(late.exception(), Overtaken)
    assert one.exception() is None
    assert other.exception() is None
    assert {b"one", b"other"} == set(bodies(store, "s")[2:])
    assert len(bodies(store, "s")) == 4
    assert verify(store, "s").whole


@pytest.mark.parametrize("cut", ["before", "after"])
def test_appends_whose_common_connection_was_cut_are_there_once(tmp_path: Path, cut: str) -> None:
    with Relay(str(running().pgdata)) as relay:
        store = PostgresStore(relay.url(fresh_url().rpartition("schema=")[2]), str(tmp_path), connections=1)
        opened(store)
        send = store.server.call_together

        def cut_off(calls):  # type: ignore[no-untyped-def]
            relay.cuts = [cut]
            return send(calls)

        store.server.call_together = cut_off
        ended = together(store, *(lambda n=n: store.append("s", [draft(store, b"%d" % n)]) for n in range(4)))
        assert relay.cuts == []
        assert all(future.exception() is None for future in ended)
        assert sorted(bodies(store, "s")) == [b"0", b"1", b"2", b"3"]
        assert verify(store, "s").whole
        store.close()


def test_appends_whose_common_connection_the_server_ended_are_there_once(tmp_path: Path) -> None:
    """A server that shuts down, or an administrator, ends a connection with an error of its own."""
    store = PostgresStore(fresh_url(), str(tmp_path), connections=1)
    for name in ("s", "held"):
        opened(store, name)
    sent = store.server.call_together
    ended: list[int] = []

    def end_while_waiting(calls):  # type: ignore[no-untyped-def]
        with ThreadPoolExecutor(1) as pool, locked(store, "held"):
            results = pool.submit(sent, calls)
            wait_until(lambda: bool(end_waiting(store)))
            ended.append(len(calls))
            results.exception()
        return results.result()

    store.server.call_together = end_while_waiting
    names = ("s", "held", "s", "held")
    works = [lambda n=n, name=name: store.append(name, [draft(store, b"%d" % n)]) for n, name in enumerate(names)]
    assert [future.exception() for future in together(store, *works)] == [None] * 4
    assert ended == [4]
    assert sorted(bodies(store, "s")) == [b"0", b"2"]
    assert sorted(bodies(store, "held")) == [b"1", b"3"]
    store.close()


def end_waiting(store: PostgresStore) -> list[tuple[bool]]:
    """End the connections that wait for a lock of this record."""
    with psycopg.connect(running().get_uri()) as connection:
        return connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s",
            ("%append%",),
        ).fetchall()


def test_a_thread_that_is_interrupted_while_it_sends_for_others_costs_them_nothing(store: PostgresStore) -> None:
    opened(store)
    send, began = store.server.call_together, threading.Event()

    def interrupted(calls):  # type: ignore[no-untyped-def]
        if not began.is_set():
            began.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(threading.get_ident()), ctypes.py_object(KeyboardInterrupt)
            )
        return send(calls)

    store.server.call_together = interrupted
    first, *others = together(store, *(lambda n=n: store.append("s", [draft(store, b"%d" % n)]) for n in range(4)))
    assert isinstance(first.exception(), KeyboardInterrupt)
    assert all(future.exception() is None for future in others)
    assert set(bodies(store, "s")) >= {b"1", b"2", b"3"}
    assert len(store.append("s", [draft(store)])) == 1


def test_a_thread_that_gives_up_waiting_takes_no_place_with_it(store: PostgresStore) -> None:
    opened(store)
    opened(store, "held")

    with ThreadPoolExecutor(2) as pool:
        with locked(store, "held"):
            first = pool.submit(store.append, "held", [draft(store)])
            wait_until(lambda: store._appends._free == 0)
            store.server._patience = 0.2
            with pytest.raises(NotStored):
                store.append("s", [draft(store)])
            store.server._patience = 20.0
        assert len(first.result()) == 1
    assert (store._appends._free, len(store._appends._queue)) == (1, 0)
    wait_until(lambda: is_stored(store))


def is_stored(store: PostgresStore) -> bool:
    """Whether an append works again; a server that was away is left alone for a moment."""
    try:
        return bool(store.append("s", [draft(store)]))
    except NotStored:
        return False


def test_a_session_that_somebody_else_holds_does_not_keep_the_others_waiting(tmp_path: Path) -> None:
    store = PostgresStore(fresh_url(), str(tmp_path), connections=2)
    store._appends = GroupCommit(store.server, 1)
    opened(store)
    opened(store, "held")
    works = [lambda name=name: store.append(name, [draft(store)]) for name in ("held", "s")]
    with ThreadPoolExecutor(1) as pool:
        with locked(store, "held"):
            waits = pool.submit(together, store, *works)
            wait_until(lambda: bodies(store, "s") == [b"body"])
            assert bodies(store, "held") == []
        assert [future.exception() for future in waits.result()] == [None, None]
    assert bodies(store, "held") == [b"body"]
    store.close()


def test_threads_of_two_processes_that_share_sessions_never_wait_in_a_circle(tmp_path: Path) -> None:
    url = fresh_url()
    stores = [PostgresStore(url, str(tmp_path / f"{number}"), connections=2) for number in range(2)]
    names = [opened(stores[0], name) for name in ("a", "b", "c")]
    before = _deadlocks(stores[0])

    def work(number: int) -> None:
        for turn in range(25):
            name = names[(number + turn * (1 if number % 2 else 2)) % 3]
            stores[number % 2].append(name, [draft(stores[number % 2])])

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(work, range(12)))
    for name in names:
        assert verify(stores[0], name).whole
    assert sum(len(bodies(stores[0], name)) for name in names) == 12 * 25
    assert _deadlocks(stores[0]) == before
    for store in stores:
        store.close()


def _deadlocks(store: PostgresStore) -> int:
    store.select("SELECT pg_stat_force_next_flush()")
    return store.select("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")[0][0]
