"""Policies as points: what each costs, in every way to reckon it, and what it keeps."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepwhole.replay.page.figures import Part, interval, share, words
from keepwhole.replay.page.markup import short
from keepwhole.replay.summary import Interval


class Mode(NamedTuple):
    """One way to reckon cost."""

    key: str
    name: str
    means: str
    cost: Callable[[Part], Interval | None]


class Point(NamedTuple):
    """One policy in the plot."""

    number: int
    name: str
    kind: str
    cost: Interval
    kept: Interval

    def sentence(self) -> str:
        """The point in words."""
        return f"{short(self.name, 60)} costs {share(self.cost.value)} and keeps {share(self.kept.value)}"


def all_in(row: Part) -> Interval | None:
    """With what it costs to fetch back what was missing in context, or at all."""
    return interval(row, "all_in_context") or interval(row, "all_in")


def in_context(row: Part) -> Interval | None:
    """The share of evidence that was shown in context."""
    return interval(row, "in_context")


def _cost(key: str) -> Callable[[Part], Interval | None]:
    def found(row: Part) -> Interval | None:
        return interval(row, key)

    return found


MODES = (
    Mode("all-in", "All-in", "Input with the provider's cache, plus fetching back what was missing.", all_in),
    Mode("cached", "Cached", "Input with the provider's cache; nothing is fetched back.", _cost("cost")),
    Mode("blind", "Blind", "All-in, but whoever fetches does not know where to look.", _cost("all_in_blind")),
    Mode("tail", "Tail", "Cached only up to the end of a request, as most clients set it.", _cost("tail")),
)


def points(rows: Sequence[Part], mode: Mode) -> list[Point]:
    """The policies that have both figures."""
    found = ((number, row, mode.cost(row), in_context(row)) for number, row in enumerate(rows))
    return [
        Point(number, words(row, "name"), _kind(row), cost, kept) for number, row, cost, kept in found if cost and kept
    ]


def _kind(row: Part) -> str:
    name = words(row, "name")
    return "bound" if row.get("bound") else name if name in ("auto", "everything") else "other"
