"""A request that needs no write is begun on a thread that must not wait; any other one ends there without a trace."""

import re
import threading
from pathlib import Path
from typing import Any

import pytest

from keepwhole import MemoryStore
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Result
from keepwhole.config import Settings
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft, SessionInfo
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.store.wait_guard import MustWait, held, held_meanwhile, without_waiting
from keepwhole.truncation.configuration import TruncationConfiguration
from tests.exchange.checked_proxy import long_log
from tests.wire.clients import ClaudeCode, Json, Sent

_ID = re.compile(r"(?:art|tr)_[0-9A-Za-z_-]{20,}")


def conversation(steps: dict[str, str]) -> list[Sent]:
    """The requests of a client whose results are these texts."""
    client = ClaudeCode("s")
    history: list[Json] = [client.prompt("go")]
    sent = [client.request(history)]
    for call, text in steps.items():
        history = [*history, *client.calls(call), *client.results(**{call: text})]
        sent.append(client.request(history))
    return sent


def at_once(router: SessionRouter, sent: Sent) -> Exchange:
    begun = router.begin_at_once("POST", sent.path, sent.headers, sent.data)
    assert isinstance(begun, Exchange)
    return begun


def begun(router: SessionRouter, sent: Sent) -> Exchange:
    found = router.begin("POST", sent.path, sent.headers, sent.data)
    assert isinstance(found, Exchange)
    return found


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    store = SqliteStore(str(tmp_path))
    store.sessions()  # it is open, as it is once a proxy has had a request
    return store


def router_of(store: SqliteStore | MemoryStore, **options: Any) -> SessionRouter:
    return SessionRouter(each=True, settles=True, store=store, **options)


def test_small_results_are_sent_at_once_and_recorded_when_they_are_settled(store: SqliteStore) -> None:
    router = router_of(store)
    for number, sent in enumerate(conversation({f"c{number}": f"result {number}\n" for number in range(5)})):
        exchange = at_once(router, sent)
        assert f"result {number - 1}".encode() in exchange.body or not number
        exchange.settle()
    assert [row.kind for row in store.rows("s")].count("result") == 5
    assert router.counts["turn"] == router.counts["requests"] == 6


def test_what_has_to_be_hidden_is_not_sent_at_once_and_leaves_no_trace(store: SqliteStore) -> None:
    limits = TruncationConfiguration(inline_limit=1_000)
    router = router_of(store, settings=Settings(home="unused", truncation=limits))
    first, small, cut = conversation({"c1": "ok\n", "c2": "x y z\n" * 400})
    for sent in (first, small):
        at_once(router, sent).settle()
    rows, counts = [row.seq for row in store.rows("s")], dict(router.counts)
    with pytest.raises(MustWait):
        at_once(router, cut)
    assert [row.seq for row in store.rows("s")] == rows
    assert router.counts == counts
    assert len(begun(router, cut).body) < len(cut.data)
    assert len([row for row in store.rows("s") if row.kind == "decision"]) == 1


def test_begun_again_after_it_had_to_wait_the_same_is_sent(tmp_path: Path) -> None:
    steps = {f"c{number}": (long_log(f"c{number}", 60 if number % 3 else 900)) for number in range(12)}
    steps |= {f"d{number}": f"{number}\n" for number in range(5)}
    patient, hurried = (router_of(SqliteStore(str(tmp_path / name))) for name in ("patient", "hurried"))
    waited = 0
    for sent in conversation(steps):
        wanted = begun(patient, sent)
        try:
            given = at_once(hurried, sent)
        except MustWait:
            waited += 1
            given = begun(hurried, sent)
        assert _ID.sub("ID", given.body.decode()) == _ID.sub("ID", wanted.body.decode())
        for exchange in (wanted, given):
            exchange.settle()
    assert 0 < waited < len(steps)


def test_a_long_request_and_one_with_much_that_is_new_are_not_begun_at_once(store: SqliteStore) -> None:
    router = router_of(store)
    _, large = conversation({"c1": "a line of text\n" * 400})
    with pytest.raises(MustWait):
        at_once(router, large)
    begun(router, large).settle()
    assert at_once(router, large).body  # now all of it is known


def test_a_store_that_may_take_long_is_never_asked_at_once() -> None:
    router = router_of(MemoryStore())
    with pytest.raises(MustWait):
        at_once(router, conversation({})[0])


def test_a_session_that_another_thread_works_on_is_left_alone(store: SqliteStore) -> None:
    router = router_of(store)
    first, second = conversation({"c1": "ok\n"})
    at_once(router, first)
    lock, is_held, is_tried = router.session("s").conversations.journal.lock, threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            is_tried.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(10)
    with pytest.raises(MustWait):
        at_once(router, second)
    is_tried.set()
    thread.join()
    assert at_once(router, second).body


def test_results_that_are_not_recorded_yet_are_recorded_before_anything_else(store: SqliteStore) -> None:
    router = router_of(store)
    first, second, third = conversation({"c1": "one\n", "c2": "two\n"})
    at_once(router, first)
    unsettled = at_once(router, second)
    assert unsettled.is_unsettled
    with pytest.raises(MustWait):
        at_once(router, third)


def test_nothing_is_written_by_a_thread_that_must_not_wait(store: SqliteStore) -> None:
    store.open_session(SessionInfo(name="s"))
    draft = Draft(
        Result(at=1, trace_id="tr_1", artifact_id="art_1", tool="t"), Body(measure(b"x", "utf-8"), inline=b"x")
    )
    with without_waiting():
        with pytest.raises(MustWait):
            store.append("s", [draft])
        with pytest.raises(MustWait):
            store.store_body(Feed("x" * 100_000), 1_000_000)
    assert store.append("s", [draft])


def test_a_lock_is_waited_for_only_by_a_thread_that_may_wait() -> None:
    lock = threading.Lock()
    with held_meanwhile(lock):
        assert not lock.locked()
    with without_waiting(), held_meanwhile(lock):
        assert lock.locked()
        with pytest.raises(MustWait), held(lock):
            pass
    assert not lock.locked()


def test_a_lock_that_is_free_in_a_moment_is_not_worth_another_thread() -> None:
    waits: list[float] = []

    class Lock:
        """A lock that is free as soon as somebody waits for it."""

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            waits.append(timeout)
            return timeout != 0

        def release(self) -> None:
            """Give it back."""

    with held(Lock()):
        pass
    with without_waiting(), held(Lock()):
        pass
    assert waits[0] == -1
    assert 0 < waits[1] <= 0.001
