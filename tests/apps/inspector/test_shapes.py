"""Steps, results and decisions as the page gets them, and the counts of a session."""

from typing import Any

import pytest

from keepwhole.apps.inspector import shapes
from keepwhole.apps.inspector.timeline import TimelineResult, TimelineStep
from keepwhole.apps.inspector.totals import SessionTotals
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import HIDDEN_ROUND, OWN_TOOLS, Decision, Request, Response
from keepwhole.exchange.request_log import NO_ANSWER
from keepwhole.metrics import MARKER
from keepwhole.models.tokens import estimate_from_length
from keepwhole.policies.policy import CLIENT, rule_meaning
from keepwhole.record.arrival import CLIENT_CUT
from tests.build import result


def asked(**fields: Any) -> Request:
    about = {"at": 5, "trace_id": "r", "size": 100_000, "digest": "", "tokens_sent": 1_000, "tokens_whole": 3_000}
    return Request(**{**about, **fields})


def answered(**fields: Any) -> Response:
    return Response(**{"at": 9, "trace_id": "r", "status": 200, "outcome": "complete", **fields})


def decided(rule: str, chars: int, **fields: Any) -> Decision:
    about = {"at": 7, "trace_id": "t", "strategy": "head", "version": "0", "shown_digest": ""}
    return Decision(**{**about, "rule": rule, "shown_chars": chars, **fields})


def kept(chars: int = 4_000, *decisions: Decision, number: int = 1, **fields: Any) -> TimelineResult:
    found = TimelineResult(3, number, result(**fields), measure(b"x" * chars))
    found.decisions += decisions
    return found


def step(request: Request | None = None, response: Response | None = None, seq: int = 1) -> TimelineStep:
    found = TimelineStep(0, seq)
    found.request, found.response = request, response
    return found


def test_a_step_without_a_request_has_no_figures_of_one() -> None:
    found = shapes.step(step())
    keys = ("id", "size", "branch", "model", "tokens_sent", "tokens_whole", "would_send", "usage", "outcome", "clock")
    assert [found[key] for key in keys] == [None] * len(keys)
    assert (found["at"], found["errors"], found["results"], found["results_more"], found["decisions_more"]) == (
        0,
        0,
        [],
        0,
        0,
    )


def test_the_tokens_of_a_request_are_scaled_to_its_bill() -> None:
    request = asked(model="m\ud800", would_send=400, would_edit=2, predicted=30, mode="shadow")
    found = shapes.step(step(request))
    assert (found["tokens_sent"], found["tokens_whole"], found["would_send"]) == (1_000, 3_000, 400)
    assert (found["outcome"], found["usage"], found["size"], found["would_edit"]) == (NO_ANSWER, None, 100_000, 2)
    assert "\ud800" not in found["model"]
    bill = answered(input=1_500, cached=1, written=2, output=3, first_ms=20, total_ms=90, queue_ms=1, own_ms=4)
    found = shapes.step(step(request, bill))
    assert (found["tokens_sent"], found["tokens_whole"], found["would_send"]) == (1_500, 4_500, 600)
    assert found["usage"] == {"input": 1_500, "cached": 1, "written": 2, "output": 3}
    assert found["clock"] == {"queue": 1, "keepwhole": 4, "first": 20, "stream": 65, "total": 90}
    assert (found["first_ms"], found["total_ms"], found["outcome"], found["id"]) == (20, 90, "complete", "r")
    assert shapes.step(step(asked(), answered(input=0)))["tokens_sent"] == 1_000
    assert shapes.step(step(asked(tokens_sent=0), answered(input=9)))["tokens_whole"] == 3_000
    assert shapes.step(step(asked(), answered(total_ms=9)))["clock"] is None


@pytest.mark.parametrize(("count", "more"), [(50, 0), (51, 1), (70, 20)])
def test_fifty_results_and_decisions_of_a_step_are_listed(count: int, more: int) -> None:
    of = step(asked())
    of.results = [kept(number=at, is_error=at % 2 == 0) for at in range(count)]
    of.decisions = [(one, decided("old", 10)) for one in of.results]
    found = shapes.step(of)
    assert [one["number"] for one in found["results"]] == list(range(50))
    assert (len(found["decisions"]), found["results_more"], found["decisions_more"]) == (50, more, more)
    assert found["errors"] == (count + 1) // 2


