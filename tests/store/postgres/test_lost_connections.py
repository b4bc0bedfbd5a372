"""Whatever becomes of a connection or the server: what was acknowledged is there, and nothing is there twice."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from itertools import chain, product
from pathlib import Path
from urllib.parse import urlencode

import pytest

from keepwhole.errors import NotStored
from keepwhole.store.protocol import Terms, result_of
from keepwhole.store.verify import verify
from tests.build import decision, draft, opened, stored_bytes
from tests.postgres import fresh_url, running

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres.store import PostgresStore
from tests.store.postgres.relay import Relay


@pytest.fixture
def relay() -> Iterator[Relay]:
    with Relay(str(running().pgdata)) as relay:
        yield relay


@pytest.fixture
def relayed(relay: Relay, tmp_path: Path) -> Iterator[PostgresStore]:
    """A store that reaches the server through a relay."""
    schema = fresh_url().rpartition("schema=")[2]
    url = "postgresql://postgres@/postgres?" + urlencode({"host": relay.folder, "schema": schema})
    store = PostgresStore(url, str(tmp_path))
    yield store
    store.close()


@pytest.mark.parametrize("cuts", [["after"], ["before"], ["after", "after"], ["before", "before", "after"]])
def test_an_append_whose_outcome_nobody_told_is_there_once(
    relay: Relay, relayed: PostgresStore, cuts: list[str]
) -> None:
    opened(relayed)
    relayed.append("s", [first := draft(relayed), decision(first.header.trace_id)])
    relay.cuts = list(cuts)
    entries = relayed.append("s", [decision(first.header.trace_id, "second"), draft(relayed, b"third")])
    assert len(relay.cuts) < len(cuts)
    assert [entry.seq for entry in entries] == [3, 4]
    assert [row.chain for row in relayed.rows("s", after=2)] == [entry.chain for entry in entries]
    assert verify(relayed, "s").whole


@pytest.mark.parametrize("term", ["after", "head"])
def test_an_append_that_is_sent_again_is_not_overtaken_by_itself(
    relay: Relay, relayed: PostgresStore, term: str
) -> None:
    opened(relayed)
    *_, last = relayed.append("s", [first := draft(relayed), decision(first.header.trace_id)])
    terms: Terms = {"after": last.seq} if term == "after" else {"head": last.chain}
    relay.cuts = ["after"]
    entries = relayed.append("s", [decision(first.header.trace_id, "second"), draft(relayed, b"third")], **terms)
    assert relay.cuts == []
    assert [row.chain for row in relayed.rows("s", after=2)] == [entry.chain for entry in entries]


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_large_body_survives_a_cut_connection(relay: Relay, relayed: PostgresStore, cut: str) -> None:
    opened(relayed)
    data = os.urandom(2_500_000)
    relay.cuts = [cut]
    taken = draft(relayed, data)
    relayed.append("s", [taken])
    assert stored_bytes(relayed, next(relayed.rows("s"))) == data


def test_a_session_is_made_and_ended_once_over_cut_connections(relay: Relay, relayed: PostgresStore) -> None:
    relay.cuts = ["after"]
    opened(relayed)
    relay.cuts = ["after"]
    relayed.end("s", 5)
    (info,) = relayed.sessions()
    assert (info.name, info.ended_at) == ("s", 5)


def test_what_cannot_be_written_for_too_long_is_not_stored(relay: Relay, tmp_path: Path) -> None:
    schema = fresh_url().rpartition("schema=")[2]
    url = "postgresql://postgres@/postgres?" + urlencode({"host": relay.folder, "schema": schema})
    store = PostgresStore(url, str(tmp_path), patience=0.5)
    opened(store)
    relay.cuts = ["before"] * 100
    began = time.monotonic()
    with pytest.raises(NotStored, match="could not be written"):
        store.append("s", [draft(store)])
    assert time.monotonic() - began < 10
    relay.cuts = []
    time.sleep(2 * 0.5)  # a server that was away is left alone for a moment
    assert list(store.rows("s")) == []
    store.close()


def backends() -> list[int]:
    """The processes of the server that serve our connections."""
    with psycopg.connect(running().get_uri(), autocommit=True) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'keepwhole'"
        return [pid for (pid,) in connection.execute(query).fetchall()]


def drop(pid: int) -> None:
    """End one connection as an administrator does."""
    with psycopg.connect(running().get_uri(), autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", (pid,))


def kill(pid: int) -> None:
    """Kill a process of the server, which then throws everybody out and recovers."""
    os.kill(pid, signal.SIGKILL)


class Writers:
    """Threads that append, and remember what was acknowledged."""

    def __init__(self, store: PostgresStore, count: int) -> None:
        self.store, self.acknowledged, self.failed = store, list[bytes](), list[BaseException]()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(count)]

    def __enter__(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self, worker: int) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            try:
                subject = draft(self.store, call_id=f"{worker}/{number}")
                entries = self.store.append("s", [subject, decision(subject.header.trace_id)], once=True)
                self.acknowledged += [entry.chain for entry in entries]
            except NotStored:
                pass  # whole or absent
            except BaseException as error:
                self.failed.append(error)
                return


def tormented(store: PostgresStore, act: Callable[[int], None], times: int, pause: float) -> None:
    """Let writers write while connections are ended; then everything acknowledged is there, and nothing twice."""
    opened(store)
    with Writers(store, 3) as writers:
        for _ in range(times):
            before = len(writers.acknowledged)
            until = time.monotonic() + 30
            while len(writers.acknowledged) < before + 8 and time.monotonic() < until and not writers.failed:
                time.sleep(0.01)
            while not (serving := backends()):
                time.sleep(0.01)
            act(serving[0])
            time.sleep(pause)
    assert writers.failed == []
    rows = list(store.rows("s"))
    assert set(writers.acknowledged) <= {row.chain for row in rows}
    assert len(writers.acknowledged) >= 8 * times
    calls = [result_of(row).call_id for row in rows if row.kind == "result"]
    assert len(calls) == len(set(calls))
    assert [row.kind for row in rows] == ["result", "decision"] * len(calls)
    assert verify(store, "s").whole


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresStore]:
    store = PostgresStore(fresh_url(), str(tmp_path))
    yield store
    store.close()


def test_dropped_connections_lose_nothing_and_double_nothing(store: PostgresStore) -> None:
    tormented(store, drop, times=5, pause=0.02)


def test_a_killed_server_process_loses_nothing_and_doubles_nothing(store: PostgresStore) -> None:
    tormented(store, kill, times=1, pause=0.2)


def test_what_is_held_stays_held_when_connections_are_lost(store: PostgresStore) -> None:
    opened(store, ephemeral=True)
    store.hold("s")
    for pid in backends():
        drop(pid)
    store.append("s", [draft(store)])
    assert store.is_held("s")
    store.close()
    assert not store.is_held("s")


@pytest.mark.torture
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("act", [drop, kill])
def test_many_ended_connections_lose_nothing_and_double_nothing(
    store: PostgresStore, act: Callable[[int], None]
) -> None:
    tormented(store, act, times=150, pause=0.1)


def test_statements_that_the_server_forgot_are_told_again_in_any_order(tmp_path: Path) -> None:
    """Appends of one and of two drafts are two statements; the driver drops all after a failed transaction."""
    store = PostgresStore(fresh_url(), str(tmp_path))
    opened(store)
    sent: list[bytes] = []
    for step in chain(*product((1, 2, "forget"), repeat=4)):
        if isinstance(step, int):
            sent += (bodies := [b"%d" % (len(sent) + number) for number in range(step)])
            store.append("s", [draft(store, body) for body in bodies])
            continue
        for connection in list(store.server._made):
            connection.execute("DEALLOCATE ALL", prepare=False)
    assert [stored_bytes(store, row) for row in store.rows("s")] == sent
    store.close()
