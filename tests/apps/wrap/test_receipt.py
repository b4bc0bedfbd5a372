"""What a receipt says about given figures, and what it leaves out."""

from collections import Counter

from keepwhole.apps.request_figures import cost_of, first_full, sizes
from keepwhole.apps.wrap.receipt import Tally, receipt
from keepwhole.canonical.entry import Request, Response
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.models.profiles import profile_for

SONNET = "claude-sonnet-4-5"


def step(whole: int, sent: int, used: tuple[int, int, int] | None = None, **about: object) -> LoggedRequest:
    """A request; `used` is what was billed: uncached, cached, written."""
    given = {"model": SONNET, "mode": "on", "edited": int(sent < whole), **about}
    request = Request(at=0, trace_id="r", size=0, digest="", tokens_whole=whole, tokens_sent=sent, **given)
    billed = {} if used is None else {"input": sum(used), "cached": used[1], "written": used[2]}
    response = Response(at=0, trace_id="r", status=200, outcome="complete", **billed)
    return LoggedRequest(1, request, response)


def told(*steps: LoggedRequest, **more: object) -> list[str]:
    return receipt(Tally({"s": list(steps)}, **more), profile_for, "claude")


def test_nothing_is_reported_about_cache_and_cost_without_a_bill() -> None:
    lines = told(step(1_000, 500))
    assert lines[:2] == ["keepwhole: 1 request", "  sent      ≈ 500 of 1,000 tokens, 50 % left out"]
    assert not [line for line in lines if "cache" in line or "cost" in line]


def test_what_the_window_could_not_hold_is_priced_as_a_client_that_compacts() -> None:
    run = [step(10_000 * n, 1_000 * n, (0, 1_000 * (n - 1), 1_000)) for n in range(1, 60)]
    cost = cost_of(run, profile_for)
    assert cost is not None
    assert cost.whole < 59 * (0.1 * 180_000 + 1.25 * 10_000) + 3 * (0.1 * 180_000 + 5 * 2_000 + 1.25 * 12_000)
    assert cost.whole > cost.paid


def test_the_bill_is_shown_beside_the_prediction() -> None:
    lines = told(step(1_000, 500, (100, 0, 400), predicted=0), step(2_000, 800, (100, 500, 200), predicted=450))
    assert "  cache     500 of 1,300 input tokens came from it; 450 predicted" in lines


def test_cost_is_in_dollars_where_the_price_is_known_else_in_tokens() -> None:
    run = [step(80_000, 20_000, (0, 0, 20_000)), step(160_000, 40_000, (0, 20_000, 20_000))]
    cost = cost_of(run, profile_for)
    assert cost is not None
    assert cost.paid == 20_000 * 1.25 + 20_000 * 0.1 + 20_000 * 1.25
    assert cost.whole == 80_000 * 1.25 + 80_000 * 0.1 + 80_000 * 1.25
    assert "  input     paid ≈ $0.156, with `mode: off` ≈ $0.624: saved ≈ $0.468, 75 % less" in told(*run)
    unknown = [one._replace(request=one.request.replace(model="model-of-tomorrow")) for one in run]
    paid, off, saved = (f"{tokens:,} uncached tokens" for tokens in (52_000, 208_000, 156_000))
    assert f"  input     paid ≈ {paid}, with `mode: off` ≈ {off}: saved ≈ {saved}, 75 % less" in told(*unknown)


def test_a_run_in_which_nothing_changed_cost_the_same() -> None:
    run = [step(1_000, 1_000, (1_000, 0, 0)), step(2_000, 2_000, (1_004, 996, 0))]
    assert any(line.endswith(", about the same") for line in told(*run))


def test_a_run_that_cost_more_says_more() -> None:
    run = [
        step(10_000, 10_000, (0, 0, 10_000)),
        step(12_000, 11_000, (11_000, 0, 0)),
        step(13_000, 12_000, (0, 11_000, 1_000)),
    ]
    assert any("saved ≈ −$0.024, 44 % more" in line for line in told(*run))


def test_a_provider_that_never_caches_is_not_taken_to_cache_the_whole() -> None:
    cost = cost_of([step(1_000, 500, (500, 0, 0)), step(2_000, 1_000, (1_000, 0, 0))], profile_for)
    assert cost is not None
    assert (cost.paid, cost.whole) == (1_500, 3_000)


def test_the_receipt_says_how_full_the_window_is_as_sent_and_whole() -> None:
    run = [step(100_000, 50_000), step(185_000, 90_000), step(300_000, 182_000)]
    assert first_full(run, profile_for, whole=True) == 2
    assert "  window    90 % full at request 3, with everything at 2" in told(*run)
    assert "  window    never 90 % full; with everything at request 2" in told(*run[:2])


def test_the_providers_count_is_the_one_that_counts() -> None:
    assert sizes(step(2_000, 1_000, (1_500, 0, 0))) == (1_500, 3_000)


def test_problems_are_on_the_receipt() -> None:
    lines = told(step(10, 10), trouble=Counter({"request failed, 502": 3}))
    assert "  trouble   request failed, 502 (3 times)" in lines
    assert any("nothing was changed" in line for line in lines)
