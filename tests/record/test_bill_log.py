"""Requests on record are paired with their answers, in order; what they were billed corrects what is expected."""

from typing import Any

import pytest

from keepwhole.canonical.entry import Request, Response
from keepwhole.models.forecast import Breakpoint, CacheHit, Prompt
from keepwhole.models.profiles import DEFAULT, Profile
from keepwhole.record.bills import Billing, BillLog, Expected, sent_at
from keepwhole.wire.usage import Usage


def asked(number: int, **fields: Any) -> Request:
    """A request that was written down in second 1,000."""
    about = {"at": 1_000_000, "trace_id": f"trace-{number}", "size": 1, "digest": f"digest-{number}", "model": "m"}
    return Request(**{**about, **fields})


def answered(number: int, **fields: Any) -> Response:
    about: dict[str, Any] = {"at": 1_000_500, "trace_id": f"trace-{number}", "status": 200, "outcome": "complete"}
    return Response(**{**about, **fields})


def log_of(*headers: Request | Response) -> BillLog:
    log = BillLog()
    for seq, header in enumerate(headers, 1):
        log.learn(seq, header)
    return log


def billing(*headers: Request | Response, profile: Profile = DEFAULT) -> Billing:
    """The bills of a session that has these entries."""
    log = log_of(*headers)
    made = Billing("s", lambda: 0.0, lambda _: profile, lambda: log)
    made.catch_up()
    return made


def test_each_answered_request_is_handed_out_once_with_its_number() -> None:
    log = log_of(asked(1), asked(2), answered(2), answered(3), answered(1), answered(1))
    assert [(one.seq, one.request.trace_id) for one in log.take()] == [(2, "trace-2"), (1, "trace-1")]
    assert log.take() == []


def test_sixty_four_requests_wait_for_their_answers() -> None:
    log = log_of(*[asked(number) for number in range(65)], answered(0), answered(1), answered(64))
    assert [one.seq for one in log.take()] == [2, 65]


def test_a_request_was_sent_before_its_answer_took_its_time() -> None:
    assert sent_at(asked(1), None) == 1_000
    assert sent_at(asked(1), answered(1)) == 1_000
    timed = answered(1, total_ms=9_000, queue_ms=2_000, own_ms=500, first_ms=1_500)
    assert sent_at(asked(1), timed) == 1_000 - 6.5
    (one,) = log_of(asked(1), timed).take()
    assert (one.sent_at, one.answered_at) == (993.5, 995)


def test_a_branch_was_last_sent_with_its_newest_turn() -> None:
    log = log_of(asked(1, branch="a", purpose="title"), asked(2, branch="b"))
    assert log.last_sent == {"a": 1_000, "b": 1_000}
    for number, purpose, sent in ((3, "title", 1_000), (4, "turn", 1_007), (5, "round", 1_008)):
        log.learn(number, asked(number, branch="b", purpose=purpose, at=1_003_000 + 1_000 * number))
        assert log.last_sent["b"] == sent
    log.learn(6, answered(4, total_ms=5_000))
    assert log.last_sent["b"] == 1_002


def test_a_branch_that_was_once_offered_the_recall_tools_is_known() -> None:
    assert log_of(asked(1, branch="a", recall="tools"), asked(2, branch="a"), asked(3, branch="b")).offered == {"a"}


def test_the_newest_bills_about_whole_requests_are_told() -> None:
    log = log_of(
        *(asked(1, tokens_sent=1_000, scale=2.0), answered(1, input=600)),
        *(asked(2, tokens_sent=1_000), answered(2, input=600)),
        *(asked(3, tokens_sent=1_000, scale=1.0), answered(3)),
        *(asked(4, tokens_sent=1_000, scale=1.0), answered(4, input=700, status=500)),
        *(asked(5, tokens_sent=800, scale=1.0, model="n"), answered(5, input=900)),
    )
    assert log.newest(9) == [("m", 500, 600), ("n", 800, 900)]
    assert log.newest(1) == [("n", 800, 900)]
    assert len(log.take()) == 5, "they are handed out all the same"


