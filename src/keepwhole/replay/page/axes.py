"""The ground of the frontier plot: scales, grid, and the region that costs more than sending everything."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from keepwhole.replay.page.figures import share
from keepwhole.replay.page.labels import Box
from keepwhole.replay.page.markup import Markup, joined, tag
from keepwhole.replay.page.points import Mode, Point

_DEAREST = 1.25
"""Costs above this are drawn at the edge, lest one policy flatten all the others."""
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)


class Size(NamedTuple):
    """A picture for one width of screen."""

    key: str
    width: int
    height: int
    letters: int


class Scale(NamedTuple):
    """From figures to places in the picture."""

    frame: Box
    least_cost: float
    most_cost: float
    least_kept: float
    cost_step: float
    kept_step: float

    def x(self, cost: float) -> float:
        """From the left; what is too dear is at the edge."""
        at = (min(cost, self.most_cost) - self.least_cost) / (self.most_cost - self.least_cost)
        return self.frame.left + max(0.0, at) * (self.frame.right - self.frame.left)

    def y(self, kept: float) -> float:
        """From the top."""
        at = (kept - self.least_kept) / (1 - self.least_kept)
        return self.frame.bottom - max(0.0, at) * (self.frame.bottom - self.frame.top)


def scale_of(found: Sequence[Point], size: Size) -> Scale:
    """Scales that hold all points, as large as they can be."""
    costs = [min(point.cost.value, _DEAREST) for point in found]
    low, high = min(*costs, 0.98), max(*costs, 1.0)
    by = _step(high - low, 10 if size.key == "wide" else 5)
    least = max(0.0, math.floor(low / by - 0.5) * by)
    most = min(_DEAREST, max(high + by / 4, 1 + (1 - least) / 5))
    kept = min(0.98, *(point.kept.value for point in found))
    rise = _step(1 - kept, 6)
    frame = Box(
        size.letters * 3.2, size.letters * 3.4, size.width - size.letters * 1.4, size.height - size.letters * 3.4
    )
    return Scale(frame, least, most, max(0.0, math.floor(kept / rise - 0.3) * rise), by, rise)


def _step(span: float, most: int) -> float:
    """How far apart the lines of the grid are, if there shall be so many at most."""
    return next((step for step in _STEPS if span / step <= most), _STEPS[-1])


def ground(scale: Scale, mode: Mode, size: Size) -> Markup:
    """Grid, axes and the region that costs more than sending everything."""
    frame, all_of_it = scale.frame, scale.x(1)
    return joined(
        tag("rect", x=all_of_it, y=frame.top, width=frame.right - all_of_it, height=_height(frame), class_="over"),
        [_row_line(kept, scale) for kept in _ticks(scale.least_kept, 1.0, scale.kept_step)],
        [_column_tick(cost, scale, size) for cost in _ticks(scale.least_cost, scale.most_cost, scale.cost_step)],
        tag("line", x1=all_of_it, x2=all_of_it, y1=frame.top, y2=frame.bottom, class_="par"),
        _over_words(frame, size),
        tag("text", "Evidence kept in context ↑", x=0, y=size.letters, class_="axis"),
        tag("text", _across(mode, size), x=frame.right, y=size.height - 3, text_anchor="end", class_="axis"),
    )


def _across(mode: Mode, size: Size) -> str:
    """What the cost is measured by, and which way is better."""
    against = " against sending everything" if size.key == "wide" else ""
    return f"← cheaper · {mode.name.lower()} cost{against}"


def _over_words(frame: Box, size: Size) -> Markup:
    lines = ("costs more than", "sending everything") if size.key == "wide" else ("", "costs more")
    return joined(
        tag("text", line, x=frame.right - 8, y=frame.bottom - up * size.letters, text_anchor="end", class_="over-words")
        for line, up in zip(lines, (2.0, 0.7), strict=True)
    )


def _height(frame: Box) -> float:
    return frame.bottom - frame.top


def _ticks(low: float, high: float, step: float) -> list[float]:
    first = math.ceil(low / step - 1e-9)
    return [round(step * at, 10) for at in range(first, math.floor(high / step + 1e-9) + 1)]


def _row_line(kept: float, scale: Scale) -> Markup:
    y, left = scale.y(kept), scale.frame.left
    text = tag("text", share(kept), x=left - 8, y=y, dy="0.35em", text_anchor="end", class_="tick")
    return joined(tag("line", x1=left, x2=scale.frame.right, y1=y, y2=y, class_="grid"), text)


def _column_tick(cost: float, scale: Scale, size: Size) -> Markup:
    x, bottom = scale.x(cost), scale.frame.bottom
    words_at = bottom + size.letters * 1.5
    text = tag("text", share(cost), x=x, y=words_at, text_anchor="middle", class_="tick")
    return joined(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="grid"), text)
