"""What a conversation may spend: on a summary, and on putting tools in front of a request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.models.ledger import RECALL_TOKENS, CachedPrefixes, CarriedCosts, Costs, Ledger, SentRequest, last_end
from keepwhole.models.profiles import Profile
from keepwhole.models.unmanaged import OUT, SUMMARY, ClientRequest, UnmanagedClient, request_cost, summary_cost

PROFILE = Profile("claude").replace(window=100_000)
SHARE = 0.05


def costs(tokens: int, cached: int, *, sent: int = 1, came: ClientRequest | None = None) -> Costs:
    """The costs before a request, after `sent` requests that were as large."""
    ledger = Ledger()
    for _ in range(sent):
        ledger.send(SentRequest(cached, cached, ClientRequest(cached, cached)), PROFILE)
    return Costs(ledger, SentRequest(tokens, cached, came or ClientRequest(tokens, cached)), PROFILE)


def test_tools_are_afforded_where_what_is_left_out_saves_what_they_cost() -> None:
    small = costs(20_000, 18_000)
    assert not small.affords_tools(120, 100, SHARE)
    assert small.affords_tools(120, 18_000, SHARE)


def test_tools_are_afforded_from_what_many_requests_have_left() -> None:
    assert not costs(20_000, 18_000, sent=10).affords_tools(120, 100, SHARE)
    assert costs(20_000, 18_000, sent=400).affords_tools(120, 100, SHARE)


def test_tools_are_afforded_where_nothing_is_cached_or_the_window_is_full() -> None:
    assert costs(20_000, 0).affords_tools(120, 120, SHARE)
    assert not costs(51_000, 50_000).affords_tools(120, 0, SHARE)
    assert costs(91_000, 90_000).affords_tools(120, 0, SHARE)


def test_a_conversation_is_outgrown_by_what_is_sent_of_it() -> None:
    """A new result that is cut as it comes does not count with its whole size."""
    here = costs(95_000, 70_000)
    assert here.is_outgrown(95_000, 10_000, SHARE)
    assert not here.is_outgrown(20_000, 10_000, SHARE)


def test_no_conversation_is_outgrown_before_the_client_would_have_compacted() -> None:
    assert not costs(60_000, 55_000).is_outgrown(60_000, 10_000, SHARE)


@given(
    before=st.lists(st.integers(2_000, 90_000), max_size=30),
    tokens=st.integers(2_000, 99_000),
    shares=st.tuples(*[st.floats(0, 1)] * 3),
    read=st.sampled_from([0.1, 0.05, 0.02]),
)
def test_a_batch_that_is_afforded_leaves_room_to_read_something_back(
    before: list[int], tokens: int, shares: tuple[float, float, float], read: float
) -> None:
    profile, ledger = PROFILE.replace(read=read, minimum=0), Ledger()
    for size in before:
        ledger.send(SentRequest(size, size // 2, ClientRequest(size, size)), profile)
    cached, behind = int(shares[0] * tokens), int(shares[1] * tokens)
    behind = max(behind, tokens - cached)
    freed = int(shares[2] * behind)
    here = Costs(ledger, SentRequest(tokens, cached, ClientRequest(tokens, cached)), profile)
    if here.affords_batch(SHARE)(behind, freed):
        sent = here.request._replace(tokens=tokens - freed, cached=tokens - behind)
        after = ledger.after(sent, profile)
        after.pay(read * sent.tokens + OUT * RECALL_TOKENS)
        assert after.paid <= (1 + SHARE) * after.unmanaged + 1


def test_a_client_that_is_asked_to_compact_would_have_been_with_mode_off_too() -> None:
    here = costs(50_000, 50_000, sent=3)
    carried = here.ledger.after_compaction(here.request, PROFILE, 0.0)
    assert (carried.size, carried.compactions) == (0, 1)
    assert carried.unmanaged == here.ledger.after(here.request, PROFILE).unmanaged + OUT * SUMMARY


def test_a_client_that_compacts_later_than_with_mode_off_is_behind_it() -> None:
    ledger = Ledger()
    ledger.send(SentRequest(80_000, 0, ClientRequest(80_000, 0)), PROFILE)
    ledger.send(SentRequest(85_000, 80_000, ClientRequest(95_000, 80_000)), PROFILE)
    assert ledger.client.compactions == 1
    request = SentRequest(88_000, 85_000, ClientRequest(98_000, 95_000))
    carried = ledger.after_compaction(request, PROFILE, 0.0)
    assert (carried.size, carried.unmanaged) == (ledger.client.size, ledger.unmanaged)
    assert carried.paid > ledger.paid + OUT * SUMMARY
    after = Ledger()
    after.go_on(carried, 2_000)
    after.send(SentRequest(5_000, 0, ClientRequest(5_000, 2_000)), PROFILE)
    assert after.client.size == ledger.client.size + 3_000, "what is new, and all that it had"
    assert after.unmanaged == ledger.unmanaged + request_cost(PROFILE, after.client.size, ledger.client.size)


def test_a_summary_leaves_what_is_before_the_messages_in_the_cache() -> None:
    with_front, without = UnmanagedClient(), UnmanagedClient()
    for client, front in ((with_front, 20_000), (without, 0)):
        client.send(ClientRequest(80_000, 0, kept=20_000, front=front), PROFILE)
        client.send(ClientRequest(95_000, 80_000, kept=20_000, front=front), PROFILE)
    assert (with_front.compactions, with_front.size) == (without.compactions, without.size) == (1, 37_000)
    assert without.cost - with_front.cost == pytest.approx((PROFILE.write - PROFILE.read) * 20_000)


def test_a_summary_is_due_while_a_client_can_still_afford_one_of_its_own() -> None:
    here = costs(95_000, 70_000, sent=60)
    ahead = here.ledger.after(here.request, PROFILE)
    least = PROFILE.write * 10_000 + PROFILE.read * (95_000 - ahead.client.size)
    spare = ahead.budget(SHARE) - least
    here.ledger.pay(spare - 1)
    assert here.is_outgrown(95_000, 10_000, SHARE), "the client's own summary is not afforded any more"
    here.ledger.pay(-summary_cost(PROFILE, 95_000))
    assert not here.is_outgrown(95_000, 10_000, SHARE)


def test_forks_begin_at_nothing_and_eight_of_them_may_spend_what_was_saved_before() -> None:
    ledger = Ledger()
    ledger.send(SentRequest(40_000, 0, ClientRequest(80_000, 0)), PROFILE)
    saved = ledger.unmanaged - ledger.paid
    ledger.begin_fork()
    assert (ledger.paid, ledger.unmanaged) == (0.0, 0.0)
    assert saved > 0
    assert 8 * ledger.budget(0.05) == pytest.approx(saved)


def test_a_fork_has_no_debts_of_the_session_it_comes_from() -> None:
    ledger = Ledger()
    ledger.pay(1_000.0)
    ledger.begin_fork()
    assert ledger.budget(0.05) == 0


def test_a_summary_is_due_once_the_budget_no_longer_has_what_it_takes() -> None:
    here = costs(95_000, 70_000, sent=60)
    ahead = here.ledger.after(here.request, PROFILE)
    over = 95_000 - ahead.client.size
    due = PROFILE.write * 10_000 + summary_cost(PROFILE, 95_000) + PROFILE.read * over
    here.ledger.pay(ahead.budget(SHARE) - due - 1)
    assert not here.is_outgrown(95_000, 10_000, SHARE)
    here.ledger.pay(2)
    assert here.is_outgrown(95_000, 10_000, SHARE)


def test_a_summary_must_pay_within_twenty_requests() -> None:
    here = costs(95_000, 70_000)
    left = 58_461  # 1.25 times that are as much as twenty times a tenth of the rest
    assert here.is_outgrown(95_000, left, SHARE)
    assert not here.is_outgrown(95_000, left + 1, SHARE)


def test_a_client_that_carries_no_more_than_its_share_beyond_mode_off_needs_no_summary() -> None:
    here = costs(95_000, 70_000)
    size = here.ledger.after(here.request, PROFILE).client.size
    here.ledger.pay(1_000_000)
    assert size == 27_000
    assert not here.is_outgrown(28_350, 100, SHARE)
    assert here.is_outgrown(28_351, 100, SHARE)


def left_with(here: Costs, budget: float) -> None:
    """Pay so much that this much may be spent beside the request."""
    here.ledger.pay(here.budget(SHARE) - budget)


def test_a_batch_costs_the_cache_behind_it_less_what_it_leaves_out() -> None:
    here = costs(20_000, 18_000)
    assert here.of_batch(10_000, 2_000) == pytest.approx(1.15 * 8_000 - 1.25 * 2_000)


@pytest.mark.parametrize(("spare", "is_afforded"), [(1, True), (-1, False)])
def test_a_batch_is_afforded_up_to_what_it_costs_and_reading_something_back_once(spare: int, is_afforded: bool) -> None:
    here = costs(20_000, 18_000, sent=10)
    left_with(here, 6_700 + 0.1 * 18_000 + 5 * 40 + spare)
    assert here.affords_batch(SHARE)(10_000, 2_000) is is_afforded


@pytest.mark.parametrize(("spare", "is_afforded"), [(1, True), (-1, False)])
def test_a_batch_is_not_afforded_where_a_summary_would_be_due_right_after_it(spare: int, is_afforded: bool) -> None:
    here = costs(95_000, 70_000, sent=60)._replace(summarized=[1_000, 10_000])
    over = 90_000 - here.ledger.after(here.request, PROFILE).client.size
    due = PROFILE.write * 10_000 + summary_cost(PROFILE, 90_000) + PROFILE.read * over
    left_with(here, here.of_batch(40_000, 5_000) + due + spare)
    assert here.affords_batch(SHARE)(40_000, 5_000) is is_afforded


@pytest.mark.parametrize(("tokens", "cost"), [(10_000, 12_500), (20_000, 25_000), (30_000, 37_500 + 20 * 1_000)])
def test_what_is_sent_uncached_is_carried_for_twenty_requests(tokens: int, cost: int) -> None:
    here = costs(20_000, 18_000, sent=10)
    left_with(here, cost + 1)
    assert here.affords_to_carry(tokens, SHARE)
    here.ledger.pay(2)
    assert not here.affords_to_carry(tokens, SHARE)


@pytest.mark.parametrize("profile", [PROFILE, PROFILE.replace(assumed=("read",))])
def test_tools_cost_the_cache_and_their_own_tokens_less_what_is_left_out(profile: Profile) -> None:
    """Where the price of reading is a guess, it may be half as much."""
    here = costs(20_000, 18_000, sent=10)._replace(profile=profile)
    read = 0.05 if profile.assumed else 0.1
    left_with(here, (1.25 - read) * 18_000 + 1.25 * 20 + 1)
    assert here.affords_tools(120, 100, SHARE)
    here.ledger.pay(2)
    assert not here.affords_tools(120, 100, SHARE)


def test_tools_need_not_pay_beyond_nine_tenths_of_the_window_and_only_save_where_nothing_is_served() -> None:
    for tokens, is_afforded in ((90_000, False), (90_001, True)):
        here = costs(tokens, 50_000)
        left_with(here, 0)
        assert here.affords_tools(120, 100, SHARE) is is_afforded
    here = costs(20_000, 18_000)
    left_with(here, 0)
    assert here.affords_tools(100, 100, SHARE, is_served=False)
    assert not here.affords_tools(101, 100, SHARE, is_served=False)


def test_savings_are_counted_at_half_of_a_price_that_is_a_guess() -> None:
    for assumed, read in ((("window",), 0.1), (("window", "read"), 0.05)):
        ledger = Ledger()
        ledger.send(SentRequest(20_000, 10_000, ClientRequest(30_000, 20_000)), PROFILE.replace(assumed=assumed))
        assert ledger.paid == pytest.approx(read * 10_000 + 12_500)
        assert ledger.unmanaged == pytest.approx(read * 20_000 + 12_500)


def test_a_request_that_only_recalls_and_a_cache_that_did_not_serve_are_paid_and_not_unmanaged() -> None:
    ledger = Ledger()
    ledger.send(SentRequest(20_000, 10_000, None), PROFILE)
    ledger.charge(1_000, PROFILE)
    ledger.pay(3)
    assert ledger.paid == pytest.approx(1_000 + 12_500 + 1_150 + 3)
    assert ledger.unmanaged == 0


def test_a_look_ahead_changes_nothing() -> None:
    ledger = Ledger()
    ledger.send(SentRequest(20_000, 0, ClientRequest(20_000, 0)), PROFILE)
    ahead = ledger.after(SentRequest(30_000, 20_000, ClientRequest(30_000, 20_000)), PROFILE)
    assert (ledger.paid, ledger.unmanaged, ledger.client.size) == (25_000, 25_000, 20_000)
    assert ahead.paid == ahead.unmanaged == pytest.approx(25_000 + 2_000 + 12_500)


@pytest.mark.parametrize(("tokens", "size", "goes_on"), [(75_000, 67_499, True), (75_000, 67_500, False)])
def test_a_client_goes_on_with_mode_off_where_it_is_under_nine_tenths_as_large(
    tokens: int, size: int, goes_on: bool
) -> None:
    ledger = Ledger()
    ledger.send(SentRequest(size, 0, ClientRequest(size, 0)), PROFILE)
    request = SentRequest(tokens, size, ClientRequest(tokens, size))
    ahead = ledger.after(request, PROFILE)
    carried = ledger.after_compaction(request, PROFILE, 7.0)
    assert carried.paid == pytest.approx(ahead.paid + 7 + OUT * SUMMARY)
    unmanaged = ledger.unmanaged if goes_on else ahead.unmanaged + OUT * SUMMARY
    assert (carried.unmanaged, carried.compactions) == (pytest.approx(unmanaged), 0 if goes_on else 1)
    assert carried.size == (size if goes_on else 0)


def test_a_client_is_asked_to_compact_where_less_than_three_quarters_of_the_window_are_full() -> None:
    ledger = Ledger()
    ledger.send(SentRequest(1_000, 0, ClientRequest(1_000, 0)), PROFILE)
    below, at = (
        ledger.after_compaction(SentRequest(tokens, 1_000, ClientRequest(tokens, 1_000)), PROFILE, 0)
        for tokens in (74_999, 75_000)
    )
    assert (below.size, below.compactions) == (0, 1)
    assert (at.size, at.compactions) == (1_000, 0)


def test_a_conversation_that_begins_anew_has_no_more_with_mode_off_than_it_sends() -> None:
    for size, wanted in ((0, 5_000), (30_000, 33_000)):
        ledger = Ledger()
        ledger.go_on(CarriedCosts(4.0, 9.0, 2, size), 2_000)
        assert (ledger.paid, ledger.unmanaged, ledger.client.compactions) == (4, 9, 2)
        ledger.send(SentRequest(5_000, 0, ClientRequest(5_000, 2_000)), PROFILE)
        assert ledger.client.size == wanted


def prefixes(*requests: tuple[int, float]) -> CachedPrefixes:
    """The cache after requests of so many messages at these times."""
    cache = CachedPrefixes()
    for messages, now in requests:
        cache.add(messages, now)
    return cache


def test_a_prefix_is_served_for_its_lifetime_after_it_was_last_used() -> None:
    cache = prefixes((2, 0), (4, 100), (6, 200))  # the request of 4 uses the prefix of 2, that of 6 the prefix of 4
    assert cache.alive(400, 300, PROFILE) == [2, 4, 6]
    assert cache.alive(401, 300, PROFILE) == [4, 6]
    assert cache.alive(500, 300, PROFILE) == [4, 6]
    assert cache.alive(501, 300, PROFILE) == []
    assert CachedPrefixes().alive(0, 300, PROFILE) == []


def test_without_breakpoints_each_use_renews_all_that_is_before_it() -> None:
    cache, profile = prefixes((2, 0), (4, 100), (6, 200)), PROFILE.replace(breakpoints=0)
    assert cache.alive(500, 300, profile) == [2, 4, 6]
    assert cache.alive(501, 300, profile) == []


def test_a_request_that_is_sent_again_uses_its_own_prefix() -> None:
    cache = prefixes((2, 0), (4, 100), (4, 350))
    assert cache.alive(400, 300, PROFILE) == [2, 4]
    assert cache.alive(401, 300, PROFILE) == [4]


def test_a_request_that_goes_back_forgets_the_longer_prefixes() -> None:
    cache = prefixes((2, 0), (4, 10), (6, 20), (4, 30))
    assert cache.alive(40, 300, PROFILE) == [2, 4]
    cache.drop_after(3)
    assert cache.alive(40, 300, PROFILE) == [2]
    cache.drop_after(1)
    assert cache.alive(40, 300, PROFILE) == []


def test_the_longest_prefix_that_ends_before_a_change_stays() -> None:
    assert [last_end([1, 3, 9], index) for index in (0, 1, 2, 3, 8, 9, 99)] == [0, 1, 1, 3, 3, 9, 9]
    assert last_end([], 5) == 0
