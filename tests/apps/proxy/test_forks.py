"""A conversation that goes on under another name: what the provider was sent of it stays, byte for byte."""

import copy
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from keepwhole import MemoryStore, Session, SqliteStore, config
from keepwhole.apps.proxy.destination import TenantRouter, Tenants
from keepwhole.canonical.entry import Result
from keepwhole.exchange.exchange import Exchange
from keepwhole.recall.names import NAMES
from keepwhole.record.fork import purge_with_files
from keepwhole.record.fork_note import TOOL
from keepwhole.record.journal import origin_of
from keepwhole.store.protocol import Store, entry_of
from tests.apps.proxy.agent import Agent
from tests.apps.proxy.agent_model import Model
from tests.apps.proxy.several_proxies import check_record, messages, place, proxies, unlikeness
from tests.upstream.prompt_cache import TILLS, Clock
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect, Json

WINDOW = 40_000
ARTIFACT = re.compile(r"art_\d+_[0-9A-Za-z]{22}")
each_dialect = pytest.mark.parametrize(
    ("dialect", "kind"), [*zip(TILLS, ("sqlite", "postgres", "sqlite"), strict=True)]
)


class Client(Agent):
    """An agent that can be copied with its whole conversation, and goes on when it is told to."""

    def __init__(self, dialect: Dialect, url: str, session: str, provider: Upstream) -> None:
        super().__init__(dialect, url, session)
        self._dialect, self._provider = dialect, provider
        self.sent: list[bytes] = []
        """What the provider got for each request: the first round."""

    def go(self, requests: int) -> "Client":
        """Make so many requests, or fewer where the work is done."""
        for step in range(requests):
            place = len(self._provider.asked)
            _, calls = self._ask(step % 2 == 1)
            self.sent.append(self._provider.asked[place].data)
            if not calls:
                break
            self._wire.add_results([(call_id, *self._call(call_id, *call)) for call_id, *call in calls])
        self._connection.close()
        return self

    def fork(self, session: str, url: str = "") -> "Client":
        """The same conversation under another name."""
        made = Client(self._dialect, url or f"http://{self._host}", session, self._provider)
        made._wire, made.world = copy.deepcopy(self._wire), copy.deepcopy(self.world)
        return made

    @property
    def unsaid_changes(self) -> list[tuple[bytes, bytes]]:
        """Where a request does not begin with the one before it, and no decision is said to have changed that."""
        pairs = zip(pairwise(self.sent), self.headers[1:], strict=True)
        told = [pair for pair, headers in pairs if "x-keepwhole-decisions" not in headers]
        return [unlikeness(*pair) for pair in told if not begins_with(pair[1], pair[0])]


def begins_with(after: bytes, before: bytes) -> bool:
    first = messages(before)
    return messages(after)[: len(first)] == first


def but_new_ids(body: bytes, known: bytes) -> list[Json]:
    """The messages of a request; ids that an earlier one does not have are drawn, and so left out."""
    old = set(ARTIFACT.findall(known.decode()))
    return json.loads(ARTIFACT.sub(lambda one: one[0] if one[0] in old else "art", json.dumps(messages(body))))


@contextmanager
def provider(dialect: Dialect, steps: int = 60) -> Iterator[Upstream]:
    with upstream(Model(steps), TILLS[dialect](Clock(), window=2_000_000)) as served:
        yield served
    assert served.failed == []
    assert served.refused == []


def models(dialect: Dialect) -> dict[str, dict[str, int]]:
    return {"claude-sonnet-5" if dialect == "anthropic" else "gpt-5": {"window": WINDOW}}


def named(store: Store, name: str) -> str:
    """The stored name of a session."""
    return next(info.name for info in store.sessions() if info.name.startswith(f"{name}@"))


@each_dialect
def test_a_fork_sends_what_its_origin_would_have_sent(tmp_path: Path, dialect: Dialect, kind: str) -> None:
    at = place(kind, tmp_path)
    with provider(dialect) as served, proxies(at, served.url, models=models(dialect)) as found:
        origin = Client(dialect, found["a"].url, "origin", served)
        for number in range(4):
            origin.go(9)
            found["a"].rest()
            fork = origin.fork(f"fork{number}", found["b"].url).go(1)
            found["b"].rest()
            last = origin.sent[-1]
            origin.go(1)
            assert but_new_ids(fork.sent[0], last) == but_new_ids(origin.sent[-1], last), unlikeness(*origin.sent[-2:])
            assert fork.headers[0].get("x-keepwhole-decisions") == origin.headers[-1].get("x-keepwhole-decisions")
        body = origin.sent[-1].decode()
        assert any(f'"{name}"' in json.dumps(messages(origin.sent[-1])) for name in NAMES), "a hidden round"
        assert len(set(ARTIFACT.findall(body))) > 10
        assert not origin.unsaid_changes


