"""Writes the chart of the README, cost and evidence of policies on the public corpus: `python -m docs.chart`.

The figures are those of the table in decision 36, which `python -m bench.need` printed; nothing is measured here, so
the chart and the table cannot differ. Each policy is a point with its 95 % intervals: left is cheaper, up keeps more.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).parent / "decisions" / "0036-need.md"
CHART = Path(__file__).parent / "images" / "frontier.svg"
_ROW = re.compile(r"^\| all \| ([^|]+) \| ([\d.]+) \(([\d.]+)-([\d.]+)\) \| ([\d.]+) \(([\d.]+)-([\d.]+)\) \|", re.M)
_NAMES = {
    "careful, source left out": ("Keepwhole (auto)", "ours"),
    "lean, source left out": ("Keepwhole (preset lean)", "ours"),
    "clear_tool_uses": ("Anthropic context editing", "others"),
    "clairvoyant": ("the best possible", "bound"),
}
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 400, 76, 28, 64, 56
_COST, _KEPT = (0.40, 1.05), (0.94, 1.005)
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #3c4350 } .title { font-size: 16px; font-weight: 600; fill: #1b1f27 }
  .axis { stroke: #c4c9d4 } .ours { fill: #0b7a4b; stroke: #0b7a4b } .others { fill: #b4541b; stroke: #b4541b }
  .bound, .none { fill: #6b7280; stroke: #6b7280 } text.ours, text.others, text.bound, text.none { stroke: none }
  .paper { fill: #ffffff }
  @media (prefers-color-scheme: dark) { .paper { fill: #14171c } text { fill: #aab2c0 } .title { fill: #e8ebf0 }
    .axis { stroke: #3a404c } .ours { fill: #4fd39a; stroke: #4fd39a } .others { fill: #f0995c; stroke: #f0995c }
    .bound, .none { fill: #9aa3b2; stroke: #9aa3b2 } }
"""


class Point(NamedTuple):
    """One policy on all runs of the corpus; shares of sending everything."""

    name: str
    look: str
    kept: float
    kept_range: tuple[float, float]
    cost: float
    cost_range: tuple[float, float]


def points(table: str) -> list[Point]:
    """The policies of the table, and sending everything, which is 100 % of both by definition."""
    found = [Point("everything", "none", 1.0, (1.0, 1.0), 1.0, (1.0, 1.0))]
    for policy, *figures in _ROW.findall(table):
        if policy in _NAMES:
            kept, low, high, cost, least, most = map(float, figures)
            found.append(Point(*_NAMES[policy], kept, (low, high), cost, (least, most)))
    return found


def draw(found: list[Point]) -> str:
    """The chart as one SVG."""
    name = "Cost against evidence kept, on 212 long runs of public agents"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{name}">',
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>',
            f'<text class="title" x="20" y="30">{name}</text>',
            *_axes(),
            *(line for point in found for line in _drawn(point)),
            "</svg>\n",
        ]
    )


def _x(cost: float) -> float:
    return round(_LEFT + (cost - _COST[0]) / (_COST[1] - _COST[0]) * (_WIDTH - _LEFT - _RIGHT), 1)


def _y(kept: float) -> float:
    return round(_HEIGHT - _BOTTOM - (kept - _KEPT[0]) / (_KEPT[1] - _KEPT[0]) * (_HEIGHT - _TOP - _BOTTOM), 1)


def _axes() -> Iterator[str]:
    bottom = _HEIGHT - _BOTTOM
    for percent in range(40, 101, 10):
        x = _x(percent / 100)
        yield f'<line class="axis" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>'
        yield f'<text x="{x}" y="{bottom + 20}" text-anchor="middle">{percent} %</text>'
    for percent in range(94, 101, 2):
        y = _y(percent / 100)
        yield f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{percent} %</text>'
    words = "cost of input, prompt cache included, against sending everything →"
    yield f'<text x="{_LEFT}" y="{_HEIGHT - 12}">{words}</text>'
    yield f'<text x="20" y="{_TOP - 10}">↑ of what later steps used, what the model still had in its context</text>'


def _drawn(point: Point) -> Iterator[str]:
    x, y = _x(point.cost), _y(point.kept)
    for (x1, x2), (y1, y2) in (
        ((_x(point.cost_range[0]), _x(point.cost_range[1])), (y, y)),
        ((x, x), (_y(point.kept_range[0]), _y(point.kept_range[1]))),
    ):
        if (x1, y1) != (x2, y2):
            yield f'<line class="{point.look}" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}" stroke-width="1.5"/>'
    yield f'<circle class="{point.look}" cx="{x}" cy="{y}" r="5"/>'
    anchor, dx = ("end", -10) if point.cost > 0.9 else ("start", 10)
    words = f"{point.name}: {point.kept:.1%} at {point.cost:.0%}"
    dy = -10 if point.look in ("none", "bound") else 20
    yield f'<text class="{point.look}" x="{x + dx}" y="{y + dy}" text-anchor="{anchor}">{words}</text>'


if __name__ == "__main__":
    drawn = points(TABLE.read_text(encoding="utf-8"))
    CHART.write_text(draw(drawn), encoding="utf-8")
    for each in drawn:
        print(f"{each.name}: keeps {each.kept:.1%} of the evidence at {each.cost:.1%} of the cost")
