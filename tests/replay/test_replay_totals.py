"""The totals of replayed runs: requests, changes, what was missed and what was never used."""

import pytest

from keepwhole.logs.run import Run
from keepwhole.replay.contenders import contender_named
from keepwhole.replay.missed_evidence import answer_to, brings_back
from keepwhole.replay.outcome import ResultChange
from keepwhole.replay.replay import replay
from keepwhole.replay.replay_totals import ReplayTotals, result_histories, run_timelines
from keepwhole.replay.summary import ComparedRun
from tests.replay.recorded import DROP_ALL, KEEP_ALL, Made, calls, facts, once_read, result, run, user

ORDER = "the order W-2380 is open"
RULES = "rules of the house, of which there are many"
RUN = run(
    user("Cancel my order."),
    calls("a", q="orders"),
    result(ORDER, "a"),
    calls("b", q="rules"),
    result(RULES, "b"),
    calls("c", id="W-2380"),
    task_id="shop",
)


def pairs(policy: Made, one: Run = RUN) -> list[ComparedRun]:
    whole = facts(one)
    full = replay(whole, KEEP_ALL)
    return [ComparedRun(full, full), ComparedRun(replay(whole, policy), full)]


def test_a_timeline_has_the_tokens_of_each_request_and_the_steps_that_rewrote() -> None:
    replayed = pairs(once_read("gone"))
    full, aged = (pair.outcome.requests for pair in replayed)
    (course,) = run_timelines([replayed])
    assert (course.id, course.task, course.steps, course.tokens) == ("one", "shop", 3, sum(facts(RUN).sizes))
    assert course.context["made"] == [one.total for one in aged]
    assert [a.total - b.total for a, b in zip(full, aged, strict=True)] == [0, 0, len(ORDER) - len("gone")]
    assert course.rewrites == {"made": [2]}


def test_the_longest_runs_come_first_and_no_more_than_asked_for() -> None:
    long = run(calls("a"), result("x" * 1_000, "a"), calls("b"), id="long")
    both = [pairs(DROP_ALL), pairs(DROP_ALL, long)]
    assert [one.id for one in run_timelines(both)] == ["long", "one"]
    assert [one.id for one in run_timelines(both, most=1)] == ["long"]


def test_a_history_says_which_rule_changed_a_result_when_and_to_what() -> None:
    largest, other = result_histories([pairs(once_read("gone"))])
    assert (largest.tokens, largest.used, largest.became) == (len(RULES), 0, {"made": []})
    assert (other.run, other.tool, other.arguments, other.step) == ("one", "tool", '{"q": "orders"}', 0)
    assert (other.tokens, other.used, other.became) == (len(ORDER), 1, {"made": [ResultChange(0, 2, "made", 4)]})


def test_a_result_that_is_shown_as_before_has_not_changed() -> None:
    twice = Made(ageing=lambda transcript, item: "same" if item.number == 0 else None)
    assert pairs(twice)[1].outcome.changes == (ResultChange(0, 1, "made", 4),)


def gathered(*replayed: list[ComparedRun]) -> ReplayTotals:
    found = ReplayTotals([contender_named("everything"), contender_named("auto")])
    for one in replayed:
        found.add(one)
    return found


def test_what_no_step_used_was_never_used() -> None:
    found = gathered(pairs(KEEP_ALL))
    held = len(ORDER) + len(RULES)
    assert (found.tokens, found.unused) == ({"tool": held}, {"tool": len(RULES)})
    assert found.never_used == pytest.approx(len(RULES) / held)
    assert gathered().never_used is None


def test_a_string_that_two_results_show_makes_both_used() -> None:
    twice = run(calls("a"), result("W-2380 is", "a"), calls("b"), result("see W-2380", "b"), calls("c", id="W-2380"))
    assert [one.used for one in facts(twice).results] == [1, 1]


def test_what_was_missed_is_named_with_its_source_its_rule_and_the_call_that_brings_it_back() -> None:
    (missed,) = pairs(once_read("gone"))[1].outcome.missed
    assert (missed.step, missed.text, missed.kind, missed.tool, missed.shown_at) == (2, "W-2380", "args", "tool", 0)
    assert (missed.rule, missed.age, missed.brought_back) == ("made", 2, True)
    assert missed.call == 'get_artifact(id="ID", lines="1-1")'


def test_the_same_misses_are_kept_whichever_run_is_replayed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepwhole.replay.replay_totals.MOST_MISSED", 1)
    first, second = (pairs(DROP_ALL, RUN.replace(id=name)) for name in ("one", "two"))
    assert gathered(first, second).missed == gathered(second, first).missed
    assert [one["run"] for one in gathered(second, first).missed] == ["one"]
    assert gathered(first, second).hidden == 2


def test_the_call_asks_for_three_lines_on_either_side() -> None:
    text = "\n".join(f"line {number} of it" if number != 10 else "the id is W-2380 here" for number in range(1, 21))
    one = run(calls("a"), result(text, "a"), calls("b", id="W-2380"))
    (missed,) = pairs(DROP_ALL, one)[1].outcome.missed
    assert missed.call.endswith('lines="7-13")')
    assert answer_to(missed.call, text).split("\n")[3] == "the id is W-2380 here"
    assert missed.brought_back


def test_the_call_asks_for_characters_where_lines_are_very_long() -> None:
    text = "a " * 4_000 + "the id is W-2380 here" + " b" * 4_000
    one = run(calls("a"), result(text, "a"), calls("b", id="W-2380"))
    (missed,) = pairs(DROP_ALL, one)[1].outcome.missed
    assert "start_char=" in missed.call
    assert "he id is W-2380 here b b" in answer_to(missed.call, text)
    assert missed.brought_back


def test_a_call_that_asks_for_other_lines_brings_nothing_back() -> None:
    text = "a\nb\nthe id is W-2380"
    asks = {
        'lines="1-2"': False,
        'lines="3-3"': True,
        "start_char=4, length=16": True,
        "start_char=6, length=14": False,
    }
    assert {words: brings_back(f'get_artifact(id="x", {words})', "W-2380", text) for words in asks} == asks
