"""Clients whose requests come in any order: each result is shown in one form, stored once, and recalled whole."""

from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from keepwhole import Session
from tests.exchange.checked_proxy import CheckedProxy, long_log, result_texts
from tests.wire.clients import CLIENTS, ClaudeCode, Json, Nameless

LINES = 300


class Agents:
    """Several clients of one kind at work: on with it, back, again, apart, summed up, after a restart."""

    def __init__(self, kind: Any, random: Random) -> None:
        self.random, self.proxy = random, CheckedProxy()
        self.clients: list[Any] = [kind("s1"), kind("s1"), kind("s2")]
        self.histories: list[list[Json]] = [[client.prompt("go")] for client in self.clients]
        self.steps: list[list[int]] = [[], [], []]
        """Where each history may be gone back to."""
        self.texts: dict[tuple[str, str], str] = {}
        self.calls = 0

    def run(self, times: int) -> None:
        for _ in range(times):
            at = self.random.randrange(len(self.clients))
            self.random.choice([self.on, self.on, self.on, self.again, self.back, self.summed, self.restarted])(at)

    def on(self, at: int) -> None:
        self.calls += 1
        client, call = self.clients[at], f"call{self.calls}"
        self.steps[at].append(len(self.histories[at]))
        self.histories[at] += [*client.calls(call), *client.results(**{call: long_log(call, LINES)})]
        self.again(at)

    def again(self, at: int) -> None:
        client = self.clients[at]
        for call, text in result_texts(self.proxy.send(client.request(self.histories[at]))).items():
            assert self.texts.setdefault((client.session, call), text) == text, "shown one way"

    def back(self, at: int) -> None:
        if self.steps[at]:
            keep = self.random.randrange(len(self.steps[at]))
            self.histories[at] = self.histories[at][: self.steps[at][keep]]
            del self.steps[at][keep:]

    def summed(self, at: int) -> None:
        client, history = self.clients[at], self.histories[at]
        sent = result_texts(self.proxy.send(client.compaction(history)))
        assert all(text == long_log(call, LINES) for call, text in sent.items())
        if self.random.random() < 0.5 and self.steps[at]:
            first = client.prompt("This session is being continued from a previous conversation.")
            self.histories[at] = [first, *history[self.steps[at][-1] :]]
            self.steps[at] = [1]
            self.again(at)

    def restarted(self, _: int) -> None:
        self.proxy = CheckedProxy(self.proxy.store)

    def check(self) -> None:
        for name in self.proxy.sessions():
            session = Session(name, store=self.proxy.store)
            assert session.verify().whole
            for call in self.proxy.kept_calls(name):
                (row,) = self.proxy.store.find_call(name, call)
                assert session.recall(row.trace_id) == long_log(call, LINES)
        assert {(name, call) for name in self.proxy.sessions() for call in self.proxy.kept_calls(name)} >= set(
            self.texts
        )


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("seed", range(6))
def test_whatever_clients_do_a_result_is_shown_one_way_and_kept_once(kind: Any, seed: int) -> None:
    agents = Agents(kind, Random(seed))
    agents.run(40)
    agents.check()


@pytest.mark.parametrize("kind", [ClaudeCode, Nameless])
def test_agents_at_the_same_time_do_not_mix(kind: Any) -> None:
    proxy = CheckedProxy()

    def work(name: int) -> dict[str, str]:
        client = kind("s", agent=f"a{name}")
        history, before = [client.prompt("go")], dict[str, str]()
        for number in range(6):
            call = f"a{name}x{number}"
            history += [*client.calls(call), *client.results(**{call: long_log(call, LINES)})]
            after = result_texts(proxy.send(client.request(history)))
            assert before.items() <= after.items()
            before = after
        return before

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(work, range(6)))
    assert [sorted(texts) for texts in found] == [[f"a{name}x{number}" for number in range(6)] for name in range(6)]
    assert len(proxy.sessions()) == (1 if kind is ClaudeCode else 6)
    assert sum(len(proxy.kept_calls(name)) for name in proxy.sessions()) == 36
