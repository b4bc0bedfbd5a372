"""What a client with `mode: off` would have paid, request by request, and when it would have compacted."""

import pytest

from keepwhole.models.profiles import Profile
from keepwhole.models.unmanaged import ClientRequest, UnmanagedClient, request_cost, summary_cost

SHORT = Profile("claude", window=100_000)
PROFILE = SHORT.replace(minimum=0)
"""So that the cache serves what is short, too."""


def sent(*requests: ClientRequest, profile: Profile = PROFILE) -> UnmanagedClient:
    """A client that has sent these requests."""
    client = UnmanagedClient()
    for request in requests:
        client.send(request, profile)
    return client


@pytest.mark.parametrize(
    ("size", "cached", "cost"),
    [
        (3_000, 2_000, 0.1 * 2_000 + 1.25 * 1_000),
        (3_000, 1_024, 0.1 * 1_024 + 1.25 * 1_976),
        (3_000, 1_023, 1.25 * 3_000),
        (1_024, 0, 1.25 * 1_024),
        (1_023, 0, 1_023),
    ],
)
def test_what_is_cached_is_read_and_the_rest_is_written_unless_it_is_too_short_for_that(
    size: int, cached: int, cost: float
) -> None:
    assert request_cost(SHORT, size, cached) == pytest.approx(cost)


def test_a_long_request_costs_a_multiple_of_all_of_it() -> None:
    profile = PROFILE.replace(long_from=2_000, long_price=3.0)
    assert request_cost(profile, 2_000, 1_000) == pytest.approx(100 + 1_250)
    assert request_cost(profile, 2_001, 1_000) == pytest.approx(3 * (100 + 1.25 * 1_001))


def test_a_summary_costs_the_request_that_asks_for_it_and_two_thousand_tokens_of_output() -> None:
    assert summary_cost(PROFILE, 50_000) == pytest.approx(0.1 * 50_000 + 5 * 2_000)
    assert summary_cost(PROFILE, 50_000, cold=True) == pytest.approx(1.25 * 50_000 + 5 * 2_000)


def test_each_request_reads_what_the_one_before_had_unless_the_cache_has_forgotten_it() -> None:
    warm = sent(ClientRequest(10_000, 0), ClientRequest(12_000, 10_000))
    assert (warm.size, warm.compactions) == (12_000, 0)
    assert warm.cost == pytest.approx(12_500 + 1_000 + 2_500)
    cold = sent(ClientRequest(10_000, 0), ClientRequest(12_000, 10_000, cold=True))
    assert cold.cost == pytest.approx(12_500 + 15_000)


def test_a_client_compacts_with_the_request_that_would_take_nine_tenths_of_the_window() -> None:
    first = ClientRequest(80_000, 0)
    below = sent(first, ClientRequest(89_999, 80_000))
    assert (below.compactions, below.size) == (0, 89_999)
    at = sent(first, ClientRequest(90_000, 80_000))
    assert (at.compactions, at.size) == (1, 2_000 + 10_000)
    assert at.cost == pytest.approx(100_000 + 8_000 + 10_000 + 1.25 * 12_000)


def test_a_summary_keeps_the_system_prompt_and_the_tools_of_which_the_cache_serves_what_is_in_front() -> None:
    kept = sent(ClientRequest(80_000, 0), ClientRequest(90_000, 80_000, kept=500, front=400))
    assert kept.size == 2_500 + 10_000
    assert kept.cost == pytest.approx(100_000 + 8_000 + 10_000 + 0.1 * 400 + 1.25 * 12_100)


def test_a_summary_is_not_written_of_less_than_it_would_leave() -> None:
    assert sent(ClientRequest(2_500, 0), ClientRequest(95_000, 2_500, kept=500)).compactions == 0
    assert sent(ClientRequest(2_501, 0), ClientRequest(95_000, 2_501, kept=500)).compactions == 1


def test_what_was_compacted_stays_so_and_the_rest_is_compacted_again() -> None:
    client = sent(ClientRequest(80_000, 0), ClientRequest(95_000, 80_000))
    assert client.size == 17_000
    client.send(ClientRequest(106_000, 95_000), PROFILE)
    assert (client.size, client.compactions) == (28_000, 1)
    client.send(ClientRequest(172_000, 106_000), PROFILE)
    assert (client.size, client.compactions) == (2_000 + 66_000, 2)
    client.send(ClientRequest(173_000, 172_000), PROFILE)
    assert (client.size, client.compactions) == (69_000, 2)


@pytest.mark.parametrize(
    ("tokens", "shared", "size"),
    [(78_001, 78_000, 1), (78_000, 78_000, 78_000), (85_000, 78_000, 7_000), (85_000, 77_999, 85_000)],
)
def test_a_client_that_goes_back_has_its_whole_history_again(tokens: int, shared: int, size: int) -> None:
    client = sent(ClientRequest(80_000, 0), ClientRequest(95_000, 80_000))  # 78,000 tokens were replaced
    client.send(ClientRequest(tokens, shared), PROFILE)
    assert (client.size, client.compactions) == (size, 1)


def test_no_request_is_charged_beyond_the_window() -> None:
    first = sent(ClientRequest(150_000, 0))
    assert (first.size, first.compactions) == (150_000, 0)
    assert first.cost == pytest.approx(125_000)
    first.send(ClientRequest(170_000, 150_000), PROFILE)
    assert first.cost == pytest.approx(125_000 + summary_cost(PROFILE, 100_000) + 1.25 * 22_000)


def test_a_client_goes_on_from_where_another_one_was() -> None:
    client = UnmanagedClient()
    client.go_on(7.0, 3, -3_000)
    client.send(ClientRequest(5_000, 2_000), PROFILE)
    assert (client.size, client.compactions) == (8_000, 3)
    assert client.cost == pytest.approx(7 + 0.1 * 5_000 + 1.25 * 3_000)