def test_bills_of_other_processes_count_where_they_are_about_whole_requests() -> None:
    good = {"tokens_sent": 10_000, "scale": 1.0, "predicted": 4_000}
    for fields, told, requests in (
        (good, {"input": 15_000, "cached": 3_000}, 1),
        ({**good, "scale": 0.0}, {"input": 15_000, "cached": 3_000}, 0),
        (good, {"input": 15_000, "cached": 3_000, "status": 400}, 0),
    ):
        found = billing(asked(1, **fields), answered(1, **told))
        assert (found.requests, found.predicted, found.billed) == (requests, 4_000 * requests, 3_000 * requests)
        assert found.scale("m") == (1.5 if requests else 1.0)
    named = billing(asked(1, **good), answered(1, answered_by="gpt-4.1"))
    assert named.answered_by("m") == "gpt-4.1"
    unsaid = billing(asked(1, **good), answered(1, input=15_000))
    assert (unsaid.requests, unsaid.scale("m")) == (0, 1.5)


def test_a_request_of_this_process_is_not_counted_again_when_it_is_read_on_record() -> None:
    log = log_of(*(header for number in (1, 2) for header in (asked(number, scale=1.0), answered(number, cached=5))))
    made = Billing("s", lambda: 0.0, lambda _: DEFAULT, lambda: log)
    made.learn(expected(0), Usage(10, 5), digest="digest-2")
    assert made.requests == 1
    made.catch_up()
    assert made.requests == 2
    log.learn(5, asked(3, scale=1.0, digest="digest-2"))
    log.learn(6, answered(3, cached=5))
    made.catch_up()
    assert made.requests == 3, "sent by another process with the same bytes"


def expected(cached: int, model: str = "m", profile: Profile = DEFAULT, cold: bool = False) -> Expected:
    """What is expected of a request without an estimate, of which so many tokens should be cached."""
    prompt = Prompt([b"prompt"], [9_000], [1], (Breakpoint(0, 3_600),))
    return Expected(9_000, cached, cold, 0, model, profile, 0.0, prompt, CacheHit(-1, 0, -1, None, cold))


def judged(*figures: tuple[int, int], profile: Profile = DEFAULT) -> Billing:
    """The bills after requests of which so many tokens were expected in the cache, and so many served."""
    made = Billing("s", lambda: 0.0, lambda _: profile)
    for tokens, served in figures:
        made.learn(expected(tokens, profile=profile), Usage(9_000, served))
    return made


def test_nothing_ages_after_five_requests_that_were_served_less_than_half_of_what_was_expected() -> None:
    assert not judged(*[(2_000, 0)] * 4).frozen
    failed = judged(*[(2_000, 0)] * 5)
    assert (failed.frozen, failed.has_no_cache, failed.shortfall) == (True, True, 10_000)
    assert failed.reason.startswith("Of 10,000 tokens that the cache should have served in the last 5 requests it ")
    assert "served 0, so nothing ages" in failed.reason
    for last, frozen in ((5_000, False), (4_999, True)):
        some = judged(*[(2_000, 0)] * 4, (2_000, last))
        assert (some.frozen, some.has_no_cache) == (frozen, False)
    assert judged((2_000, 3_000)).shortfall == 0


def test_ageing_goes_on_after_five_requests_in_a_row_that_were_served_half() -> None:
    failed = [(2_000, 0)] * 5
    assert judged(*failed, *[(2_000, 1_000)] * 4).frozen
    again = judged(*failed, *[(2_000, 1_000)] * 5)
    assert (again.frozen, again.reason, again.has_no_cache) == (False, "", True)
    assert judged(*failed, *[(2_000, 1_000)] * 4, (2_000, 999), *[(2_000, 2_000)] * 4).frozen


def test_a_forecast_below_the_shortest_prefix_is_not_judged() -> None:
    assert not judged(*[(1_023, 0)] * 9).frozen
    assert judged(*[(1_024, 0)] * 9).frozen
    anything = DEFAULT.replace(minimum=0)
    assert not judged(*[(0, 0)] * 9, profile=anything).frozen
    assert judged(*[(1, 0)] * 9, profile=anything).frozen


def test_a_request_that_the_cache_has_surely_forgotten_is_not_judged() -> None:
    made = Billing("s", lambda: 0.0, lambda _: DEFAULT)
    for _ in range(9):
        made.learn(expected(2_000, cold=True), Usage(9_000, 0))
    assert (made.frozen, made.shortfall, made.requests) == (False, 0, 9)


@pytest.mark.parametrize("usage", [None, Usage(9_000, 0, says_cached=False), Usage(9_000, hops=2)])
def test_a_bill_that_does_not_say_what_this_request_was_served_is_not_judged(usage: Usage | None) -> None:
    made = Billing("s", lambda: 0.0, lambda _: DEFAULT)
    for _ in range(9):
        made.learn(expected(2_000), usage)
    assert (made.frozen, made.requests, made.predicted) == (False, 0, 0)