@each_dialect
def test_forks_disturb_neither_each_other_nor_their_origin(tmp_path: Path, dialect: Dialect, kind: str) -> None:
    at = place(kind, tmp_path)
    with provider(dialect) as served:
        with proxies(at, served.url, ("a",), models=models(dialect)) as found:
            origin = Client(dialect, found["a"].url, "origin", served).go(16)
            found["a"].rest()
        store = at.store("reader")
        rows = list(store.rows(named(store, "origin")))
        with proxies(at, served.url, ("a", "b"), models=models(dialect)) as found:  # as after a restart
            forks = [origin.fork(way, one.url) for way, one in found.items()]
            for _ in range(6):
                for fork in forks:
                    fork.go(2)
            for one in found.values():
                one.rest()
            assert list(store.rows(named(store, "origin"))) == rows
            resumed = origin.fork("origin", found["a"].url)
            resumed.sent, resumed.headers = origin.sent[-1:], origin.headers[-1:]
            resumed.go(8)
        assert len(resumed.sent) == 9
        for one in (*forks, resumed):
            assert not one.unsaid_changes
        assert messages(forks[0].sent[-1]) != messages(forks[1].sent[-1])
        kinds = check_record(store)
        assert kinds["aged"] > 6, kinds
        store.close()


@each_dialect
def test_what_a_fork_shows_is_found_in_it_when_its_origin_is_purged(
    tmp_path: Path, dialect: Dialect, kind: str
) -> None:
    at = place(kind, tmp_path)
    with provider(dialect) as served, proxies(at, served.url, ("a",), models=models(dialect)) as found:
        origin = Client(dialect, found["a"].url, "origin", served).go(20)
        found["a"].rest()
        fork = origin.fork("fork").go(1)
        found["a"].rest()
        store = at.store("reader")
        store.purge(named(store, "origin"), 1)
        fork.go(8)
        found["a"].rest()
        session = Session(named(store, "fork"), store=store)
        shown = set(ARTIFACT.findall(fork.sent[-1].decode()))
        assert len(shown) > 10
        texts = {kept.text for kept in (*origin.results, *fork.results)}
        assert sum(session.recall(one) in texts for one in shown) > 10
        assert not fork.unsaid_changes
        check_record(store)
        store.close()


def test_a_fork_notes_where_it_comes_from(tmp_path: Path) -> None:
    at = place("sqlite", tmp_path)
    with provider("anthropic") as served, proxies(at, served.url, ("a",), models=models("anthropic")) as found:
        origin = Client("anthropic", found["a"].url, "origin", served).go(9)
        found["a"].rest()
        origin.fork("fork").go(3).fork("second").go(3)
        found["a"].rest()
        store = at.store("reader")
        names = {name: named(store, name) for name in ("origin", "fork", "second")}
        assert {name: origin_of(store, stored) for name, stored in names.items()} == {
            "origin": None,
            "fork": names["origin"],
            "second": names["fork"],
        }
        store.close()


# Conversations that only look like forks, told to a router without a socket


LONG = "\n".join(f"line {number} " + "x" * 80 for number in range(4_000))


def router(home: Path, store: Store, **more: Any) -> TenantRouter:
    settings = config.load().replace(mode="on", **more)
    return TenantRouter(settings, store, Tenants(str(home), "key", 0.0, store))


def begin(
    desk: TenantRouter, session: str, said: list[Json], key: str = "k", path: str = "/v1/chat/completions"
) -> Exchange:
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "go"}, *said], "tools": tools}
    headers = {"x-keepwhole-session": session, "authorization": f"Bearer {key}"}
    exchange = desk.begin("POST", path, headers, json.dumps(body).encode())
    assert isinstance(exchange, Exchange)
    if exchange.is_unsettled:
        exchange.settle()
    return exchange


def step(call: str, command: str, text: str) -> list[Json]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": call, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call, "content": text},
    ]


DONE: Json = {"role": "assistant", "content": "Done."}
MORE: Json = {"role": "user", "content": "go on"}
AGAIN = [DONE, MORE]


def ids(exchange: Exchange) -> set[str]:
    """The ids in what is sent."""
    return set(ARTIFACT.findall(exchange.body.decode()))


def test_a_copy_under_another_name_keeps_its_ids(tmp_path: Path) -> None:
    desk = router(tmp_path, MemoryStore())
    first = begin(desk, "one", step("call_x", "make", LONG))
    second = begin(desk, "two", [*step("call_x", "make", LONG), *AGAIN])
    assert first.session != second.session
    assert ids(first)
    assert ids(second) == ids(first)


def test_nobody_gets_what_another_owner_was_shown(tmp_path: Path) -> None:
    desk, said = router(tmp_path, MemoryStore()), step("call_x", "make", LONG)
    first = begin(desk, "one", said, "k1")
    second = begin(desk, "two", [*said, *AGAIN], "k2")
    assert not ids(first) & ids(second)
    assert ids(second)


@pytest.mark.parametrize(
    "other",
    [step("call_0", "make", LONG + "!"), step("call_0", "make test", LONG), step("call_1", "make", LONG)],
    ids=["another result", "another call", "another id"],
)
def test_numbered_calls_of_another_conversation_are_not_taken_for_its_own(tmp_path: Path, other: list[Json]) -> None:
    desk = router(tmp_path, MemoryStore())
    first = begin(desk, "one", step("call_0", "make", LONG))
    second = begin(desk, "two", [*other, *AGAIN])
    assert ids(first)
    assert ids(second)
    assert not ids(first) & ids(second)


