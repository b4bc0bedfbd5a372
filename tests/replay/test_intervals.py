"""The interval of a ratio: which resamples there are, and which of them are its ends."""

from collections.abc import Iterable
from itertools import count

import pytest

from keepwhole.replay import intervals
from keepwhole.replay.intervals import by_task, interval, ratio


def test_a_ratio_is_that_of_the_sums_and_one_where_there_is_nothing_to_divide_by() -> None:
    assert ratio([(1, 2), (2, 2)]) == 0.75
    assert ratio([]) == ratio([(3, 0)]) == 1.0


def test_the_interval_leaves_out_one_resample_in_forty_at_either_end(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = count(40.0, -1.0)
    monkeypatch.setattr(intervals, "ratio", lambda _: next(drawn))
    assert interval([(1, 1), (2, 1)], resamples=40) == (0.0, 2.0, 39.0)


@pytest.mark.parametrize(
    ("tasks", "resamples"), [(1, 1_000), (250, 1_000), (251, 996), (1_000, 250), (1_250, 200), (1_251, 200)]
)
def test_of_many_tasks_fewer_resamples_are_drawn_and_never_fewer_than_two_hundred(
    tasks: int, resamples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def sized(pairs: Iterable[tuple[float, float]]) -> float:
        sizes.append(len(list(pairs)))
        return 1.0

    monkeypatch.setattr(intervals, "ratio", sized)
    interval([(1, 1)] * tasks)
    assert len(sizes) == resamples + 1
    assert set(sizes) == {tasks}


def test_runs_of_a_task_are_drawn_together_and_the_same_runs_have_the_same_interval() -> None:
    pairs = [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]
    assert by_task(pairs, ["a", "b", "a"]) == [(6.0, 8.0), (3.0, 4.0)]
    assert interval(pairs, ["a", "a", "a"]) == (0.75, 0.75, 0.75)
    apart = interval(pairs)
    assert apart == interval(pairs)
    assert apart.low == 0.5
    assert apart.high == 5 / 6
