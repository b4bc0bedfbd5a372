"""What a conversation may spend: on a summary, and on putting tools in front of a request."""

from keepwhole.models.ledger import Costs, Ledger, SentRequest
from keepwhole.models.profiles import Profile
from keepwhole.models.unmanaged import ClientRequest

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


def test_tools_are_afforded_where_nothing_is_cached_or_the_window_is_half_full() -> None:
    assert costs(20_000, 0).affords_tools(120, 120, SHARE)
    assert costs(51_000, 50_000).affords_tools(120, 0, SHARE)


def test_a_conversation_is_outgrown_by_what_is_sent_of_it() -> None:
    """A new result that is cut as it comes does not count with its whole size."""
    here = costs(95_000, 70_000)
    assert here.is_outgrown(95_000, 10_000, SHARE)
    assert not here.is_outgrown(20_000, 10_000, SHARE)


def test_no_conversation_is_outgrown_before_the_client_would_have_compacted() -> None:
    assert not costs(60_000, 55_000).is_outgrown(60_000, 10_000, SHARE)
