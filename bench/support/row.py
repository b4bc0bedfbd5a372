"""A measured figure as a row, and rows as a table for the terminal, for the docs and for programs."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.floors import Floor

HEADINGS = ("what", "figure", "reference", "ratio or value", "spread", "floor", "met")


@dataclass(frozen=True)
class Row:
    """One figure. `number` is compared with the floor; the other fields are texts of the table."""

    what: str
    figure: str
    reference: str = "–"
    value: str = "–"
    spread: str = "–"
    floor: str = "–"
    met: bool | None = None
    number: float | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        met = "–" if self.met is None else "yes" if self.met else "no"
        return (self.what, self.figure, self.reference, self.value, self.spread, self.floor, met)


def row_with_floor(what: str, figure: str, reference: str, values: Sequence[float], floor: Floor) -> Row:
    """Return a row whose median is compared with the floor; the spread is from the least to the greatest value."""
    row = row_without_floor(what, figure, reference, values, floor.unit, floor.digits)
    middle = median(values)
    return Row(what, figure, reference, row.value, row.spread, floor=str(floor), met=floor.holds(middle), number=middle)


def row_without_floor(
    what: str, figure: str, reference: str, values: Sequence[float], unit: str, digits: int = 2
) -> Row:
    """Return a row without a floor."""
    middle = median(values)
    spread = f"{min(values):.{digits}f}–{max(values):.{digits}f}" if len(values) > 1 else "–"
    return Row(what, figure, reference, f"{middle:.{digits}f}{unit}", spread, number=middle)


def text_table(rows: Sequence[Row]) -> str:
    """Return an aligned table for a terminal."""
    lines = [HEADINGS, *(row.cells for row in rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(HEADINGS))]
    lines.insert(1, tuple("─" * width for width in widths))
    return "\n".join("  ".join(map(_pad, line, widths)).rstrip() for line in lines)


def markdown_table(rows: Sequence[Row]) -> str:
    """Return the table in Markdown."""
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *(row.cells for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
