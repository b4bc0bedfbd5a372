"""Places labels beside points so that none covers another label or a point.

Owns: the geometry of labels.
Must not know: what is plotted.

Theory of operation
-------------------
Each label has 72 candidate places: 12 directions around its point (right, left, above, below, then diagonals) at 6
distances. A candidate has a cost: 4 for each unit of distance, 3 for each rank of its direction, and for each unit of
area 60 outside the frame, 40 over a point, the weight of any other obstacle, and 80 over another label.

    distance 10, right:   10·4 + 0·3 = 40        the cheapest place, unless something is there
    distance 10, left:    10·4 + 1·3 = 43
    distance 15, right:   15·4 + 0·3 = 60
    "auto" to the right of its point covers 2×5 of the label "everything": 40 + 80·10 = 840, so it goes to the left

All costs but the overlap with other labels are fixed and computed once. The search is greedy: every label starts at its
cheapest place; then, in turn, each moves to the place that is cheapest given where the others are now, until no label
moves or `_PASSES` rounds are over. Labels farther than `_FAR` from their point get a leader line.

Invariants:
- The result depends on the arguments alone: no randomness, ties go to the earlier candidate.
- A label keeps the size that its anchor asks for; it is never shortened or hidden.
- Each move of a label lowers or keeps the total cost, so the rounds do not oscillate forever.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_DISTANCES = (10.0, 15.0, 22.0, 32.0, 46.0, 64.0)
_DIRECTIONS = tuple(math.radians(degrees) for degrees in (0, 180, -90, 90, -40, 40, -140, 140, -65, 65, -115, 115))
_PASSES = 8
_FAR = 20.0
"""A label farther away than this has a line to its point."""


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Return the area that both cover."""
        left, top, right, bottom = self
        if right <= other[0] or bottom <= other[1] or left >= other[2] or top >= other[3]:
            return 0.0  # nearly always; a plot calls this a hundred thousand times
        return (min(right, other[2]) - max(left, other[0])) * (min(bottom, other[3]) - max(top, other[1]))

    def outside(self, frame: "Box") -> float:
        """Return the area outside a frame."""
        return (self.right - self.left) * (self.bottom - self.top) - self.overlap(frame)


class Anchor(NamedTuple):
    """A point, and the size of its label."""

    x: float
    y: float
    width: float
    height: float


class Label(NamedTuple):
    """The place of a label."""

    box: Box
    align: str
    """Which end of the text is fixed: `start`, `middle` or `end`."""
    leader: tuple[float, float] | None
    """The end of the line to its point, if the label is far away."""

    @property
    def x(self) -> float:
        """Return the position of the fixed end of the text."""
        ends = {"start": self.box.left, "middle": (self.box.left + self.box.right) / 2, "end": self.box.right}
        return ends[self.align]


class Obstacle(NamedTuple):
    """A box that labels should not cover, and the cost per unit of area."""

    box: Box
    weight: float


def place_labels(
    anchors: Sequence[Anchor], frame: Box, obstacles: Sequence[Obstacle], radius: float = 6.0
) -> list[Label]:
    """Return a label for each anchor: each in turn takes its cheapest place until none moves."""
    points = [Box(a.x - radius, a.y - radius, a.x + radius, a.y + radius) for a in anchors]
    avoid = [*obstacles, *(Obstacle(point, 40.0) for point in points)]
    choices = [_candidates(anchor, frame, avoid) for anchor in anchors]
    chosen = [min(options, key=lambda option: option[0])[1] for options in choices]
    for _ in range(_PASSES):
        before = list(chosen)
        for turn, options in enumerate(choices):
            others = [label.box for index, label in enumerate(chosen) if index != turn]
            chosen[turn] = min(options, key=lambda option: option[0] + _overlap_cost(option[1].box, others))[1]
        if chosen == before:
            break
    return chosen


def _candidates(anchor: Anchor, frame: Box, avoid: Sequence[Obstacle]) -> list[tuple[float, Label]]:
    """Return every place that a label could have, with its cost without other labels."""
    found: list[tuple[float, Label]] = []
    for cost, label in _positions(anchor):
        cost += 60 * label.box.outside(frame)
        cost += sum(each.weight * label.box.overlap(each.box) for each in avoid)
        found.append((cost, label))
    return found


def _positions(anchor: Anchor) -> Iterator[tuple[float, Label]]:
    for distance in _DISTANCES:
        for rank, angle in enumerate(_DIRECTIONS):
            x = anchor.x + distance * math.cos(angle)
            y = anchor.y + distance * math.sin(angle)
            left = x - anchor.width * (1 - math.cos(angle)) / 2
            top = y - anchor.height * (1 - math.sin(angle)) / 2
            box = Box(left, top, left + anchor.width, top + anchor.height)
            far = distance > _FAR
            yield distance * 4 + rank * 3, Label(box, _align(angle), _nearest(box, anchor) if far else None)


def _align(angle: float) -> str:
    """Return the end of the text that is next to the point, so that a short text stays near it."""
    return "start" if math.cos(angle) > 0.3 else "end" if math.cos(angle) < -0.3 else "middle"


def _nearest(box: Box, anchor: Anchor) -> tuple[float, float]:
    return min(max(anchor.x, box.left), box.right), min(max(anchor.y, box.top), box.bottom)


def _overlap_cost(box: Box, others: Sequence[Box]) -> float:
    return sum(80 * box.overlap(other) for other in others)
