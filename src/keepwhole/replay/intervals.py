"""Ratios of sums, and how much they would vary if other tasks had been recorded."""

import random
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

RESAMPLES = 1_000
DRAWS, FEWEST = 250_000, 200
"""The most tasks that are drawn in total, and the fewest resamples: intervals must not take minutes."""
_SEED = 5


class Interval(NamedTuple):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


def ratio(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the sum of the first values over the sum of the second; 1 if there is nothing to divide by.

    >>> ratio([(1, 2), (2, 2)])
    0.75
    """
    above, below = map(sum, zip((0.0, 0.0), *pairs, strict=True))
    return above / below if below else 1.0


def interval(
    pairs: Sequence[tuple[float, float]], tasks: Sequence[Hashable] | None = None, resamples: int = RESAMPLES
) -> Interval:
    """Return the ratio with the range of 95 % of its resamples; the same for the same runs.

    All runs of a task are drawn together, since they are alike; without `tasks` each run is a task of its own.
    """
    together = by_task(pairs, range(len(pairs)) if tasks is None else tasks)
    resamples = min(resamples, max(FEWEST, DRAWS // len(together)))
    chance = random.Random(_SEED)
    drawn = sorted(ratio(chance.choices(together, k=len(together))) for _ in range(resamples))
    return Interval(ratio(pairs), drawn[int(0.025 * resamples)], drawn[int(0.975 * resamples) - 1])


def by_task(pairs: Iterable[tuple[float, float]], tasks: Iterable[Hashable]) -> list[tuple[float, float]]:
    """Return the sums of each task.

    >>> by_task([(1, 2), (3, 4), (5, 6)], ["a", "b", "a"])
    [(6.0, 8.0), (3.0, 4.0)]
    """
    sums: dict[Hashable, tuple[float, float]] = {}
    for (above, below), task in zip(pairs, tasks, strict=True):
        so_far = sums.get(task, (0.0, 0.0))
        sums[task] = so_far[0] + above, so_far[1] + below
    return list(sums.values())