@pytest.mark.parametrize(
    ("request_fields", "base_fields", "expected"),
    [
        ({"decisions": 1, "mode": "on", "same": 99_999}, {}, {"bytes": 1, "tokens": 0}),
        ({"decisions": 1, "mode": "shadow", "same": 99_999}, {}, None),
        ({"decisions": 0, "mode": "on", "same": 99_999}, {}, None),
        ({"decisions": 1, "mode": "on", "same": 200_000}, {}, {"bytes": 0, "tokens": 0}),
        ({"same": 50_000, "predicted": 500}, {}, {"bytes": 50_000, "tokens": 500}),
        ({"same": 50_001, "predicted": 500}, {}, None),
        ({"same": 50_000, "predicted": 501}, {}, None),
        ({"same": 0, "predicted": 100, "tokens_sent": 600}, {}, {"bytes": 100_000, "tokens": 500}),
        ({"same": 0, "predicted": 100}, {"size": 8_192}, {"bytes": 8_192, "tokens": 900}),
        ({"same": 0, "predicted": 100}, {"size": 8_191}, None),
        ({"same": 0, "tokens_sent": 500}, {}, {"bytes": 100_000, "tokens": estimate_from_length(100_000)}),
        ({"same": 0, "tokens_sent": 501}, {}, None),
        (
            {"decisions": 1, "mode": "on", "same": 96_000, "predicted": 2_000},
            {},
            {"bytes": 4_000, "tokens": 0},
        ),
    ],
)
def test_a_rewrite_is_told_where_a_rule_or_the_forecast_shows_one(
    request_fields: dict[str, Any], base_fields: dict[str, Any], expected: dict[str, int] | None
) -> None:
    of = step(asked(**{"predicted": None, **request_fields}))
    of.base = asked(**base_fields)
    found = shapes.rewrite_of(of)
    if expected is not None and request_fields.get("predicted") is None and request_fields.get("decisions"):
        expected = {**expected, "tokens": estimate_from_length(expected["bytes"])}
    assert found == expected
    of.base = None
    assert shapes.rewrite_of(of) is None
    assert shapes.rewrite_of(step()) is None


@pytest.mark.parametrize(("arguments", "shown"), [(None, ""), ("x" * 200, "x" * 200), ("x" * 201, "x" * 199 + "…")])
def test_arguments_are_shown_in_two_hundred_characters(arguments: str | None, shown: str) -> None:
    one = kept(arguments=arguments, call_id="c\ud800", flags=(MARKER,), exit_code=3, turn=4)
    assert shapes.result(one)["arguments"] == shown
    whole = shapes.whole_result(one)
    assert whole["arguments"] == (arguments or "")
    assert (whole["turn"], whole["flags"], whole["exit_code"], whole["size"], whole["encoding"]) == (
        4,
        [MARKER],
        3,
        4_000,
        "utf-8",
    )
    assert "\ud800" not in whole["call_id"]


def test_a_result_is_told_with_its_newest_view_and_its_step() -> None:
    one = kept(4_000, decided("arrival", 2_000), decided("pin", 4_000))
    assert shapes.result(one)["step"] is None
    one.step = TimelineStep(8, 1)
    found = shapes.result(one)
    assert (found["step"], found["pinned"], found["media"]) == (8, True, None)
    assert found["shown"] == {"rule": "pin", "strategy": "head", "chars": 4_000, "tokens": estimate_from_length(4_000)}
    plain = shapes.result(kept())
    assert (plain["shown"], plain["pinned"], plain["tokens"]) == (None, False, estimate_from_length(4_000))
    image = shapes.result(kept(media_type="image/png", width=800, height=600))
    assert (
        image["media"]["tokens"] == image["tokens"] == kept(media_type="image/png", width=800, height=600).whole_tokens
    )


def test_what_decisions_have_saved_adds_up() -> None:
    one = kept(8_000, decided("arrival", 4_000), decided("old", 400), decided("pin", 8_000))
    saved = [found["saved"] for found in shapes.decisions(one)]
    tokens = [estimate_from_length(chars) for chars in (8_000, 4_000, 400, 8_000)]
    assert saved == [tokens[0] - tokens[1], tokens[1] - tokens[2], tokens[2] - tokens[3]]
    assert sum(saved) == 0
    cut = kept(8_000, decided(CLIENT, 4_000), decided("old", 400))
    assert [found["saved"] for found in shapes.decisions(cut)] == [0, tokens[1] - tokens[2]]
    of = step()
    of.decisions = [(None, decided("old", 400, reason="x"))]
    (found,) = shapes.step(of)["decisions"]
    assert (found["saved"], found["tool"], found["artifact_id"], found["arguments"]) == (0, None, None, "")
    assert found["why"] == rule_meaning("old", "x")
    assert shapes.step(of)["at"] == 7


