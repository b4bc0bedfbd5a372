"""Replay keeps the promise: a run under `auto` costs at most `max_loss` more than with `mode: off`, wherever it ends.

A line of what a batch has hidden is fetched back, once and right after the batch: the worst that it leaves room for.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keepwhole.models.ledger import Costs
from keepwhole.models.profiles import DEFAULT
from keepwhole.policies.auto import Auto
from keepwhole.policies.settings import CAREFUL
from keepwhole.replay.cost import Loss, price_of, refetch_cost, sending_cost
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.replay import replay, replay_unchanged
from tests.replay.recorded import calls, facts, result, run, user

TOOLS = 120
CENT = 3_333
"""Tokens for a cent at three dollars a million."""
ROUNDED = 0.005
"""A cache serves whole blocks, and requests are whole numbers of tokens; the budget is not that exact."""
QUICK = CAREFUL.replace(worth=100_000, horizon=100, clear_at_least=1_000, keep_steps=1, start=10_000)
"""Settings under which results stay for some turns, and then go in a batch as soon as it is afforded."""
sizes = st.lists(st.sampled_from([300, 2_000, 8_000]), min_size=25, max_size=70)
prices = st.sampled_from([(0.10, 1.25), (0.05, 1.25), (0.02, 1.0)])


def work(lengths: list[int]) -> Any:
    steps = [
        (calls(tool="fetch", q=f"q{step}"), result(f"r{step} " + "w" * length)) for step, length in enumerate(lengths)
    ]
    return run(user("go"), *(message for step in steps for message in step), calls(tool="fetch", q="end"))


def worst(lengths: list[int], price: tuple[float, float], window: int, auto: Auto) -> float:
    """How many times the cost of `mode: off` a run costs at the most, if it ends with any of its batches and something
    is fetched back then; 0 for less than a cent."""
    profile = DEFAULT.replace(window=window, read=price[0], write=price[1], minimum=0, assumed=())
    one = facts(work(lengths))
    ours, off = replay(one, auto, profile, window, tools=TOOLS), replay_unchanged(one, profile, window)
    cost = partial(sending_cost, price=price_of(profile), rule="tail")
    found = 0.0
    for step in ours.rewritten:
        paid = cost(ours.requests[: step + 1]) + _fetched(ours, step, profile)
        unmanaged = cost(off.requests[: step + 1])
        found = max(found, paid / unmanaged if paid - unmanaged > CENT else 0.0)
    return found


def _fetched(outcome: Outcome, step: int, profile: Any) -> float:
    return refetch_cost(outcome.requests[: step + 1], [Loss(step, 0, 1, 1)], price_of(profile))


@settings(max_examples=40, deadline=None)
@given(lengths=sizes, price=prices, room=st.sampled_from([1.3, 4.0]))
@example(lengths=[300] * 22 + [8_000, 300, 8_000], price=(0.1, 1.25), room=1.3)
def test_a_run_that_ends_with_a_batch_and_fetches_something_back_costs_no_more(
    lengths: list[int], price: tuple[float, float], room: float
) -> None:
    """Where the window does not force anything: above nine tenths of it a client compacts at both sides, which this
    replay of one policy by itself does not follow."""
    window = int(room * (sum(lengths) + 50 * len(lengths)))
    assert worst(lengths, price, window, Auto(QUICK)) <= 1 + QUICK.max_loss + ROUNDED


def test_a_batch_that_leaves_no_room_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def affords_all(self: Costs, share: float) -> Callable[[int, int], bool]:
        return lambda behind, freed: self.of_batch(behind, freed) <= 2 * self.budget(share)

    monkeypatch.setattr(Costs, "affords_batch", affords_all)
    found = max(worst([8_000] * steps, (0.05, 1.25), 200_000, Auto(QUICK)) for steps in range(15, 40, 3))
    assert found > 1 + QUICK.max_loss + ROUNDED
