"""The frontier plot: what each policy costs against how much evidence it keeps, drawn as SVG.

Owns: the points, the scales and the grid, the marks, and the switch between kinds of cost. Colors are in `page.css`;
where labels go is in `labels`.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepwhole.replay.intervals import Interval
from keepwhole.replay.page.figures import Part, all_in, in_context, interval, parts, share, words
from keepwhole.replay.page.labels import Anchor, Box, Label, Obstacle, place_labels
from keepwhole.replay.page.markup import Markup, join, short, tag

_HIGHEST_COST = 1.25
"""Costs above this are drawn at the edge, so that one expensive policy does not flatten the plot."""
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
_LETTER = 0.6
"""The width of a letter relative to its size; rather too large than too small."""


class CostKind(NamedTuple):
    """One way to compute the cost of a policy."""

    key: str
    name: str
    means: str
    cost: Callable[[Part], Interval | None]


class PolicyPoint(NamedTuple):
    """One policy as a point of the plot."""

    number: int
    name: str
    kind: str
    cost: Interval
    kept: Interval

    def sentence(self) -> str:
        """Return the point in words."""
        return f"{short(self.name, 60)} costs {share(self.cost.value)} and keeps {share(self.kept.value)}"


class Size(NamedTuple):
    """The size of the plot for one width of screen."""

    key: str
    width: int
    height: int
    letters: int


class Scale(NamedTuple):
    """Maps figures to positions in the plot."""

    frame: Box
    least_cost: float
    most_cost: float
    least_kept: float
    cost_step: float
    kept_step: float

    def x(self, cost: float) -> float:
        """Return the position from the left; costs beyond the scale are at the edge."""
        at = (min(cost, self.most_cost) - self.least_cost) / (self.most_cost - self.least_cost)
        return self.frame.left + max(0.0, at) * (self.frame.right - self.frame.left)

    def y(self, kept: float) -> float:
        """Return the position from the top."""
        at = (kept - self.least_kept) / (1 - self.least_kept)
        return self.frame.bottom - max(0.0, at) * (self.frame.bottom - self.frame.top)


def _cost(key: str) -> Callable[[Part], Interval | None]:
    def read_cost(row: Part) -> Interval | None:
        return interval(row, key)

    return read_cost


_COST_KINDS = (
    CostKind("all-in", "All-in", "Input with the provider's cache, plus fetching back what was missing.", all_in),
    CostKind("cached", "Cached", "Input with the provider's cache; nothing is fetched back.", _cost("cost")),
    CostKind(
        "blind", "Blind", "All-in, but the agent that fetches does not know where to look.", _cost("all_in_blind")
    ),
    CostKind("tail", "Tail", "Cached only up to the end of a request, as most clients set it.", _cost("tail")),
)
_SIZES = (Size("wide", 1000, 520, 14), Size("narrow", 360, 420, 11))


def frontier(report: Part) -> Markup | None:
    """Return the plot for every kind of cost that has figures, with a switch between them; None if none has."""
    rows = parts(report, "policies")
    modes = [(mode, found) for mode in _COST_KINDS if (found := _points(rows, mode))]
    if not modes:
        return None
    switch = [_choice(mode, chosen=number == 0) for number, (mode, _) in enumerate(modes)]
    return tag(
        "figure",
        tag("fieldset", tag("legend", "Cost"), switch, class_="switch") if len(modes) > 1 else None,
        [_plot(found, mode, size) for mode, found in modes for size in _SIZES],
        [tag("figcaption", mode.means, class_="mode", data_mode=mode.key) for mode, _ in modes],
        class_="frontier",
    )


def _choice(mode: CostKind, chosen: bool) -> Markup:
    radio = tag("input", type="radio", name="mode", value=mode.key, checked=chosen)
    return tag("label", radio, tag("span", mode.name))


def _plot(found: Sequence[PolicyPoint], mode: CostKind, size: Size) -> Markup:
    scale, name = _scale_of(found, size), f"{mode.key}-{size.key}"
    return tag(
        "svg",
        tag("title", f"Cost ({mode.name.lower()}) against evidence kept in context", id=f"title-{name}"),
        tag("desc", _describe(found), id=f"desc-{name}"),
        _background(scale, mode, size),
        _edge(found, scale),
        [_whiskers(point, scale) for point in found],
        [_mark(point, label, scale, size) for point, label in zip(found, _labels(found, scale, size), strict=True)],
        viewBox=f"0 0 {size.width} {size.height}",
        role="group",
        aria_labelledby=f"title-{name} desc-{name}",
        class_=f"plot mode {size.key}",
        data_mode=mode.key,
    )


def _describe(found: Sequence[PolicyPoint]) -> str:
    return "; ".join(point.sentence() for point in sorted(found, key=lambda point: point.cost.value)) + "."


def _edge(found: Sequence[PolicyPoint], scale: Scale) -> Markup | None:
    """Return the line through the policies that no other one beats in both figures."""
    best: list[PolicyPoint] = []
    for point in sorted(found, key=lambda point: (point.cost.value, -point.kept.value)):
        if point.kind != "bound" and (not best or point.kept.value > best[-1].kept.value):
            best.append(point)
    if len(best) < 2:
        return None
    corners = (f"{scale.x(point.cost.value):.1f},{scale.y(point.kept.value):.1f}" for point in best)
    return tag("polyline", points=" ".join(corners), class_="edge")


def _whiskers(point: PolicyPoint, scale: Scale) -> Markup:
    boxes = _whisker_boxes(point, scale)
    return join(
        tag("line", x1=box.left, x2=box.right, y1=box.top, y2=box.bottom, class_=f"whisker {point.kind}")
        for box in boxes
    )


def _whisker_boxes(point: PolicyPoint, scale: Scale) -> list[Box]:
    """Return the two intervals of a point as boxes without thickness."""
    x, y = scale.x(point.cost.value), scale.y(point.kept.value)
    across = Box(scale.x(point.cost.low), y, scale.x(point.cost.high), y)
    upright = Box(x, scale.y(point.kept.high), x, scale.y(point.kept.low))
    return [box for box in (across, upright) if box.right - box.left + box.bottom - box.top > 1]


def _labels(found: Sequence[PolicyPoint], scale: Scale, size: Size) -> list[Label]:
    height = size.letters * 1.25
    anchors = [
        Anchor(scale.x(p.cost.value), scale.y(p.kept.value), len(_caption(p, scale)) * size.letters * _LETTER, height)
        for p in found
    ]
    thin = [box for point in found for box in _whisker_boxes(point, scale)]
    frame = scale.frame
    over = Box(frame.right - size.letters * 11, frame.bottom - size.letters * 3, frame.right, frame.bottom)
    obstacles = [Obstacle(Box(b.left - 1, b.top - 1, b.right + 1, b.bottom + 1), 5.0) for b in thin]
    within = Box(0, frame.top - size.letters * 1.4, size.width, frame.bottom)
    return place_labels(anchors, within, [*obstacles, Obstacle(over, 10.0)])


def _caption(point: PolicyPoint, scale: Scale) -> str:
    beyond = point.cost.value > scale.most_cost
    return short(point.name, 24) + (f" {share(point.cost.value)} →" if beyond else "")


def _mark(point: PolicyPoint, label: Label, scale: Scale, size: Size) -> Markup:
    """Return a point with its label, as a link to its row in the table."""
    x, y, box = scale.x(point.cost.value), scale.y(point.kept.value), label.box
    leader = label.leader and tag("line", x1=x, y1=y, x2=label.leader[0], y2=label.leader[1], class_="leader")
    return tag(
        "a",
        tag("title", point.sentence()),
        leader,
        _shape(point.kind, x, y),
        tag("text", _caption(point, scale), x=label.x, y=box.bottom - size.letters * 0.35, text_anchor=label.align),
        href=f"#policy-{point.number}",
        class_=f"point {point.kind}",
    )


def _shape(kind: str, x: float, y: float) -> Markup:
    if kind == "bound":
        return tag("path", d=f"M{x:.1f} {y - 7:.1f}l7 7l-7 7l-7 -7z", class_="dot")
    return tag("circle", cx=x, cy=y, r=6.5 if kind == "auto" else 5, class_="dot")


def _points(rows: Sequence[Part], mode: CostKind) -> list[PolicyPoint]:
    """Return the policies that have both figures as points."""
    found = ((number, row, mode.cost(row), in_context(row)) for number, row in enumerate(rows))
    return [
        PolicyPoint(number, words(row, "name"), _kind(row), cost, kept)
        for number, row, cost, kept in found
        if cost and kept
    ]


def _kind(row: Part) -> str:
    name = words(row, "name")
    return "bound" if row.get("bound") else name if name in ("auto", "everything") else "other"


def _scale_of(found: Sequence[PolicyPoint], size: Size) -> Scale:
    """Return the largest scale that shows all points."""
    costs = [min(point.cost.value, _HIGHEST_COST) for point in found]
    low, high = min(*costs, 0.98), max(*costs, 1.0)
    by = _step(high - low, 10 if size.key == "wide" else 5)
    least = max(0.0, math.floor(low / by - 0.5) * by)
    most = min(_HIGHEST_COST, max(high + by / 4, 1 + (1 - least) / 5))
    kept = min(0.98, *(point.kept.value for point in found))
    rise = _step(1 - kept, 6)
    frame = Box(
        size.letters * 3.2, size.letters * 3.4, size.width - size.letters * 1.4, size.height - size.letters * 3.4
    )
    return Scale(frame, least, most, max(0.0, math.floor(kept / rise - 0.3) * rise), by, rise)


def _step(span: float, most: int) -> float:
    """Return the distance of grid lines if there may be `most` of them."""
    return next((step for step in _STEPS if span / step <= most), _STEPS[-1])


def _background(scale: Scale, mode: CostKind, size: Size) -> Markup:
    """Return the grid, the axes and the region that costs more than sending everything."""
    frame, all_of_it = scale.frame, scale.x(1)
    return join(
        tag("rect", x=all_of_it, y=frame.top, width=frame.right - all_of_it, height=_height(frame), class_="over"),
        [_row_line(kept, scale) for kept in _ticks(scale.least_kept, 1.0, scale.kept_step)],
        [_column_tick(cost, scale, size) for cost in _ticks(scale.least_cost, scale.most_cost, scale.cost_step)],
        tag("line", x1=all_of_it, x2=all_of_it, y1=frame.top, y2=frame.bottom, class_="par"),
        _over_words(frame, size),
        tag("text", "Evidence kept in context ↑", x=0, y=size.letters, class_="axis"),
        tag("text", _across(mode, size), x=frame.right, y=size.height - 3, text_anchor="end", class_="axis"),
    )


def _across(mode: CostKind, size: Size) -> str:
    """Return the label of the cost axis."""
    against = " against sending everything" if size.key == "wide" else ""
    return f"← cheaper · {mode.name.lower()} cost{against}"


def _over_words(frame: Box, size: Size) -> Markup:
    lines = ("costs more than", "sending everything") if size.key == "wide" else ("", "costs more")
    return join(
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
    return join(tag("line", x1=left, x2=scale.frame.right, y1=y, y2=y, class_="grid"), text)


def _column_tick(cost: float, scale: Scale, size: Size) -> Markup:
    x, bottom = scale.x(cost), scale.frame.bottom
    words_at = bottom + size.letters * 1.5
    text = tag("text", share(cost), x=x, y=words_at, text_anchor="middle", class_="tick")
    return join(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="grid"), text)
