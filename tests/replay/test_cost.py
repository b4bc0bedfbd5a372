"""Cost: sums that can be done by hand."""

import pytest

from keepwhole.models.profiles import Profile
from keepwhole.replay.cache import BreakpointCache, CacheUsage, RequestEndCache, RequestShape
from keepwhole.replay.cost import Loss, Price, RequestTokens, price_of, refetch_cost, request_cost, sending_cost
from keepwhole.replay.intervals import interval, ratio
from keepwhole.replay.missed_evidence import text_around
from keepwhole.replay.replay import replay
from keepwhole.replay.summary import ComparedRun, summarize
from tests.replay.recorded import KEEP_ALL, calls, facts, result, run

NONE = CacheUsage(0, 0, 0)
PLAIN = Profile("made", minimum=100, lifetime=300)


def sent(*sizes: int, first: int, frontier: int = 0, now: float = 0.0) -> RequestShape:
    return RequestShape(sizes, range(1, len(sizes) + 1), first, frontier, now)


def test_a_cached_prefix_is_read_and_the_rest_is_written() -> None:
    assert request_cost(RequestTokens(3_000, 2_000, 0, NONE), Price(0.1, 1.25)) == 200 + 1_250
    assert request_cost(RequestTokens(3_000, 2_000, 1_500, NONE), Price(0.1, 1.25), "tail") == 150 + 1_875


def test_a_hit_is_whole_blocks_and_not_under_the_minimum() -> None:
    assert (
        request_cost(RequestTokens(3_000, 2_000, 0, NONE), Price(0.1, 1.0, minimum=1_024, block=128)) == 192 + 1_080.0
    )
    assert request_cost(RequestTokens(3_000, 1_023, 0, NONE), Price(0.1, 1.25)) == 3_750


def test_a_run_costs_what_its_requests_cost() -> None:
    requests = [RequestTokens(2_000, 0, 0, NONE), RequestTokens(3_000, 2_000, 0, NONE)]
    assert sending_cost(requests, Price(0.1, 1.25)) == 2_500 + 200 + 1_250


def test_prices_come_from_the_profile() -> None:
    assert price_of(Profile("made", read=0.02, write=1.0, minimum=64)) == Price(0.02, 1.0, 64)


def test_buying_back_is_a_round_trip_and_what_is_fetched_stays() -> None:
    requests = [RequestTokens(1_000, 0, 0, NONE)] * 11
    price = Price(0.1, 1.25, out=5)
    loss = Loss(step=0, source=0, fetched=100, whole=400)
    assert refetch_cost(requests, [loss], price) == pytest.approx(100 + 100 * (1.25 + 0.1 * 10) + 200)
    assert refetch_cost(requests, [loss], price, rerun=True) == pytest.approx(100 + 400 * 2.25 + 200)


def test_an_oracle_fetches_three_lines_on_either_side() -> None:
    text = "\n".join(f"line {number}" for number in range(20))
    assert text_around(text, ["line 8"]) == "\n".join(f"line {number}" for number in range(5, 12)) + "\n"
    assert text_around(text, ["line 8", "line 9"]).count("line 8") == 1
    assert text_around("only line", ["only"]) == "only line"


def test_request_ends_hit_the_last_end_before_which_nothing_changed() -> None:
    ends = RequestEndCache()
    assert ends.send(sent(10, first=0)) == 0
    assert ends.send(sent(10, 20, 30, first=1)) == 10
    assert ends.send(sent(10, 20, 30, 40, first=3)) == 60
    assert ends.send(sent(10, 20, 5, 40, 50, first=2)) == 10, "ends after the change are gone"
    assert ends.send(sent(10, 20, 5, 40, 50, 60, first=5)) == 125


def test_explicit_breakpoints_read_what_an_earlier_one_wrote() -> None:
    cache = BreakpointCache(PLAIN)
    assert cache.send(sent(200, first=0)) == CacheUsage(0, 200, 0)
    assert cache.send(sent(200, 50, 50, first=1)) == CacheUsage(200, 100, 0)
    assert cache.send(sent(200, 50, 20, 30, first=2)) == CacheUsage(200, 100, 0)


def test_a_breakpoint_at_the_frontier_is_found_when_what_follows_changes() -> None:
    allowed, plain = BreakpointCache(PLAIN), BreakpointCache(PLAIN.replace(breakpoints=2))
    for cache in (allowed, plain):
        cache.send(sent(200, 50, 50, 50, 50, first=0, frontier=3))
    changed = sent(200, 50, 50, 5, 50, 10, first=3, frontier=4)
    assert allowed.send(changed) == CacheUsage(300, 65, 0)
    assert plain.send(changed) == CacheUsage(200, 165, 0)


