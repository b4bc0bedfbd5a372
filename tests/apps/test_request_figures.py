"""What `mode: off` is said to have cost is what the same client pays for the same work."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from keepwhole.apps.request_figures import Cost, RunningCosts, branches, cost_of, profiles_with
from keepwhole.canonical.round_times import RoundTimes
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.request_log import RequestLog
from keepwhole.wire.dialects import Endpoint, conversation_dialect
from keepwhole.wire.request_body import read_request
from tests.promises import priced_client
from tests.promises.priced_client import MODEL, Client, ManagedClient, Weights, prose
from tests.upstream.prompt_cache import Breakpoints, Clock

PRICES: dict[str, Any] = {"read": 0.1, "write": 1.25, "minimum": 1_024}


class RecordedClient(ManagedClient):
    """A client with Keepwhole whose requests are on record, with their bills."""

    def send(self, body: bytes) -> bytes:
        request = read_request(body)
        assert request is not None
        dialect, log = Endpoint(conversation_dialect("anthropic")), RequestLog(self.session)
        self.exchange = Exchange(self.session, self.rounds, dialect, request, log=log).begin()
        return self.exchange.body

    def learn(self, body: bytes, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        assert self.exchange is not None
        usage = self.exchange.learn_bill(200, data, complete=True)
        self.exchange.record(0, 200, data, "complete", usage, RoundTimes(0, 0, 1))


def always(number: int) -> bool:
    return True


def run(
    weights: Weights, steps: int, window: int, rest: float = 0.0, **settings: Any
) -> tuple[Client, RecordedClient, Cost]:
    """The same script with `mode: off` and with Keepwhole, resting in the middle; and what the record says of both."""
    clocks = Clock(), Clock()
    tills = [Breakpoints(clock, window) for clock in clocks]
    models = {**PRICES, "window": window}
    off = Client(weights, tills[0], clocks[0], always)
    on = RecordedClient(weights, tills[1], clocks[1], always, models, **settings)
    for number in range(steps):
        off.step(number)
        on.step(number)
        for clock in clocks:
            clock.pass_by(rest if number == steps // 2 else 0)
    cost = cost_of(RequestLog(on.session).all(), profiles_with({MODEL: models}))
    assert cost is not None
    return off, on, cost


def numbers(seed: str, chars: int) -> str:
    """Results of digits, everything else in words: one takes more tokens than it is estimated, the other fewer."""
    if not seed.startswith("r"):
        return prose(seed, chars)
    drawn = random.Random(seed)
    return "".join(f"{drawn.randrange(10**8):08x} " for _ in range(chars // 8 + 1))[:chars]


RUNS: dict[str, Callable[[], tuple[Client, RecordedClient, Cost]]] = {
    "a client that never compacts": lambda: run(Weights(result=6_000), 60, 200_000),
    "results that are cut on arrival": lambda: run(Weights(result=12_000), 45, 200_000, preset="lean"),
    "results that age in batches": lambda: run(Weights(result=6_000), 80, 60_000),
    "one long rest": lambda: run(Weights(result=12_000), 30, 200_000, rest=7_200, preset="lean"),
    "pauses in which the cache forgets": lambda: run(Weights(result=6_000, pause=400), 30, 200_000),
    "entries for an hour": lambda: run(Weights(result=12_000, ttl="1h"), 45, 200_000, preset="lean"),
    "pauses within the hour": lambda: run(Weights(result=6_000, pause=600, ttl="1h"), 80, 60_000),
    "a rest longer than the hour": lambda: run(Weights(result=12_000, ttl="1h"), 30, 200_000, 7_200, preset="lean"),
}


@pytest.mark.parametrize(
    ("name", "texts"),
    [*((name, prose) for name in RUNS), ("results that are cut on arrival", numbers), ("one long rest", numbers)],
)
def test_both_figures_are_what_was_and_would_have_been_paid(
    name: str, texts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(priced_client, "prose", texts)
    off, on, cost = RUNS[name]()
    assert cost.paid == pytest.approx(on.cost, rel=0.001)
    assert cost.whole == pytest.approx(off.cost, rel=0.06)


def test_a_run_that_begins_in_the_middle_of_a_conversation_saves_what_it_saves_itself() -> None:
    """A resumed session, or a fork: with `mode: off` its first request would have been cached as well."""
    off, on, _ = run(Weights(result=12_000), 24, 200_000, preset="lean")
    steps = RequestLog(on.session).all()[-4:]
    cost = cost_of(steps, profiles_with({MODEL: {**PRICES, "window": 200_000}}))
    assert cost is not None
    assert cost.paid == pytest.approx(sum(bill.cost for bill in on.till.bills[-4:]), rel=0.001)
    assert cost.whole == pytest.approx(sum(bill.cost for bill in off.till.bills[-4:]), rel=0.1)


def test_answers_may_come_in_any_order_and_more_than_once() -> None:
    _, on, cost = run(Weights(result=12_000), 12, 200_000, preset="lean")
    steps, profile_of = RequestLog(on.session).all(), profiles_with({MODEL: {**PRICES, "window": 200_000}})
    for order in (steps[::-1], [*steps[6:], *steps[:6]], [*steps, *steps], [step for step in steps for _ in range(2)]):
        assert cost_of(order, profile_of) == cost
    costs = RunningCosts(profile_of)
    for step in steps:
        costs.add(step._replace(response=None))
    assert costs.total is None
    for step in steps[::-1]:
        costs.add(step)
    assert costs.total == cost


def test_steps_are_told_apart_by_their_branch() -> None:
    _, on, _ = run(Weights(), 3, 200_000)
    steps = RequestLog(on.session).all()
    other = [step._replace(request=step.request.replace(branch="helper")) for step in steps[1:2]]
    assert branches([*steps[:1], *other, *steps[2:]]) == [[*steps[:1], *steps[2:]], other]
