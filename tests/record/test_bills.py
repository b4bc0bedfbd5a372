"""What requests will be billed is known, what they were billed is learned from, and failing forecasts stop ageing."""

import json
import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole.models.profiles import DEFAULT
from keepwhole.policies.policy import Situation
from keepwhole.record.bills import Billing
from tests.record.billed_conversation import EAGER, BilledConversation, count_markers
from tests.upstream.bills import Bills

DIALECTS = ["anthropic", "openai_chat", "openai_responses"]
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


@every_dialect
@pytest.mark.parametrize("steps", [100, pytest.param(300, marks=pytest.mark.torture)])
def test_a_run_is_foreseen_within_two_per_cent(dialect: str, steps: int) -> None:
    talk = BilledConversation(dialect)
    batches = sum(talk.step(streamed=number % 2 > 0).account.new_decisions > 0 for number in range(steps))
    assert batches > steps / 60, "the prefix changed now and then"
    assert talk.billing.requests == steps
    assert talk.billing.billed > 3_000 * steps
    assert abs(talk.billing.predicted - talk.billing.billed) <= 0.02 * talk.billing.billed
    assert not talk.billing.frozen


@every_dialect
def test_in_the_shadow_what_is_really_sent_is_foreseen(dialect: str) -> None:
    talk = BilledConversation(dialect, mode="shadow")
    for _ in range(60):
        exchange = talk.step()
        assert exchange.body == talk.agent.body()
    assert talk.billing.predicted == pytest.approx(talk.billing.billed, rel=0.02)
    assert talk.billing.scale(talk.agent.model) == pytest.approx(
        _billed(talk.bills.billed[-1]) / (exchange.account.tokens_whole / exchange.account.scale), rel=0.05
    )


@every_dialect
def test_counting_is_not_sending(dialect: str) -> None:
    talk = BilledConversation(dialect)
    for _ in range(5):
        talk.step()
    before = talk.billing.requests, talk.billing.predicted, talk.billing.billed
    counting = talk.begin(counts=True)
    assert counting.expected is None
    assert counting.learn_bill(200, talk.bills.answer(counting.body, talk.now), complete=True) is None
    assert (talk.billing.requests, talk.billing.predicted, talk.billing.billed) == before


@every_dialect
def test_a_cold_cache_is_the_time_for_a_batch(dialect: str) -> None:
    patient = BilledConversation(dialect, auto=_patient())
    for _ in range(30):
        assert patient.step().account.new_decisions == 0, "nothing pays yet"
    patient.now += 290
    assert patient.step().account.new_decisions == 0
    patient.now += 400
    exchange = patient.step()
    assert exchange.account.new_decisions > 5
    assert exchange.expected is not None
    assert exchange.expected.cold
    assert patient.step().account.new_decisions == 0, "and then it is warm again"
    assert not patient.billing.frozen


def test_a_cache_that_is_to_live_an_hour_is_not_cold_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = BilledConversation("anthropic", Bills("anthropic", lifetime=3_600), auto=_patient())
    plain = talk.agent.body
    monkeypatch.setattr(talk.agent, "body", lambda: plain().replace(b'"ephemeral"', b'"ephemeral", "ttl": "1h"'))
    for _ in range(30):
        talk.step()
    talk.now += 600
    assert talk.step().account.new_decisions == 0
    talk.now += 3_700
    assert talk.step().account.new_decisions > 5


def test_when_forecasts_fail_nothing_ages_and_it_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    talk = BilledConversation("openai_chat", Bills("openai_chat", caches=False))
    with caplog.at_level(logging.INFO, logger="keepwhole"):
        until = next(number for number in range(50) if talk.step() and talk.billing.frozen)
        decided = [talk.step().account.new_decisions for _ in range(40)]
    assert until < 10
    assert sum(decided) == 0
    assert "nothing ages by itself" in talk.billing.reason
    said = [record.getMessage() for record in caplog.records if "aging stopped" in record.getMessage()]
    assert len(said) == 1
    assert "predicted=" in said[0]


def test_it_ages_again_when_forecasts_hold_five_times_in_a_row() -> None:
    talk = BilledConversation("openai_chat", Bills("openai_chat", caches=False))
    for _ in range(20):
        talk.step()
    assert talk.billing.frozen
    talk.bills.caches = True
    for _ in range(4):
        talk.step()
        assert talk.billing.frozen
    talk.bills.caches = False
    talk.step()
    talk.bills.caches = True
    for _ in range(4):
        talk.step()
        assert talk.billing.frozen, "not in a row"
    talk.step()
    assert not talk.billing.frozen
    assert talk.billing.reason == ""
    assert sum(talk.step().account.new_decisions for _ in range(20)) > 0


