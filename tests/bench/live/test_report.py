"""The report of live runs: paired intervals, the smallest difference that can be shown, and no claim below it."""

import pytest

from bench.live.report import write_report
from bench.live.statistics import compare, pairs_of
from tests.upstream.spelling import Json


def row(task: int, arm: str, outcome: str = "solved", dollars: float = 1.0, repeat: int = 0) -> Json:
    what = {"task": f"early_id-{task}-64k", "family": "early_id", "arm": arm, "repeat": repeat, "outcome": outcome}
    counts = dict.fromkeys(("input", "cached", "steps", "recalls", "repeated", "unknown", "seconds", "waited"), 1)
    about = {"model": "m", "dialect": "anthropic", "length": "64k", "keepwhole": "1", "oracle": ""}
    return {**what, **counts, **about, "dollars": dollars}


def rows(tasks: int, lost: int = 0, ratio: float = 1.0) -> list[Json]:
    base = [row(task, "direct", dollars=1 + task % 3) for task in range(tasks)]
    other = [
        row(task, "keepwhole", "wrong" if task < lost else "solved", ratio * (1 + task % 3)) for task in range(tasks)
    ]
    return base + other


def test_twenty_four_pairs_show_no_loss_of_a_few_tasks_and_say_so() -> None:
    found = compare(rows(24, lost=2), "direct", "keepwhole")
    assert found
    assert found.solved.value == pytest.approx(-2 / 24)
    assert found.solved.smallest > 0.15
    assert not found.solved.is_shown
    page = write_report(rows(24, lost=2), "direct")
    assert "24 pairs of 24 tasks" in page
    assert "**no claim**" in page
    assert "It solves fewer tasks" not in page


def test_what_is_large_enough_is_claimed_in_both_directions() -> None:
    page = write_report(rows(48, lost=30, ratio=0.7), "direct")
    assert "**It solves fewer tasks.**" in page
    assert "**It costs fewer dollars.**" in page
    assert "-30.0%" in page
    dearer = compare(rows(48, ratio=1.3), "direct", "keepwhole")
    assert dearer
    assert dearer.dollars.is_shown
    assert dearer.dollars.value == pytest.approx(0.3)
    assert not dearer.solved.is_shown


def test_single_runs_that_cost_more_are_told() -> None:
    given = rows(12)
    assert "Cost more by both a twentieth and a cent: 0 of 12 runs." in write_report(given, "direct")
    given[14] |= {"dollars": 3.2}  # of the third task, which costs 3
    given[13] |= {"dollars": 2.05}
    told = "1 of 12 runs. By most: `early_id-2-64k`, $3.2000 in place of $3.0000."
    assert told in write_report(given, "direct")


def test_nothing_is_claimed_of_a_few_tasks_however_often_they_are_repeated() -> None:
    for tasks, claims in ((1, 0), (9, 0), (10, 2)):
        all_lost = rows(tasks, lost=tasks, ratio=3.0)
        page = write_report([one | {"repeat": repeat} for repeat in range(20) for one in all_lost], "direct")
        assert page.count("**It ") == claims
        assert page.count("fewer than 10 tasks says too little: **no claim**") == 2 - claims


def test_more_pairs_show_smaller_differences() -> None:
    few, many = (compare(rows(count), "direct", "keepwhole") for count in (24, 240))
    assert few
    assert many
    assert few.solved.smallest > 2 * many.solved.smallest > 0.1


def test_repeats_of_a_task_are_no_new_tasks() -> None:
    repeated = [row(task, arm, "wrong" if arm == "b" and task < 3 else "solved", 1.0, repeat)
                for task in range(6) for arm in "ab" for repeat in range(8)]  # fmt: skip
    once = [one for one in repeated if one["repeat"] == 0]
    wide, one = compare(once, "a", "b"), compare(repeated, "a", "b")
    assert wide
    assert one
    assert one.solved.low == pytest.approx(wide.solved.low)


def test_only_complete_pairs_are_compared_and_failures_are_charged() -> None:
    given = [*rows(3), row(7, "direct"), row(8, "direct", "unfinished", 0.5), row(8, "keepwhole")]
    given[-1]["unknown"] = 2
    assert len(pairs_of(given, "direct", "keepwhole")) == 3
    page = write_report(given, "direct")
    assert "The budget ended 1 runs" in page
    failed = [row(1, "direct"), row(1, "keepwhole", "error", 3.0)]
    assert "+200.0%" in write_report(failed, "direct")
    assert "1 error" in write_report(failed, "direct")
    assert "upper bound" not in page


def test_an_oracle_is_called_an_upper_bound() -> None:
    page = write_report([one | {"oracle": "plan"} for one in rows(3)], "direct")
    assert "No model was asked" in page
    assert "upper bound" in page
