"""What a receipt says about given figures, and what it leaves out."""

import json
import logging
from collections import Counter
from itertools import count

import pytest

from keepwhole import MemoryStore, events
from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.apps.request_figures import cost_of, first_full, profiles_with, sizes
from keepwhole.apps.wrap.receipt import Meter, Tally, WarningCounter, receipt
from keepwhole.canonical.entry import Request, Response
from keepwhole.clients.claude_code import CLAUDE_CODE
from keepwhole.config import Settings
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.wire.dialects import endpoint_of

SONNET = "claude-sonnet-4-5"
PROFILE_OF = profiles_with({})
NUMBERS = count(1)
"""Those of the entries."""


def step(whole: int, sent: int, used: tuple[int, int, int] | None = None, **about: object) -> LoggedRequest:
    """A request; `used` is what was billed: uncached, cached, written."""
    given = {"model": SONNET, "mode": "on", "edited": int(sent < whole), **about}
    request = Request(at=0, trace_id="r", size=0, digest="", tokens_whole=whole, tokens_sent=sent, **given)
    billed = {} if used is None else {"input": sum(used), "cached": used[1], "written": used[2]}
    response = Response(at=0, trace_id="r", status=200, outcome="complete", **billed)
    return LoggedRequest(next(NUMBERS), request, response)


def told(*steps: LoggedRequest, **more: object) -> list[str]:
    return receipt(Tally({"s": list(steps)}, **more), PROFILE_OF, "claude")


def test_nothing_is_reported_about_cache_and_cost_without_a_bill() -> None:
    lines = told(step(1_000, 500))
    assert lines[:2] == ["keepwhole: 1 request", "  sent      ≈ 500 of 1,000 tokens, 50 % left out"]
    assert not [line for line in lines if "cache" in line or "cost" in line]


def test_what_the_window_could_not_hold_is_priced_as_a_client_that_compacts() -> None:
    run = [step(10_000 * n, 1_000 * n, (0, 1_000 * (n - 1), 1_000)) for n in range(1, 60)]
    cost = cost_of(run, PROFILE_OF)
    assert cost is not None
    assert cost.whole < 59 * (0.1 * 180_000 + 1.25 * 10_000) + 3 * (0.1 * 180_000 + 5 * 2_000 + 1.25 * 12_000)
    assert cost.whole > cost.paid


def test_the_bill_is_shown_beside_the_prediction() -> None:
    lines = told(step(1_000, 500, (100, 0, 400), predicted=0), step(2_000, 800, (100, 500, 200), predicted=450))
    assert "  cache     500 of 1,300 input tokens came from it; 450 predicted" in lines


def test_cost_is_in_dollars_where_the_price_is_known_else_in_tokens() -> None:
    run = [step(80_000, 20_000, (0, 0, 20_000)), step(160_000, 40_000, (0, 20_000, 20_000))]
    cost = cost_of(run, PROFILE_OF)
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


def test_a_run_in_which_nothing_changed_never_cost_more_whatever_the_cache_did() -> None:
    run = [
        step(10_000, 10_000, (0, 0, 10_000)),
        step(12_000, 12_000, (0, 0, 12_000)),
        step(13_000, 13_000, (0, 12_000, 1_000)),
    ]
    lines = told(*run)
    assert any(line.endswith("nothing was changed") for line in lines)
    assert any(line.endswith("saved ≈ $0.000, about the same") for line in lines)


def test_recall_tools_that_were_offered_are_a_change() -> None:
    lines = told(step(10_000, 10_000, (10_000, 0, 0), recall="tools"))
    assert lines[1] == "  sent      ≈ 10k tokens; nothing was left out, recall tools were offered"


def test_requests_that_were_refused_are_not_sent_tokens() -> None:
    refused = step(5_000, 4_000)
    assert refused.response is not None
    refused = refused._replace(response=refused.response.replace(status=429, outcome="refused"))
    unanswered = step(7_000, 6_000)._replace(response=None)
    lines = told(step(1_000, 500), refused, unanswered)
    assert lines[:2] == ["keepwhole: 3 requests", "  sent      ≈ 500 of 1,000 tokens, 50 % left out"]
    assert not any(line.startswith("  sent") for line in told(refused, unanswered))


def test_a_hidden_round_is_no_request_of_the_agent_but_its_tokens_are_sent() -> None:
    lines = told(step(1_000, 500), step(1_000, 500, purpose="round"))
    assert lines[:2] == ["keepwhole: 1 request", "  sent      ≈ 1,000 of 2,000 tokens, 50 % left out"]


def test_why_requests_are_not_on_record_is_explained_with_what_to_do() -> None:
    unnamed = told(step(10, 10), unrecorded=1, unnamed=1)
    assert unnamed[0] == "keepwhole: 2 requests, 1 of them not recorded"
    assert any(line.startswith("  why ") and "`--session ID`" in line for line in unnamed)
    lost = told(step(10, 10), unrecorded=35, unstored=35)
    assert lost[0] == "keepwhole: 36 requests, 35 of them not recorded"
    assert any(line.startswith("  why ") and "`keepwhole doctor`" in line for line in lost)
    plain = receipt(Tally({}, unrecorded=1), PROFILE_OF, "aider")
    assert plain[0] == "keepwhole: 1 request, 1 of them not recorded"
    assert "no tools" in plain[1]
    assert receipt(Tally({}, unrecorded=1, mode="off"), PROFILE_OF, "aider") == plain[:1], "that was the user's wish"