def test_one_miss_in_five_is_no_failure() -> None:
    talk = BilledConversation("openai_chat")
    for number in range(40):
        talk.bills.caches = number % 5 != 0
        talk.step()
    assert not talk.billing.frozen


def test_the_window_forces_what_is_frozen() -> None:
    talk = BilledConversation("openai_chat", Bills("openai_chat", caches=False), window=16_000)
    for _ in range(60):
        talk.step()
    assert talk.billing.frozen
    assert json.dumps(json.loads(talk.sent[-1])).count("left out") or len(talk.sent[-1]) < len(talk.agent.body()) / 2


def test_a_provider_that_says_nothing_of_its_cache_fails_nothing() -> None:
    talk = BilledConversation("openai_chat")
    for _ in range(30):
        talk.agent.step(talk.steps, "some words " * 300)
        talk.steps += 1
        exchange = talk.begin()
        usage = talk.bills.bill(exchange.body, talk.now)
        del usage["prompt_tokens_details"]
        exchange.learn_bill(200, json.dumps({"usage": usage}).encode(), complete=True)
    assert not talk.billing.frozen
    assert talk.billing.requests == 0


def _billed(usage: dict[str, Any]) -> int:
    names = ("prompt_tokens", "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(usage.get(name, 0) for name in names)


@every_dialect
def test_a_tokenizer_that_takes_more_makes_a_summary_come_sooner(dialect: str) -> None:
    def first(width: float) -> int:
        talk = BilledConversation(dialect, Bills(dialect, width=width), window=40_000, policy="truncation")
        return next(number for number in range(200) if talk.step().account.compacted)

    usual, narrow = first(3.7), first(1.9)
    assert narrow < 0.7 * usual


@every_dialect
def test_what_is_billed_stays_in_the_window(dialect: str) -> None:
    talk = BilledConversation(dialect, Bills(dialect, width=1.7), window=30_000)
    for _ in range(120):
        talk.step()
    assert max(map(_billed, talk.bills.billed)) <= 30_000


@every_dialect
def test_bills_that_agree_shrink_the_margin_and_one_that_does_not_restores_it(dialect: str) -> None:
    talk = BilledConversation(dialect)
    assert talk.billing.doubt(talk.agent.model) == 1.0
    doubts: list[float] = []
    for _ in range(8):
        talk.step()
        doubts.append(talk.billing.doubt(talk.agent.model))
    assert doubts == sorted(doubts, reverse=True)
    assert doubts[-1] == pytest.approx(1 / 6)
    talk.bills.width /= 2
    talk.step()
    assert talk.billing.doubt(talk.agent.model) == 0.5
    assert talk.billing.doubt("another") == 1.0


def test_the_window_holds_what_bills_say_and_the_doubtful_part_of_the_margin() -> None:
    unbilled = Situation(DEFAULT.replace(window=180_000), margin=1.8)
    assert unbilled.window == 100_000
    assert unbilled._replace(scale=1.6, doubt=0.5).most_billed == pytest.approx(1.7)
    assert unbilled._replace(scale=1.0, doubt=0.125).most_billed == pytest.approx(1.1)
    assert unbilled._replace(scale=2.5, doubt=0.5).most_billed == 2.5, "bills above the margin have the last word"
    assert unbilled._replace(margin=1.0, scale=0.8).most_billed == 0.8


def test_bills_that_are_not_about_the_request_correct_nothing() -> None:
    talk = BilledConversation("openai_chat")
    for number in range(40):
        talk.agent.step(number, "some words " * 300)
        exchange = talk.begin()
        usage = {"prompt_tokens": 20 * number, "completion_tokens": 1}
        exchange.learn_bill(200, json.dumps({"usage": usage}).encode(), complete=True)
        assert talk.billing.scale(talk.agent.model) == 1.0


@pytest.mark.parametrize(("estimated", "scale"), [(0, 1.0), (499, 1.0), (500, 2.0), (5_000, 2.0)])
def test_a_bill_for_fewer_than_500_estimated_tokens_corrects_nothing(estimated: int, scale: float) -> None:
    assert _scale_after([(estimated, 2 * estimated)]) == scale


@pytest.mark.parametrize(
    ("ratios", "scale"),
    [
        ((1.5,), 1.5),
        ((9.0,), 3.0),
        ((1.5, 2.5), 2.0),
        ((0.8,), 1.0),
        ((0.8,) * 4, 1.0),
        ((0.8,) * 5, 0.8),
        ((0.8, 0.8, 0.8, 0.8, 0.96), 0.832),
        ((0.8, 0.8, 0.8, 0.8, 0.97), 1.0),
        ((2.0, 0.59), 1.0),
        ((2.0, 0.6), 1.3),
        ((9.0, 1.0, 1.0, 1.0, 1.0, 1.0), 1.0),
    ],
)
def test_more_room_is_believed_after_five_bills_that_agree_and_less_room_at_once(
    ratios: tuple[float, ...], scale: float
) -> None:
    assert _scale_after([(10_000, round(10_000 * ratio)) for ratio in ratios]) == pytest.approx(scale)


def _scale_after(bills: list[tuple[int, int]]) -> float:
    billing = Billing("s", lambda: 0.0, lambda _: DEFAULT)
    billing.learn_scale(("m", estimated, billed) for estimated, billed in bills)
    return billing.scale("m")


def test_corrections_are_by_model() -> None:
    talk = BilledConversation("openai_chat", Bills("openai_chat", width=2))
    for _ in range(10):
        talk.step()
    assert talk.billing.scale("gpt-5") > 1.3
    assert talk.billing.scale("gpt-4o") == 1.0


def test_claude_in_another_dialect_caches_at_markers_alone() -> None:
    talk = BilledConversation("openai_chat", Bills("openai_chat", caches=False))
    talk.agent.model = "anthropic/claude-sonnet-5"
    for _ in range(20):
        talk.step()
    assert talk.billing.predicted == 0
    assert not talk.billing.frozen


# Breakpoints


def test_a_batch_sets_a_marker_where_what_is_cached_ends() -> None:
    talk = BilledConversation("anthropic", pause=2)
    for _ in range(120):
        exchange = talk.step()
        if exchange.account.new_decisions and count_markers(exchange.body) == 3:
            read = talk.bills.billed[-1]["cache_read_input_tokens"]
            assert exchange.expected is not None
            if read > 6_000:
                assert exchange.expected.cached == pytest.approx(read, rel=0.05)
                return
    pytest.fail("no batch read more than the system prompt")


def test_a_client_without_markers_gets_none() -> None:
    talk = BilledConversation("anthropic")
    plain = talk.agent.body
    talk.agent.body = lambda: plain().replace(b', "cache_control": {"type": "ephemeral"}', b"")  # pyright: ignore
    decided = sum(talk.step().account.new_decisions for _ in range(80))
    assert decided
    assert not any(map(count_markers, talk.sent))


@settings(max_examples=8, deadline=None)
@given(st.sets(st.integers(0, 30), max_size=3), st.booleans(), st.sampled_from([1, 40, 400]))
def test_there_are_never_more_markers_than_a_provider_takes(places: set[int], top: bool, pause: int) -> None:
    talk = BilledConversation("anthropic", pause=pause)
    plain = talk.agent.body

    def body() -> bytes:
        made = json.loads(plain())
        made["system"] = "s" * 5_000
        for message in made["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else ():
                block.pop("cache_control", None)
        for place in places:
            message = made["messages"][max(0, len(made["messages"]) - 1 - place)]
            if isinstance(message["content"], list):
                message["content"][-1]["cache_control"] = {"type": "ephemeral"}
        return json.dumps({**made, **({"cache_control": {"type": "ephemeral"}} if top else {})}).encode()

    talk.agent.body = body
    for _ in range(25):
        exchange = talk.step()
        own = count_markers(body())
        found = count_markers(exchange.body)
        assert own <= found <= 4, "those of the client stay, on edited blocks too"
        assert found <= own + 1


@every_dialect
def test_whatever_a_provider_answers_nothing_is_raised(dialect: str) -> None:
    talk = BilledConversation(dialect)
    for data in (b"", b"{", b"\xff", b"data: {}\n\n", b'{"usage": {"prompt_tokens": 1e99}}', b"[]"):
        exchange = talk.begin()
        assert exchange.learn_bill(200, data, complete=False) is None
        assert exchange.learn_bill(500, data, complete=True) is None
    assert talk.billing.requests == 0


def test_what_is_written_for_an_hour_is_dearer(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = BilledConversation("anthropic")
    talk.step()
    assert not talk.billing.wants_hour(talk.agent.model)
    plain = talk.agent.body
    monkeypatch.setattr(talk.agent, "body", lambda: plain().replace(b'"ephemeral"', b'"ephemeral", "ttl": "1h"'))
    talk.step()
    assert talk.billing.wants_hour(talk.agent.model)


def _patient() -> Any:
    return EAGER.replace(horizon=0.001)
