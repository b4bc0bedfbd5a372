"""A server that is there and does not answer: every wait ends, results go out whole, and it goes on after."""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

import keepwhole
from keepwhole import KeepwholeError, NotStored, Session
from keepwhole.store.protocol import SessionInfo
from tests.apps.proxy.proxy_server import ask, offered, proxy, request
from tests.build import NOON, draft, numbered_lines, opened
from tests.postgres import fresh_url, running
from tests.promises import conversations as talk
from tests.upstream.server import upstream
from tests.upstream.spelling import Text

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

import psycopg

from keepwhole.store.postgres.connection import BoundedConnection
from keepwhole.store.postgres.server import migrate
from keepwhole.store.postgres.store import PostgresStore

LONG = numbered_lines(3_000)
PATIENCE = 1.0
SLACK = 1.5
"""Seconds that a busy machine may add."""


def processes() -> list[int]:
    """All processes of the server, the first of them its parent."""
    with open(os.path.join(str(running().pgdata), "postmaster.pid"), encoding="ascii") as file:
        parent = int(file.readline())
    children: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
            if int(file.read().rpartition(")")[2].split()[1]) == parent:
                children.append(int(name))
    return [parent, *children]


@contextmanager
def stopped() -> Generator[None]:
    """Stop every process of the server; its kernel still takes connections and acknowledges what is sent."""
    pids = processes()
    try:
        for pid in pids:
            with suppress(ProcessLookupError):  # one that has just ended
                os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in reversed(pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextmanager
def without_standby() -> Generator[None]:
    """Let every commit wait for a standby that is not there."""
    _set_standby("'nobody'")
    try:
        yield
    finally:
        _set_standby("''")


def _set_standby(name: str) -> None:
    with psycopg.connect(running().get_uri(), autocommit=True) as admin:
        admin.execute(f"ALTER SYSTEM SET synchronous_standby_names = {name}".encode())
        admin.execute("SELECT pg_reload_conf()")
    time.sleep(0.2)


def seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresStore]:
    store = PostgresStore(fresh_url(), str(tmp_path), patience=PATIENCE)
    yield store
    store.close()


def until_stored(session: Session) -> None:
    until = time.monotonic() + 15
    while session.keep("t", None, LONG).trace_id is None:
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.parametrize("trouble", [stopped, without_standby])
def test_a_result_waits_for_the_patience_goes_out_whole_and_the_next_ones_hardly_wait(
    store: PostgresStore, trouble: Callable[[], AbstractContextManager[None]]
) -> None:
    session = Session("s", store=store)
    session.keep("t", None, LONG)
    took: list[float] = []

    def keep() -> None:
        shown = session.keep("t", None, LONG)
        assert (shown.content, shown.trace_id) == (LONG, None)
        assert isinstance(shown.problem, NotStored)

    with trouble():
        for _ in range(6):
            took.append(seconds(keep))
    assert took[0] < PATIENCE + SLACK
    assert sum(took[1:]) < 2 * PATIENCE + SLACK
    until_stored(session)
    assert session.verify().whole


CALLS: dict[str, Callable[[PostgresStore], object]] = {
    "open_session": lambda store: store.open_session(SessionInfo(name="n", created_at=NOON)),
    "sessions": lambda store: store.sessions(),
    "append": lambda store: store.append("s", [draft(store)]),
    "store_body": lambda store: draft(store, b"x" * 3_000_000),
    "rows": lambda store: list(store.rows("s")),
    "search": lambda store: store.search("s", "body"),
    "end": lambda store: store.end("s", NOON),
    "restart": lambda store: store.restart("s", 0, b""),
    "purge": lambda store: store.purge("s", NOON),
    "hold": lambda store: store.hold("s"),
    "is_held": lambda store: store.is_held("s"),
    "secret": lambda store: store.secret("x"),
    "identity": lambda store: store.identity(),
    "count_strays": lambda store: store.count_strays(),
    "collect_orphans": lambda store: store.collect_orphans(),
    "watch": lambda store: store.watch(lambda: None)(),
    "close": lambda store: store.close(),
}


