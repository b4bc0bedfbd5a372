"""Where a conversation may be split, and what must stay with a message that stays."""

import pytest

from keepwhole.canonical.steps import Ties, answers, newest_step, split_points, whole_steps

USER, SYSTEM, SAID, OTHER = Ties("user"), Ties("system"), Ties("assistant"), Ties("other")


def calls(*ids: str) -> Ties:
    return Ties("assistant", ids)


def result(*ids: str) -> Ties:
    return Ties("tool", (), ids)


STEP = [USER, calls("a", "b"), result("a"), result("b"), SAID]


def test_every_result_is_paired_with_the_newest_call_before_it() -> None:
    assert answers(STEP) == [(1, 2), (1, 3)]
    assert answers([result("a"), calls("a")]) == []
    assert answers([calls("a"), result("a"), calls("a"), result("a", "x")]) == [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    ("ties", "points"),
    [
        ([], []),
        ([USER], []),
        ([USER, SAID], []),
        ([USER, SAID, USER], [2]),
        ([USER, SAID, SYSTEM, USER], [2, 3]),
        (STEP, [4]),
        ([*STEP, USER], [4, 5]),
        ([USER, calls("a"), result("a"), calls("b"), result("b")], [3]),
        ([USER, calls("a"), USER, result("a"), USER], [4]),
        ([USER, OTHER, calls("a"), result("a"), SAID], [4]),
        ([calls("a"), result("z"), SAID], [2]),
    ],
)
def test_a_split_leaves_every_step_and_every_result_with_its_call(ties: list[Ties], points: list[int]) -> None:
    assert split_points(ties) == points


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        ([], set()),
        ([0], {0}),
        ([1], {1, 2, 3, 4}),
        ([3], {1, 2, 3, 4}),
        ([4], {1, 2, 3, 4}),
        ([5], {5}),
        ([0, 5], {0, 5}),
        ([6], {6}),
    ],
)
def test_a_message_that_stays_keeps_its_run_its_calls_and_their_results(wanted: list[int], kept: set[int]) -> None:
    ties = [USER, OTHER, calls("a", "b"), result("a"), result("b"), USER, SAID]
    assert whole_steps(ties, wanted) == kept


@pytest.mark.parametrize(
    ("ties", "begins"),
    [
        ([], 0),
        ([USER], 1),
        (STEP, 5),
        (STEP[:-1], 1),
        ([USER, OTHER, SAID, calls("a"), result("a")], 1),
        ([calls("a"), result("a"), USER], 0),
        ([USER, calls("a"), result("a"), OTHER], 1),
    ],
)
def test_the_newest_step_begins_with_its_run_and_is_done_once_the_model_has_spoken(
    ties: list[Ties], begins: int
) -> None:
    assert newest_step(ties) == begins
