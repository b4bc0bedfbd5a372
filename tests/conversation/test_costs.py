"""What a branch has cost: the client with `mode: off` pays neither for our batches nor for our recalls."""

from typing import Any

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.models.ledger import Ledger
from keepwhole.policies.settings import CAREFUL

EAGER = CAREFUL.replace(
    start=2_000, old_after={"other": 2}, patience=0.001, keep_steps=1, max_loss=1_000, clear_at_least=100
)
TEXT = "a line of plain words that a tool has printed\n" * 60


class Conversation:
    """Steps of one session, at a clock that the test moves."""

    def __init__(self, pause: float, **settings: Any) -> None:
        self.now, self.pause = 1_000_000.0, pause
        made = Settings(home="unused", **settings)
        self.session = Session("s", store=MemoryStore(), settings=made, clock=lambda: self.now)
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        self.edited = 0

    def step(self, number: int, tool: str = "fetch", text: str = TEXT) -> None:
        call = {"type": "tool_use", "id": f"c{number}", "name": tool, "input": {"id": str(number)}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number} {text}"}
        self.messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        self.edited = self.session.projection(self.messages).account.edited
        self.now += self.pause

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
