"""Choosing whole units within a budget, and the cut that keeps them.

A unit is what makes sense by itself: a paragraph, a log event, a function, a hunk, a row. Units cover the text
without holes: unit `i` is `bounds[i]` to `bounds[i + 1]`.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import sub

from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment, Source
from keepwhole.truncation.edges import whole_before
from keepwhole.truncation.notice import omitted

_TOGETHER = 16_384


class ChosenUnits:
    """Units picked one after the other while they and the notices between them fit."""

    def __init__(self, bounds: Sequence[int], budget: int, mark: int) -> None:
        self._bounds, self._budget, self._mark = bounds, budget, mark
        self._used = 0
        self._runs = 0
        self.units: set[int] = set()

    def add(self, unit: int) -> bool:
        """Take a unit if it fits; returns whether it is taken."""
        if unit in self.units:
            return True
        if not 0 <= unit < len(self._bounds) - 1:
            return False
        neighbors = (unit - 1 in self.units) + (unit + 1 in self.units)
        runs = self._runs + 1 - neighbors
        used = self._used + self._bounds[unit + 1] - self._bounds[unit]
        if used + (runs + 1) * self._mark > self._budget:
            return False
        self.units.add(unit)
        self._runs, self._used = runs, used
        return True

    def add_all(self, units: Iterable[int], most: float = 1.0) -> None:
        """Take units in this order until one does not fit or `most` of the budget is used."""
        for unit in units:
            if self._used > self._budget * most or not self.add(unit):
                return

    def has_used(self, most: float) -> bool:
        """Whether more than `most` of the budget is used, so that `add_all` would take nothing."""
        return self._used > self._budget * most

    def add_rounds(self, rounds: Iterable[Iterable[int]]) -> None:
        """Take as many rounds of units as fit, each round whole or not at all; a unit of -1 is none."""
        units, used, runs = self.units.copy(), self._used, self._runs
        added: list[int] = []
        fitting = 0
        for round_ in rounds:
            for unit in round_:
                if unit >= 0 and unit not in units:
                    runs += 1 - (unit - 1 in units) - (unit + 1 in units)
                    used += self._bounds[unit + 1] - self._bounds[unit]
                    units.add(unit)
                    added.append(unit)
            if used > self._budget:
                break
            if used + (runs + 1) * self._mark <= self._budget:
                fitting, self._used, self._runs = len(added), used, runs
        self.units.update(added[:fitting])

    def fill(self, head_ratio: float) -> None:
        """Use what is left on the beginning and the end."""
        last = len(self._bounds) - 2
        left = self._budget - self._used
        self.add_all(range(0, last + 1), (self._used + left * head_ratio) / self._budget if self._budget else 0)
        self.add_all(range(last, -1, -1))


def widest_mark(source: Source) -> int:
    """The longest notice that a gap in `source` can need."""
    return len(omitted(source.lines, source.chars))


def cut_of(source: Source, bounds: Sequence[int], units: Iterable[int]) -> Cut:
    """The cut that keeps these units, with a notice for what is between them."""
    return cut_of_spans(source, [(bounds[unit], bounds[unit + 1]) for unit in sorted(units)])


def cut_of_spans(source: Source, spans: Iterable[tuple[int, int]]) -> Cut:
    """The cut that keeps these spans, in order, with a notice for what is between them."""
    pieces: list[Piece] = []
    at = kept_from = 0
    for start, stop in spans:
        if start > at:
            if at > kept_from:
                pieces.append(Segment("kept", kept_from, at))
            pieces += gap(source, at, start)
            kept_from = start
        at = stop
    if at > kept_from:
        pieces.append(Segment("kept", kept_from, at))
    if at < source.chars:
        pieces += gap(source, at, source.chars)
    return Cut(tuple(pieces))


def gap(source: Source, start: int, stop: int) -> list[Piece]:
    """A gap and its notice."""
    lines = source.ends_before(stop) - source.ends_before(start)
    return [Inserted(omitted(lines, stop - start)), Segment("gap", start, stop)]


def unit_at(bounds: Sequence[int], at: int) -> int:
    """The unit that contains character `at`."""
    return bisect_right(bounds, at) - 1


def longest_unit(bounds: Sequence[int]) -> int:
    """Characters of the longest unit; of some units at a time, so that other threads need not wait."""
    return max(
        (
            max(map(sub, bounds[at + 1 : at + 1 + _TOGETHER], bounds[at : at + _TOGETHER]), default=0)
            for at in range(0, len(bounds), _TOGETHER)
        ),
        default=0,
    )


def split_long(text: str, bounds: Sequence[int], longest: int) -> Sequence[int]:
    """The units, those longer than `longest` split so that their beginnings can still be kept."""
    if longest_unit(bounds) <= longest:
        return bounds
    finer = array("q")
    for start, stop in pairwise(bounds):
        finer.append(start)
        if stop - start <= longest:
            continue
        for at in range(start + longest, stop, longest):
            split = whole_before(text, at, finer[-1], longest)
            if finer[-1] < split < stop:
                finer.append(split)
    finer.append(bounds[-1])
    return finer