@pytest.mark.parametrize("is_used", [True, False], ids=["in use", "not opened yet"])
def test_no_call_waits_much_longer_than_the_patience(tmp_path: Path, is_used: bool) -> None:
    """All of them at once, each with a store of its own."""
    url = fresh_url()
    stores = {name: PostgresStore(url, str(tmp_path / name), patience=PATIENCE) for name in CALLS}
    took: dict[str, float] = {}

    def call(name: str) -> None:
        began = time.monotonic()
        with suppress(KeepwholeError):
            CALLS[name](stores[name])
        took[name] = time.monotonic() - began

    for store in stores.values():
        opened(store)
        if not is_used:
            store.close()
    with stopped():
        threads = [threading.Thread(target=call, args=(name,)) for name in CALLS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    for store in stores.values():
        store.close()
    assert took.keys() == CALLS.keys()
    assert {name: spent for name, spent in took.items() if spent > 2 * PATIENCE + SLACK} == {}


def test_without_a_deadline_a_call_would_wait_for_ever(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(store)
    monkeypatch.setattr(BoundedConnection, "wait", psycopg.Connection.wait)
    thread = threading.Thread(target=store.sessions)
    with stopped():
        thread.start()
        thread.join(2 * PATIENCE + SLACK)
        is_waiting = thread.is_alive()
    thread.join(20)
    assert is_waiting


def test_threads_that_wait_together_do_not_wait_for_one_another(store: PostgresStore) -> None:
    opened(store)
    took: list[float] = []

    def work() -> None:
        began = time.monotonic()
        with pytest.raises(NotStored):
            store.append("s", [draft(store)])
        took.append(time.monotonic() - began)

    with stopped():
        threads = [threading.Thread(target=work) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert len(took) == 24
    assert max(took) < PATIENCE + 2 * SLACK


def test_a_statement_that_is_given_up_does_not_go_on_in_the_server(store: PostgresStore) -> None:
    with pytest.raises(KeepwholeError):
        store.server.select("SELECT pg_sleep(60)")
    with psycopg.connect(running().get_uri(), autocommit=True) as admin:
        query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%%pg_sleep(60)%%'"
        until = time.monotonic() + 5
        while admin.execute(query + " AND pid <> pg_backend_pid()").fetchone() != (0,):
            assert time.monotonic() < until
            time.sleep(0.1)


def test_the_store_says_that_it_is_in_trouble_and_that_it_is_over(store: PostgresStore) -> None:
    opened(store)
    assert store.trouble() is None
    with stopped(), pytest.raises(KeepwholeError):
        store.append("s", [draft(store)])
    assert "does not answer" in (store.trouble() or "")
    until = time.monotonic() + 10
    while store.trouble() is not None and time.monotonic() < until:
        time.sleep(0.1)
        with suppress(KeepwholeError):
            store.sessions()
    assert store.trouble() is None


def test_a_server_that_is_full_is_tried_again(tmp_path: Path) -> None:
    url = fresh_url()
    role = f"few_{os.getpid()}"
    with psycopg.connect(running().get_uri(), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 1".encode())
    migrate(url, role)
    theirs = url.replace("postgres:@", f"{role}@")
    taken = psycopg.connect(theirs.partition("&schema=")[0])
    threading.Timer(1.5, taken.close).start()
    with keepwhole.session("s", store=theirs) as session:
        assert session.keep("t", None, "text").trace_id is not None


def test_nobody_waits_long_through_a_proxy_and_it_says_that_its_record_is_away(tmp_path: Path) -> None:
    store = PostgresStore(fresh_url(), str(tmp_path / "spool"), patience=PATIENCE)
    tool = offered("anthropic")[0]["name"]
    called = talk.call_messages("anthropic", [("one", tool, {"n": 1})])
    messages = [talk.user_message("go"), *called, *talk.result_messages("anthropic", [("one", LONG)])]
    body = {**request("anthropic"), "messages": messages}
    with upstream(lambda _: [Text("hello")]) as server, proxy(server.url, store=store) as served:
        assert ask(served.port, "/v1/messages", request("anthropic")).status == 200
        assert ask(served.port, "/healthz", method="GET").body["record"] == "ok"
        took: list[float] = []
        with stopped():
            for _ in range(4):
                began = time.monotonic()
                assert ask(served.port, "/v1/messages", body).status == 200
                took.append(time.monotonic() - began)
            assert ask(served.port, "/healthz", method="GET").body["record"] == "away"
            for probe in ("/livez", "/readyz"):  # it relays all the same: no balancer should turn away from it
                assert ask(served.port, probe, method="GET").status == 200
    store.close()
    assert max(took) < PATIENCE + 2 * SLACK