def test_an_entry_that_is_to_live_an_hour_costs_more_and_is_known_by_the_last_request_to_its_model() -> None:
    made = judged((2_000, 2_000))
    assert made.wants_hour("m")
    assert not made.wants_hour("another")
    assert made.lifetime("m", DEFAULT) == 3_600
    assert made.lifetime("another", DEFAULT) == 300
    prompt = Prompt([b"prompt"], [9_000], [1], (Breakpoint(0, 3_599),))
    made.learn(expected(2_000)._replace(prompt=prompt), None)
    assert not made.wants_hour("m")


def test_a_client_pays_the_price_of_what_it_has_cached_on_average() -> None:
    half = Prompt([b"head", b"one", b"two"], [1_000, 2_000, 3_000], [1, 2, 3], (Breakpoint(1),))
    made = Billing("s", lambda: 0.0, lambda _: DEFAULT)
    made.learn(expected(0)._replace(prompt=half), None)
    assert made.as_cached(DEFAULT, "another") == DEFAULT
    profile = made.as_cached(DEFAULT, "m")
    assert (profile.read, profile.write) == (pytest.approx(0.5 * 0.1 + 0.5), pytest.approx(0.5 * 1.25 + 0.5))


def test_sixteen_models_are_remembered_those_that_were_used_last() -> None:
    made = Billing("s", lambda: 0.0, lambda _: DEFAULT)
    made.learn_scale((f"m{number}", 1_000, 2_000) for number in range(16))
    made.learn_scale([("m0", 1_000, 2_000), ("m16", 1_000, 2_000)])
    assert [made.scale(f"m{number}") for number in (0, 1, 2, 16)] == [2.0, 1.0, 2.0, 2.0]


def test_the_model_that_answered_is_known_where_it_is_another_one() -> None:
    made = Billing("s", lambda: 0.0, lambda _: DEFAULT)
    for number in range(17):
        made.learn(expected(0, f"m{number}"), Usage(10, model=f"gpt-{number}"))
    made.learn(expected(0, "same"), Usage(10, model="same"))
    assert [made.answered_by(name) for name in ("m0", "m15", "m16", "same", None)] == ["gpt-0", "gpt-15", *[None] * 3]
    made.learn(expected(0, "m0"), Usage(10, model="gpt-new"))
    assert made.answered_by("m0") == "gpt-new", "what is known is kept up to date"


def test_the_newest_requests_of_others_are_looked_at_once_their_answers_have_begun() -> None:
    """What they left in the cache; each is read once, and of many the newest eight."""
    headers: list[Request | Response] = []
    for number in range(10):
        moment = 1_000_000 + 1_000 * number
        asked_then = asked(number, at=moment, scale=1.0, tokens_sent=1_000, dialect="anthropic")
        headers += [asked_then, answered(number, total_ms=0, first_ms=500, input=1_000, cached=0)]
    log, read = log_of(*headers), list[int]()

    def body(seq: int) -> bytes | None:
        read.append(seq)
        return None if seq == 5 else b'{"messages": [{"role": "user", "content": "hello"}]}'

    made = Billing("s", lambda: 1_005.6, lambda _: DEFAULT, lambda: log, lambda: body)
    made.remember(1_003.5)
    assert read == [5], "those of numbers 2 to 9 are remembered, and only number 2 was answered by then"
    made.remember_first("m")
    assert read == [5, 7, 9, 11], "nothing was sent to the model by this process"
    made.remember_first("m")
    assert read == [5, 7, 9, 11], "now something is known of it"
    made.remember(2_000)
    assert read == [5, 7, 9, 11, 13, 15, 17, 19]
    made.remember(2_000)
    assert len(read) == 8


def test_a_request_that_is_sent_is_read_like_the_one_before_it() -> None:
    made = Billing("s", lambda: 0.0, lambda _: DEFAULT)
    first, second = (
        made.read(b'{"messages": [%s]}' % b", ".join([b'{"role": "user", "content": "hello"}'] * many))
        for many in (9, 10)
    )
    assert first is not None
    assert second is not None
    assert second.messages[0] is first.messages[0], "what both begin with is taken over"
    assert made.read(b"no JSON") is None
    third = made.read(b'{"messages": [%s]}' % b", ".join([b'{"role": "user", "content": "hello"}'] * 11))
    assert third is not None
    assert third.messages[0] is not first.messages[0]
