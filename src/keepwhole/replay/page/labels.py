"""Places labels beside points so that none lies on another label or on a point.

Owns: the geometry of it.
Must not know: what is plotted.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_DISTANCES = (10.0, 15.0, 22.0, 32.0, 46.0, 64.0)
_DIRECTIONS = tuple(math.radians(degrees) for degrees in (0, 180, -90, 90, -40, 40, -140, 140, -65, 65, -115, 115))
_PASSES = 8
_FAR = 20.0
"""From here on a line leads from the label to its point."""


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """The area that both cover."""
        left, top, right, bottom = self
        if right <= other[0] or bottom <= other[1] or left >= other[2] or top >= other[3]:
            return 0.0  # nearly always, and a plot asks a hundred thousand times
        return (min(right, other[2]) - max(left, other[0])) * (min(bottom, other[3]) - max(top, other[1]))

    def outside(self, frame: "Box") -> float:
        """The area that lies outside of a frame."""
        return (self.right - self.left) * (self.bottom - self.top) - self.overlap(frame)


class Anchor(NamedTuple):
    """A point, and the size of the label it wants."""

    x: float
    y: float
    width: float
    height: float


class Label(NamedTuple):
    """Where a label goes."""

    box: Box
    align: str
    """Which end of the words is held: `start`, `middle` or `end`."""
    leader: tuple[float, float] | None
    """The end of the line to its point, if it is far away."""

    @property
    def x(self) -> float:
        """Where the words are held."""
        ends = {"start": self.box.left, "middle": (self.box.left + self.box.right) / 2, "end": self.box.right}
        return ends[self.align]


class Obstacle(NamedTuple):
    """What labels should stay clear of, and how much it matters."""

    box: Box
    weight: float


def place(anchors: Sequence[Anchor], frame: Box, obstacles: Sequence[Obstacle], radius: float = 6.0) -> list[Label]:
    """A label for each anchor; each in turn takes its best place until none wants to move."""
    points = [Box(a.x - radius, a.y - radius, a.x + radius, a.y + radius) for a in anchors]
    avoid = [*obstacles, *(Obstacle(point, 40.0) for point in points)]
    choices = [_rated(anchor, frame, avoid) for anchor in anchors]
    chosen = [min(options, key=lambda option: option[0])[1] for options in choices]
    for _ in range(_PASSES):
        before = list(chosen)
        for turn, options in enumerate(choices):
            others = [label.box for index, label in enumerate(chosen) if index != turn]
            chosen[turn] = min(options, key=lambda option: option[0] + _crowding(option[1].box, others))[1]
        if chosen == before:
            break
    return chosen


def _rated(anchor: Anchor, frame: Box, avoid: Sequence[Obstacle]) -> list[tuple[float, Label]]:
    """Every place that a label could have, with what is wrong about it apart from other labels."""
    found: list[tuple[float, Label]] = []
    for cost, label in _places(anchor):
        cost += 60 * label.box.outside(frame)
        cost += sum(each.weight * label.box.overlap(each.box) for each in avoid)
        found.append((cost, label))
    return found


def _places(anchor: Anchor) -> Iterator[tuple[float, Label]]:
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
    """Held at the end that is next to the point, so that a short word does not drift away from it."""
    return "start" if math.cos(angle) > 0.3 else "end" if math.cos(angle) < -0.3 else "middle"


def _nearest(box: Box, anchor: Anchor) -> tuple[float, float]:
    return min(max(anchor.x, box.left), box.right), min(max(anchor.y, box.top), box.bottom)


def _crowding(box: Box, others: Sequence[Box]) -> float:
    return sum(80 * box.overlap(other) for other in others)
