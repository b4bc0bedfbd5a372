"""What a conversation may spend: on a summary, and on putting tools in front of a request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.models.ledger import RECALL_TOKENS, Costs, Ledger, SentRequest
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