def test_an_entry_more_than_twenty_blocks_back_is_not_found() -> None:
    sizes = [200] * 22
    for blocks, read in ((range(1, 23), 200), (range(1, 45, 2), 0)):
        cache = BreakpointCache(PLAIN.replace(breakpoints=1))
        cache.send(RequestShape(sizes[:1], blocks, 0, 0))
        far = 21 if read else 22
        assert cache.send(RequestShape(sizes[:far], blocks, 1, 0)).read == read


def test_the_twentieth_block_back_is_found_and_the_next_is_not() -> None:
    for many, read in ((21, 200), (22, 0)):
        cache = BreakpointCache(PLAIN.replace(breakpoints=1))
        cache.send(RequestShape([200], range(1, 23), 0, 0))
        assert cache.send(RequestShape([200] * many, range(1, 23), 1, 0)).read == read


def test_a_prefix_of_just_the_minimum_is_read_and_one_token_less_is_not() -> None:
    for prefix, cost in ((1_024, 0.1 * 1_024 + 1.25 * 976), (1_023, 1.25 * 2_000)):
        assert request_cost(
            RequestTokens(2_000, prefix, prefix, CacheUsage(0, 0, 0)), Price(0.1, 1.25)
        ) == pytest.approx(cost)


def test_an_interval_leaves_out_a_fortieth_on_each_side() -> None:
    found = interval([(1.0, 1.0), (0.0, 1.0)] * 50)
    assert 0.36 < found.low < 0.43
    assert 0.57 < found.high < 0.64


def test_what_is_under_the_minimum_is_not_cached() -> None:
    cache = BreakpointCache(PLAIN)
    assert cache.send(sent(50, first=0)) == CacheUsage(0, 0, 50)
    assert cache.send(sent(50, 60, first=1)) == CacheUsage(0, 110, 0)


def test_a_cache_is_cold_after_its_lifetime() -> None:
    cache = BreakpointCache(PLAIN)
    cache.send(sent(200, first=0))
    assert cache.send(sent(200, 10, first=1, now=300)).read == 200
    assert cache.send(sent(200, 10, 10, first=2, now=601)).read == 0


def test_no_breakpoints_no_explicit_cache() -> None:
    assert BreakpointCache(PLAIN.replace(breakpoints=0)).send(sent(500, first=0)) == CacheUsage(0, 0, 500)


def test_ratios_weigh_runs_by_what_they_cost_and_intervals_are_the_same_each_time() -> None:
    pairs = [(1.0, 1.0), (1.0, 9.0)]
    assert ratio(pairs) == 0.2
    assert ratio([]) == 1.0
    assert interval(pairs) == interval(pairs)
    assert (interval(pairs).low, interval(pairs).high) == (1 / 9, 1.0)


def test_a_client_that_rewrites_sets_a_breakpoint_before_the_change_and_finds_what_was_written_near_it() -> None:
    cache = BreakpointCache(PLAIN)
    sizes = [100] * 60
    cache.send(sent(*sizes[:40], first=0, frontier=5))
    cache.send(sent(*sizes[:50], first=40, frontier=5))
    assert cache.send(sent(*sizes, first=8, frontier=30)) == CacheUsage(500, 5_500, 0)


def test_runs_of_one_task_are_drawn_together() -> None:
    pairs = [(1.0, 1.0)] * 9 + [(0.0, 1.0)]
    by_task = interval(pairs, ["same"] * 9 + ["other"])
    assert by_task == (0.9, 0.0, 1.0)
    assert interval(pairs).low > 0.0, "as if all runs were different"


def test_dollars_are_the_cost_at_the_input_price_where_it_is_known() -> None:
    whole = facts(run(calls("a"), result("x" * 999_992, "a"), calls("b")))
    pair = ComparedRun(replay(whole, KEEP_ALL), replay(whole, KEEP_ALL))
    sent = sum(whole.sizes[:2])
    assert summarize([pair], Price(0.1, 1.25, input=3.0)).cost.dollars == pytest.approx(1.25 * sent * 3 / 1e6)
    assert summarize([pair], Price(0.1, 1.25)).cost.dollars is None
    assert price_of(Profile("made"), input=2.0).input == 2.0


def test_a_run_overflows_when_a_request_is_over_the_window() -> None:
    whole = facts(run(calls("a"), result("x" * 1_000, "a"), calls("b")))
    pair = ComparedRun(replay(whole, KEEP_ALL), replay(whole, KEEP_ALL))
    assert summarize([pair], window=pair.baseline.peak).requests.overflow == 0.0
    assert summarize([pair], window=pair.baseline.peak - 1).requests.overflow == 1.0


@pytest.mark.parametrize(("size", "is_cached"), [(99, False), (100, True), (101, True)])
def test_a_prefix_of_the_least_size_is_cached(size: int, is_cached: bool) -> None:
    cache = BreakpointCache(PLAIN)
    cache.send(sent(size, first=1))
    assert (cache.send(sent(size, 5, first=1)).read > 0) is is_cached
