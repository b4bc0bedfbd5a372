"""The life of a result in a branch goes by the table in `conversation/branch.py`."""

from typing import Any

from keepwhole import MemoryStore, Session
from keepwhole.conversation.branch import Branch
from keepwhole.conversation.seen_result import State
from keepwhole.errors import NotStored
from keepwhole.policies.auto import Auto
from keepwhole.policies.settings import AutoSettings

ALLOWED = {
    (None, State.NEW),
    (None, State.KEPT),
    (None, State.DECIDED),
    (None, State.GONE),
    (State.NEW, State.KEPT),
    (State.NEW, State.DECIDED),
    (State.KEPT, State.DECIDED),
    (State.KEPT, State.GONE),
    (State.DECIDED, State.GONE),
    (State.GONE, State.KEPT),
    (State.GONE, State.DECIDED),
}
EAGER = Auto(
    AutoSettings(
        start=500,
        most=3_000,
        clear_at_least=100,
        min_tokens=50,
        worth=0,
        horizon=1_000,
        keep={"other": 1},
        keep_steps=1,
        max_loss=1_000,
    )
)


def step(number: int, size: int = 3_000) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": f'{{"at": {number}}}'}}
    text = "".join(f"line {line} of result {number}\n" for line in range(size // 20))
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
    ]


def branch_of(session: Session) -> Branch:
    return session.conversations._branches[-1][1]


def states(session: Session) -> dict[str, State]:
    branch = branch_of(session)
    return {seen.item.returned.call_id: seen.state(branch.decisions) for seen in branch._results}


class Watch:
    """Views of one conversation, with every change of a state that they make."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.before: dict[str, State] = {}
        self.changes: set[tuple[State | None, State]] = set()

    def view(self, messages: list[dict[str, Any]], model: str = "gpt-5") -> None:
        self.session.view(messages, model=model, policy=EAGER)
        now = states(self.session)
        pairs = {(self.before.get(call), state) for call, state in now.items()}
        self.changes |= {(before, after) for before, after in pairs if before != after}
        self.before = now


def test_a_result_is_kept_then_decided_when_it_ages() -> None:
    watch, messages = Watch(Session(store=MemoryStore())), [{"role": "user", "content": "do"}]
    for number in range(12):
        messages += step(number)
        watch.view(messages)
    assert watch.before["c0"] is State.DECIDED
    assert watch.before["c11"] is State.KEPT
    assert watch.changes == {(None, State.KEPT), (State.KEPT, State.DECIDED)}


def test_a_result_that_cannot_be_stored_stays_new_and_is_sent_whole() -> None:
    class Full(MemoryStore):
        is_full = True

        def append(self, *given: Any, **terms: Any) -> Any:
            if self.is_full:
                raise NotStored("full")
            return super().append(*given, **terms)

    store = Full()
    watch, messages = Watch(Session(store=store)), [{"role": "user", "content": "do"}, *step(0, 60_000)]
    watch.view(messages)
    assert watch.before == {"c0": State.NEW}
    assert watch.session.view(messages, policy=EAGER) == messages
    store.is_full = False
    watch.view(messages)
    assert watch.before == {"c0": State.KEPT}, "what was sent in full stays whole"
    assert watch.changes == {(None, State.NEW), (State.NEW, State.KEPT)}


def test_a_summary_makes_results_gone_and_a_fork_brings_them_back() -> None:
    watch, messages = Watch(Session(store=MemoryStore())), [{"role": "user", "content": "do"}]
    small = "claude-sonnet-5"
    for number in range(160):
        messages += step(number, 6_000)
        messages.append({"role": "user", "content": "go on " * 900})
        watch.view(messages, small)
        if State.GONE in watch.before.values():
            break
    assert watch.before["c0"] is State.GONE
    watch.view(messages[:9], small)
    assert State.GONE not in watch.before.values()
    assert watch.changes <= ALLOWED
