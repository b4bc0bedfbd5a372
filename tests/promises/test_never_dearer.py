"""Never more expensive than doing nothing: the same client, with `mode: off` and with Keepwhole, ending at any step.

The provider's cache is simulated by its published rules. What is compared is the bill, request by request: a run that
ends after any step must have cost at most `max_loss` more, or a cent. Batches and summaries that the window forces are
exempt from the budget; what they cost is checked here all the same, with a wider limit.
"""

from itertools import product
from typing import Any

import pytest

from keepwhole.policies.settings import CAREFUL
from tests.long_run import one_in
from tests.promises.priced_client import LIST, Prices, Weights, run_both
from tests.promises.priced_session import ManagedSession, Markers, PricedSession, Provider, Step
from tests.upstream.media_parts import MediaKind
from tests.upstream.prompt_cache import Clock
from tests.upstream.spelling import Dialect

CENT = 3_333
"""Tokens for a cent at three dollars a million."""

SESSIONS: dict[str, tuple[Weights, int, int]] = {
    "results": (Weights(result=7_000), 52, 128_000),
    "large results": (Weights(result=30_000), 45, 200_000),
    "arguments": (Weights(result=4_000, arguments=15_000), 30, 200_000),
    "system prompt": (Weights(result=6_000, system=100_000), 40, 128_000),
    "declarations": (Weights(result=6_000, tools=100_000), 40, 128_000),
    "words": (Weights(result=2_000, words=8_000), 40, 200_000),
    "slow": (Weights(result=12_000, pause=100), 40, 200_000),
    "cold": (Weights(result=12_000, pause=400), 30, 200_000),
    "questions": (Weights(result=12_000, question=7), 45, 200_000),
    "tiny": (Weights(result=300, system=500, tools=300), 30, 200_000),
    "a million": (Weights(result=24_000), 60, 1_000_000),
}
LONG: dict[str, tuple[Weights, int, int]] = {
    "results, compacted": (Weights(result=7_000), 150, 200_000),
    "arguments, compacted": (Weights(result=4_000, arguments=15_000), 70, 200_000),
    "words, compacted": (Weights(result=2_000, words=8_000), 90, 200_000),
}
"""Sessions that outgrow the window, so that the client compacts by itself with `mode: off`."""


OTHER_PRICES = (Prices(read=0.05), Prices(read=0.02, write=1.0), Prices(read=1.0, write=1.0))


def overspent(name: str, prices: Prices = LIST, **options: object) -> float:
    """How many times the cost of `mode: off` a session costs at the most, wherever it ends; 0 for less than a cent."""
    weights, steps, window = (SESSIONS | LONG)[name]
    runs = run_both(weights, steps, window, prices, **options)  # pyright: ignore
    return max(on.cost / off.cost if on.cost - off.cost > CENT else 0.0 for off, on in runs)


USUAL = ("results", "large results", "arguments", "words", "slow", "tiny")


@pytest.mark.parametrize(
    "name", [*USUAL, *(pytest.param(name, marks=pytest.mark.torture) for name in SESSIONS if name not in USUAL)]
)
def test_wherever_it_ends_a_session_costs_no_more_than_with_mode_off(name: str) -> None:
    assert overspent(name) <= 1 + CAREFUL.max_loss


@pytest.mark.parametrize(("prices", "name"), one_in(2, product(OTHER_PRICES, ("results", "large results"))))
def test_at_other_prices(name: str, prices: Prices) -> None:
    assert overspent(name, prices) <= 1 + CAREFUL.max_loss


@pytest.mark.parametrize("prices", [Prices(told=0.5), Prices(read=0.05, told=None), Prices(read=0.2, told=None)])
def test_with_a_read_price_that_is_guessed_wrong_by_a_factor_of_two(prices: Prices) -> None:
    assert overspent("results", prices) <= 1 + CAREFUL.max_loss


def test_a_read_price_that_was_told_twice_too_high_costs_at_most_twice_the_loss() -> None:
    assert overspent("results", Prices(read=0.05, told=2.0)) <= 1 + 2 * CAREFUL.max_loss


def test_with_markers_that_come_and_go() -> None:
    assert overspent("results", marker=lambda number: number % 3 != 1) <= 1 + CAREFUL.max_loss


@pytest.mark.torture
@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("read", [0.1, 0.05])
def test_a_session_that_outgrows_the_window_costs_no_more_than_the_clients_own_compaction(
    name: str, read: float
) -> None:
    assert overspent(name, Prices(read=read)) <= 1 + CAREFUL.max_loss


def test_the_last_five_results_are_seen_below_nine_tenths_of_the_window() -> None:
    weights, steps, window = SESSIONS["arguments"]
    for off, on in run_both(weights, steps, window):
        assert on.till.bills[-1].tokens < 0.9 * window
        assert on.visible[-5:] == off.visible[-5:], "nothing in this session needs to be left out"
    assert on.cost <= 1.02 * off.cost