def test_a_client_that_went_past_the_proxy_is_explained_with_what_to_look_at() -> None:
    silent, past = receipt(Tally({}), PROFILE_OF, "claude")
    assert silent == "keepwhole: no request came through"
    assert "`claude`" in past
    assert "its settings" in past
    reached = receipt(Tally({}, others=3), PROFILE_OF, "gemini")
    assert "3 other requests" in reached[1]


def test_a_run_that_cost_more_says_more() -> None:
    run = [
        step(10_000, 10_000, (0, 0, 10_000)),
        step(12_000, 11_000, (11_000, 0, 0)),
        step(13_000, 12_000, (0, 11_000, 1_000)),
    ]
    assert any("lost ≈ $0.024, 44 % more" in line for line in told(*run))


def test_a_provider_that_never_caches_is_not_taken_to_cache_the_whole() -> None:
    cost = cost_of([step(1_000, 500, (500, 0, 0)), step(2_000, 1_000, (1_000, 0, 0))], PROFILE_OF)
    assert cost is not None
    assert (cost.paid, cost.whole) == (1_500, 3_000)


def test_the_receipt_says_how_full_the_window_is_as_sent_and_whole() -> None:
    run = [step(100_000, 50_000), step(185_000, 90_000), step(300_000, 182_000)]
    assert first_full(run, PROFILE_OF, whole=True) == 2
    assert "  window    90 % full at request 3, with everything at 2" in told(*run)
    assert "  window    never 90 % full; with everything at request 2" in told(*run[:2])


def test_the_providers_count_is_the_one_that_counts() -> None:
    assert sizes(step(2_000, 1_000, (1_500, 0, 0))) == (1_500, 3_000)


def test_problems_are_on_the_receipt() -> None:
    lines = told(step(10, 10), trouble=Counter({"request failed, 502": 3}))
    assert "  trouble   request failed, 502 (3 times)" in lines
    assert any("nothing was changed" in line for line in lines)


def test_a_request_that_was_not_recorded_is_counted_once() -> None:
    """The first line of a receipt counts it, so its warning is not counted as trouble too."""
    counter, log = WarningCounter(), logging.getLogger("keepwhole")
    log.addHandler(counter)
    try:
        events.log_unrecorded("s", "request", "NotStored")
        events.log_untried_version("claude-code", "99.0", "2.1")
        events.log_unstored("s", "bash", "NotStored")
    finally:
        log.removeHandler(counter)
    assert counter.counts == {"not stored, shown in full": 1}


def test_a_client_that_is_newer_than_those_that_were_tried_is_on_the_receipt() -> None:
    lines = told(step(10, 10), untried=("claude-code", "99.0.1"))
    (line,) = [line for line in lines if line.startswith("  client")]
    assert f"Claude Code 99.0.1 is newer than {CLAUDE_CODE.versions[-1]}" in line


@pytest.mark.parametrize(
    ("status", "note", "outcome", "trouble"),
    [
        (0, "", "passed", {"request failed, no answer": 1}),
        (399, "", "complete", {}),
        (400, "", "complete", {"request failed, 400": 1}),
        (529, "odd", "incomplete", {"request failed, 529": 1}),
        (200, "odd", "complete", {"answer cut off": 1}),
        (200, "", "incomplete", {"answer cut off": 1}),
        (200, "", "complete", {}),
    ],
)
def test_trouble_with_a_request_is_counted_by_kind(
    status: int, note: str, outcome: str, trouble: dict[str, int]
) -> None:
    meter, proxied = Meter(0), ProxiedRequest(endpoint_of("/v1/messages"))
    proxied.status, proxied.note, proxied.outcome = status, note, outcome
    meter.add(proxied)
    tally = meter.tally(MemoryStore(), Settings(home="unused"))
    assert tally.trouble == trouble
    assert (tally.unrecorded, tally.unnamed, tally.unstored, tally.others) == (1, 0, 0, 0)


def test_requests_that_are_no_conversation_are_counted_apart() -> None:
    meter = Meter(0)
    meter.add(ProxiedRequest(None))
    meter.add(ProxiedRequest(endpoint_of("/v1/messages/count_tokens")))
    tally = meter.tally(MemoryStore(), Settings(home="unused"))
    assert (tally.others, tally.unrecorded, tally.trouble) == (1, 0, {})


def test_the_newest_limits_are_on_the_receipt_of_a_client_that_pays_with_a_plan() -> None:
    def limited(names: str, **about: object) -> LoggedRequest:
        found = step(10, 10, (10, 0, 0), **about)
        assert found.response is not None
        told = json.dumps([[name, 0.42, None] for name in names])
        return found._replace(response=found.response.replace(limits=told))

    plan = limited("ab", by_plan=True)
    assert not [line for line in told(limited("ab")) if line.startswith("  limits")], "a key is billed"
    assert "  limits    a: 42 % used; b: 42 % used" in told(limited("x", by_plan=True), plan, step(10, 10))
    assert "  limits    c: 42 % used" in told(plan, limited("c"))
    many = "; ".join(f"{name}: 42 % used" for name in "abcd")
    assert f"  limits    {many}" in told(limited("abcd", by_plan=True))
    assert f"  limits    {many}" in told(limited("abcde", by_plan=True))
