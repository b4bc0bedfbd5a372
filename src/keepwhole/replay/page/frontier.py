"""The frontier plot: what each policy costs against what it keeps, drawn as SVG.

Owns: marks, labels and the switch between costs. Colours are in `page.css`.
"""

from collections.abc import Sequence

from keepwhole.replay.page.axes import Scale, Size, ground, scale_of
from keepwhole.replay.page.figures import Part, parts, share
from keepwhole.replay.page.labels import Anchor, Box, Label, Obstacle, place
from keepwhole.replay.page.markup import Markup, joined, short, tag
from keepwhole.replay.page.points import MODES, Mode, Point, points

_LETTER = 0.6
"""Width of a letter for its size, on the safe side."""
_SIZES = (Size("wide", 1000, 520, 14), Size("narrow", 360, 420, 11))


def frontier(report: Part) -> Markup | None:
    """The plot in every mode that there are figures for, with the switch between them."""
    rows = parts(report, "policies")
    modes = [(mode, found) for mode in MODES if (found := points(rows, mode))]
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


def _choice(mode: Mode, chosen: bool) -> Markup:
    radio = tag("input", type="radio", name="mode", value=mode.key, checked=chosen)
    return tag("label", radio, tag("span", mode.name))


def _plot(found: Sequence[Point], mode: Mode, size: Size) -> Markup:
    scale, name = scale_of(found, size), f"{mode.key}-{size.key}"
    return tag(
        "svg",
        tag("title", f"Cost ({mode.name.lower()}) against evidence kept in context", id=f"title-{name}"),
        tag("desc", _described(found), id=f"desc-{name}"),
        ground(scale, mode, size),
        _edge(found, scale),
        [_whiskers(point, scale) for point in found],
        [_mark(point, label, scale, size) for point, label in zip(found, _labels(found, scale, size), strict=True)],
        viewBox=f"0 0 {size.width} {size.height}",
        role="group",
        aria_labelledby=f"title-{name} desc-{name}",
        class_=f"plot mode {size.key}",
        data_mode=mode.key,
    )


def _described(found: Sequence[Point]) -> str:
    return "; ".join(point.sentence() for point in sorted(found, key=lambda point: point.cost.value)) + "."


def _edge(found: Sequence[Point], scale: Scale) -> Markup | None:
    """The line through the policies that no other beats in both figures."""
    best: list[Point] = []
    for point in sorted(found, key=lambda point: (point.cost.value, -point.kept.value)):
        if point.kind != "bound" and (not best or point.kept.value > best[-1].kept.value):
            best.append(point)
    if len(best) < 2:
        return None
    corners = (f"{scale.x(point.cost.value):.1f},{scale.y(point.kept.value):.1f}" for point in best)
    return tag("polyline", points=" ".join(corners), class_="edge")


def _whiskers(point: Point, scale: Scale) -> Markup:
    boxes = _whisker_boxes(point, scale)
    return joined(
        tag("line", x1=box.left, x2=box.right, y1=box.top, y2=box.bottom, class_=f"whisker {point.kind}")
        for box in boxes
    )


def _whisker_boxes(point: Point, scale: Scale) -> list[Box]:
    """The two intervals as lines without breadth."""
    x, y = scale.x(point.cost.value), scale.y(point.kept.value)
    across = Box(scale.x(point.cost.low), y, scale.x(point.cost.high), y)
    upright = Box(x, scale.y(point.kept.high), x, scale.y(point.kept.low))
    return [box for box in (across, upright) if box.right - box.left + box.bottom - box.top > 1]


def _labels(found: Sequence[Point], scale: Scale, size: Size) -> list[Label]:
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
    return place(anchors, within, [*obstacles, Obstacle(over, 10.0)])


def _caption(point: Point, scale: Scale) -> str:
    beyond = point.cost.value > scale.most_cost
    return short(point.name, 24) + (f" {share(point.cost.value)} →" if beyond else "")


def _mark(point: Point, label: Label, scale: Scale, size: Size) -> Markup:
    """A point with its label, as a link to its row in the table."""
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
