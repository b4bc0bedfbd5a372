"""Paired comparisons of arms: differences with their intervals, and the smallest difference that could be seen.

Pairs are runs of the same task and repeat in two arms. All repeats of a task are drawn together, since they are alike.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from statistics import pstdev
from typing import NamedTuple

from bench.live.runner import UNFINISHED
from bench.live.wires.wire import Json

RESAMPLES = 2_000
_SEED = 11
_SEEN = 1.96 + 0.84
"""Standard errors of a difference that is found in four of five such experiments, at a level of 5 %."""
_LEAST_DISCORDANT = 0.1
"""Share of pairs that would come out differently by chance alone, where fewer did."""


class Pair(NamedTuple):
    """The same task in two arms."""

    task: str
    base: Json
    other: Json


class Figure(NamedTuple):
    """A difference, its 95 % interval, and the smallest one that this many pairs can show."""

    value: float
    low: float
    high: float
    smallest: float

    @property
    def is_shown(self) -> bool:
        """Whether the difference can be claimed: its interval excludes 0, and it is not below what can be shown."""
        return (self.low > 0 or self.high < 0) and abs(self.value) >= self.smallest


class Comparison(NamedTuple):
    """One arm against another."""

    base: str
    other: str
    pairs: Sequence[Pair]
    solved: Figure
    """Share of tasks solved, more than in the other arm."""
    dollars: Figure
    """Dollars of all tasks, as a share more than in the other arm."""


def pairs_of(rows: Iterable[Json], base: str, other: str) -> list[Pair]:
    """Return the pairs that both arms have finished."""
    done: dict[tuple[str, str, int], Json] = {
        (row["arm"], row["task"], row["repeat"]): row for row in rows if row["outcome"] != UNFINISHED
    }
    keys = sorted((task, repeat) for arm, task, repeat in done if arm == base)
    return [
        Pair(task, done[base, task, repeat], done[other, task, repeat])
        for task, repeat in keys
        if (other, task, repeat) in done
    ]


def compare(rows: Sequence[Json], base: str, other: str) -> Comparison | None:
    """Return how an arm compares with another; None where they have no pair."""
    pairs = pairs_of(rows, base, other)
    if not pairs:
        return None
    floor = sqrt(_LEAST_DISCORDANT / len(pairs))
    return Comparison(
        base, other, pairs, _figure(pairs, solved_difference, floor), _figure(pairs, dollar_difference, 0.0)
    )


def solved_difference(pairs: Sequence[Pair]) -> float:
    """Return by which share of the tasks the second arm solved more."""
    return sum(is_solved(pair.other) - is_solved(pair.base) for pair in pairs) / len(pairs)


def dollar_difference(pairs: Sequence[Pair]) -> float:
    """Return by which share of the first arm's dollars the second cost more."""
    base = sum(pair.base["dollars"] for pair in pairs)
    return sum(pair.other["dollars"] for pair in pairs) / base - 1 if base else 0.0


def is_solved(row: Json) -> bool:
    """Return whether a run solved its task."""
    return row["outcome"] == "solved"


def _figure(pairs: Sequence[Pair], measure: Callable[[Sequence[Pair]], float], floor: float) -> Figure:
    by_task: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_task.setdefault(pair.task, []).append(pair)
    groups, chance = list(by_task.values()), random.Random(_SEED)
    drawn = sorted(
        measure([pair for group in chance.choices(groups, k=len(groups)) for pair in group]) for _ in range(RESAMPLES)
    )
    low, high = drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES) - 1]
    return Figure(measure(pairs), low, high, _SEEN * max(pstdev(drawn), floor))