def test_two_conversations_agree_up_to_where_they_part(tmp_path: Path) -> None:
    desk = router(tmp_path, MemoryStore())
    alike, own, other = step("call_0", "make", LONG), step("call_1", "ls", LONG * 2), step("call_1", "ls", LONG * 3)
    begin(desk, "one", alike)
    first = begin(desk, "one", [*alike, *own])
    second = begin(desk, "two", [*alike, *other, *AGAIN])
    assert len(ids(first)) == len(ids(second)) == 2
    assert len(ids(first) & ids(second)) == 1


def test_results_that_are_too_short_to_hide_prove_nothing(tmp_path: Path) -> None:
    store = MemoryStore()
    desk, said = router(tmp_path, store), step("call_0", "true", "ok")
    begin(desk, "one", said)
    begin(desk, "two", [*said, *AGAIN])
    assert not [note for info in store.sessions() for note in notes(store, info.name)]


def notes(store: Store, name: str) -> list[Result]:
    headers = (entry_of(row).header for row in store.rows(name, kind="result"))
    return [header for header in headers if isinstance(header, Result) and header.tool == TOOL]


def test_a_conversation_that_began_here_is_looked_for_nowhere_else(tmp_path: Path) -> None:
    store = MemoryStore()
    desk, said = router(tmp_path, store), step("call_0", "make", LONG)
    for name in ("one", "two"):  # as a provider with numbered ids has it, and a machine on which `make` says the same
        begin(desk, name, said)
        begin(desk, name, [*said, *AGAIN])
    first, second = (begin(desk, name, [*said, *AGAIN]) for name in ("one", "two"))
    assert not ids(first) & ids(second)
    assert not [note for info in store.sessions() for note in notes(store, info.name)]


def test_a_count_of_tokens_leaves_no_trace_of_a_fork(tmp_path: Path) -> None:
    store = MemoryStore()
    desk = router(tmp_path, store)
    said: list[Json] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "work", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": LONG}]},
    ]

    def asked(session: str, path: str, said: list[Json]) -> Exchange:
        body = {"model": "m", "max_tokens": 9, "messages": said, "tools": [{"name": "work", "input_schema": {}}]}
        headers = {"x-keepwhole-session": session, "x-api-key": "k"}
        exchange = desk.begin("POST", path, headers, json.dumps(body).encode())
        assert isinstance(exchange, Exchange)
        return exchange

    first = asked("one", "/v1/messages", said)
    rows = {info.name: list(store.rows(info.name)) for info in store.sessions()}
    asked("two", "/v1/messages/count_tokens", [*said, *AGAIN])
    assert {info.name: list(store.rows(info.name)) for info in store.sessions()} == rows
    assert ids(asked("two", "/v1/messages", [*said, *AGAIN])) == ids(first) != set()


def test_a_fork_that_does_not_fit_the_quota_begins_as_a_new_session(tmp_path: Path) -> None:
    store = MemoryStore()
    said = step("call_x", "make", LONG)
    first = begin(router(tmp_path, store), "one", said)
    second = begin(router(tmp_path, store, session_quota=len(LONG) // 2), "two", [*said, *AGAIN])
    assert ids(first)
    assert not ids(second), "what is not stored is sent in full"
    assert LONG in json.loads(second.body)["messages"][2]["content"]


def test_the_oldest_of_many_copies_is_the_origin(tmp_path: Path) -> None:
    store = MemoryStore()
    desk, said = router(tmp_path, store), step("call_x", "make", LONG)
    first = begin(desk, "one", said)
    for number in range(12):
        begin(desk, f"copy{number}", [*said, *AGAIN])
    assert {note.arguments for info in store.sessions() for note in notes(store, info.name)} == {
        json.dumps({"v": 1, "origins": [first.session], "turns": 2, "offered": [], "bills": []})
    }


def test_files_that_a_fork_names_are_there_when_its_origin_is_purged(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "record"))
    said = step("call_x", "make", LONG)
    first = begin(router(tmp_path, store, recall="path"), "one", said)
    second = begin(router(tmp_path, store, recall="path"), "two", [*said, *AGAIN])
    third = begin(router(tmp_path, store, recall="path"), "three", [*said, *AGAIN, *step("call_y", "ls", LONG * 2)])
    (named,) = set(re.findall(r"/[^\s\"\\]+[.]txt", first.body.decode()))
    assert named in second.body.decode()
    assert named in third.body.decode()
    store.purge(first.session, 1)
    assert not Path(named).exists()
    begin(router(tmp_path, store, recall="path"), "two", [*said, *AGAIN, *AGAIN])
    assert Path(named).read_text() == LONG
    for session in (second.session, third.session):
        purge_with_files(store, session, 1)
    assert not Path(named).exists()
    assert not list((tmp_path / "record" / "results").rglob("*.txt"))
    store.close()
