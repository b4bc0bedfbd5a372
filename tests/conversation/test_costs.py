"""What a branch has cost: the client with `mode: off` pays neither for our batches nor for our recalls."""

import json
from copy import copy
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.exchange.fork import ForkCheck
from keepwhole.models.ledger import Ledger
from keepwhole.policies.settings import CAREFUL
from keepwhole.record.bills import Billing
from keepwhole.wire.dialects import conversation_dialect
from keepwhole.wire.request_body import read_request

EAGER = CAREFUL.replace(start=2_000, worth=0, horizon=1_000, keep_steps=1, max_loss=1_000, clear_at_least=100)
TEXT = "a line of plain words that a tool has printed\n" * 60


class Conversation:
    """Steps of one session, at a clock that the test moves."""

    def __init__(self, pause: float, **settings: Any) -> None:
        self.name, self.now, self.pause = "s", 1_000_000.0, pause
        self.settings, self.store = Settings(home="unused", **settings), MemoryStore()
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        self.restart()
        self.projected = self.session.projection(self.messages)

    def restart(self) -> None:
        self.session = Session(self.name, store=self.store, settings=self.settings, clock=lambda: self.now)

    def step(self, number: int, tool: str = "fetch", text: str = TEXT) -> None:
        call = {"type": "tool_use", "id": f"c{number}", "name": tool, "input": {"id": str(number)}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number} {text}"}
        self.messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        self.projected = self.session.projection(self.messages)
        self.now += self.pause

    def fork(self) -> "Conversation":
        """The same conversation, which goes on under another name."""
        made = copy(self)
        made.messages = list(self.messages)
        made.name = "fork"
        made.restart()
        request = read_request(json.dumps({"messages": made.messages}).encode())
        assert request is not None
        assert ForkCheck(made.session).take_over(conversation_dialect("anthropic"), request, "main")
        return made

    @property
    def edited(self) -> int:
        return self.projected.account.edited

    @property
    def ledger(self) -> Ledger:
        return self.session.conversations._branches[-1][1].costs._ledger


def test_a_batch_that_loses_the_cache_is_no_cost_of_the_client() -> None:
    plain, managed = Conversation(20, mode="on", auto=CAREFUL), Conversation(20, mode="on", auto=EAGER)
    for number in range(30):
        plain.step(number)
        managed.step(number)
    assert (plain.edited, managed.edited > 5) == (0, True)
    assert managed.ledger.unmanaged <= 1.01 * plain.ledger.unmanaged
    assert plain.ledger.paid == plain.ledger.unmanaged


def test_a_step_that_only_recalls_is_paid_by_us_alone() -> None:
    talk = Conversation(20)
    for number in range(6):
        talk.step(number)
    before, paid = talk.ledger.unmanaged, talk.ledger.paid
    talk.step(6, "get_artifact")
    talk.step(7)
    with_recall = talk.ledger.unmanaged - before
    other = Conversation(20)
    for number in range(7):
        other.step(number)
    once = other.ledger.unmanaged - before
    assert with_recall == once, "one request, not two"
    assert talk.ledger.paid - paid > once


def test_a_fork_begins_with_neither_the_costs_nor_the_savings_of_its_origin() -> None:
    origin = Conversation(20, mode="on", auto=EAGER)
    for number in range(20):
        origin.step(number)
    fork = origin.fork()
    fork.projected = fork.session.projection(fork.messages)
    assert min(origin.ledger.paid, origin.ledger.unmanaged) > 10_000
    assert (fork.ledger.paid, fork.ledger.unmanaged) == (0, 0)
    before = origin.ledger.paid, origin.ledger.unmanaged
    for number in range(20, 26):
        origin.step(number)
        fork.step(number)
    own = fork.ledger.paid, fork.ledger.unmanaged
    assert own[1] == pytest.approx(origin.ledger.unmanaged - before[1], rel=0.01)
    assert own[0] == pytest.approx(origin.ledger.paid - before[0], rel=0.01)
    fork.restart()
    fork.projected = fork.session.projection(fork.messages)
    assert (fork.ledger.paid, fork.ledger.unmanaged) == pytest.approx(own, rel=0.01), "as another process has it"


def with_summary() -> Conversation:
    """A conversation whose newest request is the first with a summary."""
    talk = Conversation(20, mode="on", models={"default": {"window": 12_000}})
    while not talk.projected.account.compacted:
        talk.step(len(talk.messages))
    return talk


def test_the_first_request_with_a_summary_is_paid_as_new() -> None:
    talk = with_summary()
    before, sent = talk.ledger.paid, talk.projected.account.tokens_sent
    talk.step(1_000)
    assert talk.ledger.paid - before >= 1.2 * sent, "all behind the summary was written to the cache again"


def test_another_process_knows_what_the_client_had_in_its_cache_before_a_summary() -> None:
    talk = with_summary()
    talk.step(1_000)
    before = talk.ledger
    talk.restart()
    talk.step(1_001)
    after = talk.ledger
    assert after.unmanaged <= before.unmanaged
    assert after.budget(0.05) <= before.budget(0.05) + 200, "a new process has saved nothing"


def test_processes_that_have_seen_other_bills_count_the_same_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[float, float]] = []
    for scale in (1.0, 1.3):
        monkeypatch.setattr(Billing, "scale", lambda _, model, scale=scale: scale)
        talk = Conversation(20)
        for number in range(20):
            talk.step(
                number, "read_file", TEXT if number else 5 * TEXT
            )  # longer than the shortest prefix that is cached
        counted.append((talk.ledger.paid, talk.ledger.unmanaged))
    assert counted[0] == counted[1]