def dearest(provider: Provider, markers: Markers, *steps: tuple[int, Step], **own: Any) -> float:
    """How many times the cost of `mode: off` a session of so many of each step costs at the most, wherever it ends."""
    return dearest_and_last(provider, markers, *steps, **own)[0]


def dearest_and_last(
    provider: Provider, markers: Markers, *steps: tuple[int, Step], **own: Any
) -> tuple[float, PricedSession, ManagedSession]:
    """The same, and both sessions at their end."""
    clock = Clock()
    sessions = (
        PricedSession(provider, clock, 8_000, 8_000),
        ManagedSession(provider, clock, 8_000, 8_000, True, **own),
    )
    script = [step for count, step in steps for _ in range(count)]
    worst = 0.0
    for number, step in enumerate(script):
        for session in sessions:
            session.markers = markers
            session.step(number, step)
        off, on = (session.cost for session in sessions)
        worst = max(worst, on / off if on - off > CENT else 0.0)
        clock.pass_by(10)
    return worst, *sessions


OTHERS: tuple[Dialect, ...] = ("openai_chat", "openai_responses", "gemini", "converse")
PROVIDERS: dict[Dialect, Provider] = {
    "openai_chat": Provider("prefixes", window=272_000, write=1.0, dialect="openai_chat"),
    "openai_responses": Provider("prefixes", window=272_000, write=1.0, dialect="openai_responses"),
    "gemini": Provider("prefixes", window=1_000_000, minimum=4_096, write=1.0, dialect="gemini"),
    "converse": Provider("breakpoints", dialect="converse"),
}
"""Each dialect's usual provider: its cache, prices and window."""


@pytest.mark.parametrize("dialect", OTHERS)
def test_in_every_dialect_with_its_own_cache_and_prices(dialect: Dialect) -> None:
    steps = (10, Step(result=15_000, calls=2, tool="query_api")), (12, Step(result=7_000, words=300))
    worst, off, on = dearest_and_last(PROVIDERS[dialect], "last", *steps)
    assert worst <= 1 + CAREFUL.max_loss
    assert on.cost < off.cost, "else nothing was left out, and nothing is compared"
    assert on.till.bills[-1].read > 0.8 * on.till.bills[-1].tokens, "what was sent is found in the cache again"


@pytest.mark.parametrize("dialect", OTHERS)
def test_in_every_dialect_without_the_budget_the_same_session_costs_more(dialect: Dialect) -> None:
    eager = CAREFUL.replace(max_loss=1_000, worth=0, horizon=1_000, keep_steps=1, start=5_000)
    provider = PROVIDERS[dialect]._replace(minimum=1_024)
    assert dearest(provider, "last", (12, Step(result=7_000, words=7_000)), auto=eager) > 1 + CAREFUL.max_loss


def test_where_a_long_request_costs_twice_as_much() -> None:
    """Gemini's Pro models above 200,000 tokens."""
    provider = PROVIDERS["gemini"]._replace(long_from=200_000)
    worst, off, on = dearest_and_last(provider, "last", (20, Step(result=15_000, calls=3, tool="query_api")))
    assert worst <= 1 + CAREFUL.max_loss
    assert off.till.bills[-1].tokens > provider.long_from, "else nothing costs more"
    assert on.cost < off.cost


@pytest.mark.torture
@pytest.mark.parametrize("dialect", OTHERS)
@pytest.mark.parametrize("tool", ["query_api", "Read"])
def test_in_every_dialect_a_session_that_outgrows_the_window(dialect: Dialect, tool: str) -> None:
    provider = PROVIDERS[dialect]._replace(window=128_000)
    worst, off, _ = dearest_and_last(provider, "last", (100, Step(result=7_000, words=300, tool=tool)))
    assert worst <= 1 + CAREFUL.max_loss
    assert off.compactions > 0


@pytest.mark.parametrize("markers", ["none", "system"])
def test_with_a_client_that_does_not_have_all_messages_cached(markers: Markers) -> None:
    steps = (11, Step(result=30_000, words=30_000)), (8, Step(result=2_000, words=30_000))
    assert dearest(Provider(told_read=None), markers, *steps) <= 1 + CAREFUL.max_loss


_MEDIA = one_in(3, [("photo", 7_000), ("screenshot", 100), ("image by URL", 100)])


@pytest.mark.parametrize(("media", "arguments"), _MEDIA)
def test_with_images_and_arguments_that_are_left_out_and_read_back(media: MediaKind, arguments: int) -> None:
    clock = Clock()
    own = {"auto": CAREFUL.replace(arguments="old")}
    off = PricedSession(Provider(), clock, 8_000, 8_000)
    on = ManagedSession(Provider(), clock, 8_000, 8_000, False, **own)
    look = Step(result=300, arguments=arguments, media=media, tool="computer")
    for number in range(75):
        step = look._replace(recall=number) if number >= 60 and number % 4 == 0 else look
        for session in (off, on):
            session.step(number, step)
        allowed = max((1 + CAREFUL.max_loss) * off.cost, off.cost + CENT)
        assert on.cost - on.exempt - on.recalled <= allowed, f"after {number} steps"
        clock.pass_by(10)
    assert on.recalls > 0, "else nothing is read back"