@pytest.mark.parametrize(
    ("text", "number"), [("5", 5), ("-5", 1), ("0", 1), ("1", 1), ("99", 50), ("x", 7), ("", 7), ("٣", 7), ("--3", 7)]
)
def test_a_number_of_a_query_is_in_its_range(text: str, number: int) -> None:
    assert shapes.number({"n": text}, "n", 7, 1, 50) == number
    assert shapes.number({}, "n", 7, 1, 50) == 7


def test_results_are_counted_without_keepwholes_own_notes() -> None:
    totals = SessionTotals()
    own = next(iter(OWN_TOOLS)) if not isinstance(OWN_TOOLS, str) else OWN_TOOLS
    for one in (
        kept(4_000, tool="read"),
        kept(400, tool="read", is_error=True, flags=(CLIENT_CUT,)),
        kept(40, tool="grep", flags=(MARKER,)),
        *[kept(40, tool="grep", flags=(MARKER, CLIENT_CUT))] * 2,
        kept(9_000, tool=f"{own}x", is_error=True, flags=(MARKER,)),
    ):
        totals.add_result(one)
    assert (totals.results, totals.failed, totals.flagged) == (5, 2, 5)
    assert totals.kept == (5, 3, 1, 0)
    assert totals.whole == sum(totals.tool_tokens.values())
    assert set(totals.tool_tokens) == {"read", "grep"}
    first = kept(4_000, tool="read")
    before = totals.tool_tokens["read"]
    totals.change_view(first, decided("old", 400))
    assert totals.tool_tokens["read"] == before - estimate_from_length(4_000) + estimate_from_length(400)
    totals.change_view(kept(9_000, tool=f"{own}x"), decided("old", 400))
    assert set(totals.tool_tokens) == {"read", "grep"}


def test_answers_are_counted_once_also_where_a_later_one_takes_the_place_of_another() -> None:
    totals = SessionTotals()
    one = step(asked(would_send=400))
    totals.add_request(step())
    totals.add_request(one)
    assert (totals.unanswered, totals.errors, totals.shadow) == (1, 1, [1, 1_000, 400])
    totals.add_response(step(), answered(input=9))
    refused = answered(outcome="refused", input=500, output=7)
    totals.add_response(one, refused)
    one.response = refused
    assert (totals.unanswered, totals.errors, totals.shadow) == (0, 1, [1, 500, 200])
    assert dict(totals.billed) == {"input": 500, "cached": 0, "written": 0, "output": 7}
    assert current(totals) is one
    whole = answered(input=2_000, cached=1_000)
    totals.add_response(one, whole)
    assert (totals.errors, totals.shadow, totals.outcomes["complete"]) == (0, [1, 2_000, 800], 1)
    assert dict(totals.billed) == {"input": 2_000, "cached": 1_000, "written": 0, "output": 0}


def current(totals: SessionTotals) -> TimelineStep | None:
    return totals.main.current(lambda _: b"")


def test_the_newest_answered_turn_of_the_longest_branch_fills_the_window() -> None:
    totals = SessionTotals()
    assert current(totals) is None
    other = step(asked(branch="b"), seq=9)
    first, second, third = (
        step(asked(purpose=purpose), seq=seq) for seq, purpose in ((1, "turn"), (2, HIDDEN_ROUND), (3, "turn"))
    )
    compaction = step(asked(purpose="compaction", branch="c"), seq=4)
    for one in (other, first, second, third, *[compaction] * 5):
        totals.add_request(one)
    assert current(totals) is third
    totals.add_response(second, answered(outcome="incomplete"))
    assert current(totals) is second
    totals.add_response(first, answered())
    assert current(totals) is second
    totals.add_response(third, answered(outcome="refused"))
    totals.add_response(compaction, answered())
    assert current(totals) is second
    totals.add_response(third, answered())
    assert current(totals) is third


def test_the_newest_rate_limits_are_kept() -> None:
    totals = SessionTotals()
    one = step(asked())
    newer, same, older = answered(at=9, limits="{}"), answered(at=9, limits='{"a":1}'), answered(at=8, limits="{}")
    for response in (answered(), newer, same, older, answered(at=10)):
        totals.add_response(one, response)
    assert totals.limits is same
