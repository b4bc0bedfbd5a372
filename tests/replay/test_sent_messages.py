"""What is in front of a replayed request: the recall tools, and a summary in place of the oldest messages."""

from typing import Any

import pytest

from keepwhole.models.profiles import DEFAULT, Profile
from keepwhole.models.unmanaged import SUMMARY, ClientRequest, UnmanagedClient
from keepwhole.policies.auto import Auto
from keepwhole.replay.cost import price_of, sending_cost
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.replay import replay, replay_unchanged
from tests.replay.recorded import KEEP_ALL, calls, facts, result, run, user

TOOLS = 120
WINDOW = 20_000
PROFILE = DEFAULT.replace(window=WINDOW, minimum=0, assumed=())


def work(count: int, words: int, tool: str = "Bash") -> Any:
    """A run of that many results."""
    steps = [(calls(tool=tool, q=f"q{step}"), result(f"r{step} " + "word " * words)) for step in range(count)]
    return run(user("go"), *(message for step in steps for message in step), calls(tool=tool, q="end"))


def under_auto(count: int, words: int, tool: str = "Bash", profile: Profile = PROFILE) -> Outcome:
    return replay(facts(work(count, words, tool)), Auto(), profile, profile.window, tools=TOOLS)


def test_an_agent_that_runs_commands_has_the_tools_in_every_request() -> None:
    whole = replay_unchanged(facts(work(5, 50)), PROFILE, WINDOW)
    more = [ours.total - all.total for ours, all in zip(under_auto(5, 50).requests, whole.requests, strict=True)]
    assert more == [TOOLS] * 6


def test_a_service_of_which_nothing_is_hidden_costs_what_it_costs_without() -> None:
    whole = replay_unchanged(facts(work(5, 50, "get_order")), PROFILE, WINDOW)
    assert under_auto(5, 50, "get_order").requests == whole.requests


def test_the_tools_come_once_with_the_first_result_that_is_hidden() -> None:
    found = under_auto(3, 6_000, "get_order", DEFAULT).requests
    assert (found[1].tail, found[2].tail > 0) == (0, True)


@pytest.mark.parametrize("words", [300, 900, 2_500])
def test_everything_costs_what_the_one_estimate_says(words: int) -> None:
    """Also where the client compacts, several times."""
    one = facts(work(60, words))
    client, before = UnmanagedClient(), 0
    for end in range(1, 2 * 60 + 2, 2):
        total, kept = sum(one.sizes[:end]), one.count_tokens("go")
        client.send(ClientRequest(total, before, kept=kept), PROFILE)
        before = total
    outcome = replay(one, KEEP_ALL, PROFILE, WINDOW)
    assert client.compactions == sum(bool(request.summarized) for request in outcome.requests) > 0
    assert sending_cost(outcome.requests, price_of(PROFILE), "tail") == pytest.approx(client.cost)


def test_no_request_reaches_the_window_and_a_summary_is_what_is_left() -> None:
    outcome = replay(facts(work(60, 900)), KEEP_ALL, PROFILE, WINDOW)
    assert outcome.peak < 0.9 * WINDOW
    first = next(request for request in outcome.requests if request.summarized)
    assert SUMMARY < first.total < SUMMARY + 6_000
    assert first.prefix == first.tail == 0


def test_a_run_that_outgrows_the_window_costs_no_more_under_auto() -> None:
    price, one = price_of(PROFILE), facts(work(120, 900))
    ours = replay(one, Auto(), PROFILE, WINDOW, tools=TOOLS)
    off = sending_cost(replay_unchanged(one, PROFILE, WINDOW).requests, price, "tail")
    assert sending_cost(ours.requests, price, "tail") <= 1.05 * off