def test_a_summary_is_not_followed_by_another_before_it_has_paid() -> None:
    steps = (
        (8, Step(result=300, words=30_000, calls=3, tool="query_api")),
        (7, Step(result=15_000, words=15_000, calls=3, tool="query_api")),
        (10, Step(result=15_000, arguments=7_000, calls=3, tool="query_api")),
        (7, Step(result=300, words=15_000, calls=3, tool="Read")),
    )
    assert dearest(Provider("prefixes", read=0.4), "none", *steps) <= 1 + CAREFUL.max_loss


def test_what_is_shown_whole_for_a_clients_own_compaction_is_found_in_the_cache_up_to_there() -> None:
    session = ManagedSession(Provider(), Clock(), 8_000, 8_000, client_compacts=True)
    session.markers = "top"
    for number in range(20):
        session.step(number, Step(result=30_000 if number < 10 else 300, words=100))
    before = session.till.bills[-1]
    session.compact(20)
    assert session.till.bills[-1].tokens > before.tokens, "something is shown in full again"
    assert session.till.bills[-1].read > 0, "what is before the first of these"


def test_without_the_budget_the_same_session_costs_more() -> None:
    eager = CAREFUL.replace(max_loss=1_000, worth=0, horizon=1_000, keep_steps=1, start=5_000)
    assert overspent("results", auto=eager) > 1 + CAREFUL.max_loss


@pytest.mark.parametrize("restarts", [pytest.param((), marks=pytest.mark.torture), (42, 50)])
def test_a_client_that_has_compacted_later_than_with_mode_off_pays_no_more_until_it_does_again(
    restarts: tuple[int, ...],
) -> None:
    """The conversation after the client's own compaction goes on with the costs of the one before it."""
    clock = Clock()
    sessions = PricedSession(Provider(), clock, 100_000, 2_000), ManagedSession(Provider(), clock, 100_000, 2_000, True)
    script = [
        *[Step(result=7_000, calls=3, tool="query_api")] * 20,
        Step(result=2_000, recall=14),
        *[Step(result=15_000)] * 10,
        *[Step(arguments=30_000, result=2_000)] * 20,
        *[Step(arguments=7_000, result=300, tool="Task")] * 20,
    ]
    worst = 0.0
    for number, step in enumerate(script):
        if number == 20:
            for session in sessions:
                session.go_back(7)
        if number in (31, *restarts):
            sessions[1].restart()
        for session in sessions:
            session.step(number, step)
        off, on = (session.cost for session in sessions)
        worst = max(worst, on / off if on - off > CENT else 0.0)
        clock.pass_by(10)
    assert sessions[0].compactions == 2, "else nothing is compared"
    assert worst <= 1 + CAREFUL.max_loss
    counted = max(branch.costs._ledger.paid for _, branch in sessions[1].session.conversations._branches)
    assert counted > 0.5 * sessions[1].cost, "what came before the compaction is counted too, in estimated tokens"


def test_a_client_that_carries_hardly_more_than_with_mode_off_gets_no_summary_for_it() -> None:
    """What only recall needs takes a hundred tokens more; a summary for that was young when one was really due."""
    clock = Clock()
    sessions = PricedSession(Provider(), clock, 2_000, 8_000), ManagedSession(Provider(), clock, 2_000, 8_000, True)
    script = [Step(words=30_000, result=30_000, tool="Read")] * 20 + [
        Step(arguments=7_000, result=7_000, tool="Bash")
    ] * 10
    worst = 0.0
    for number, step in enumerate(script):
        for session in sessions:
            session.step(number, step)
        off, on = (session.cost for session in sessions)
        worst = max(worst, on / off if on - off > CENT else 0.0)
        clock.pass_by(10)
    assert [session.compactions for session in sessions] == [2, 2], "else nothing is compared"
    assert worst <= 1 + CAREFUL.max_loss


@pytest.mark.parametrize("restarts", [False, True])
def test_a_compaction_right_after_the_first_results_shows_nothing_whole_that_is_not_afforded(restarts: bool) -> None:
    """The request before it has no answer among the messages, and is in the cache all the same."""
    clock = Clock()
    sessions = PricedSession(Provider(), clock, 2_000, 2_000), ManagedSession(Provider(), clock, 2_000, 2_000, True)
    for number in range(2):
        for session in sessions:
            session.step(number, Step(words=30_000, result=30_000, tool="Bash"))
        clock.pass_by(10)
    if restarts:
        sessions[1].restart()
    for session in sessions:
        session.compact(2)
    off, on = (session.cost for session in sessions)
    assert on <= max((1 + CAREFUL.max_loss) * off, off + CENT)
