"""Today's ratios beside the committed ones of `docs/reference/figures.md`.

Owns: reading the committed table, and when a ratio has become worse: its median is beyond the committed spread, on the
side that its floor says is the bad one. Only ratios are compared, since a time says as much about the machine. A row
that is committed without a spread or a floor is not compared.
"""

import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.support.row import HEADINGS, Row, markdown_table
from bench.support.setup import ROOT

FIGURES = os.path.join(ROOT, "docs", "reference", "figures.md")
_ONLY_IF_NAMED = "\n## Only if named\n"
"""The last section of the page: the rows of suites that do not run with the others."""
_CELLS = re.compile(r"(?<!\\)\|")
_SPREAD = re.compile(r"([\d,.]+)–([\d,.]+)")


class CommittedRatio(NamedTuple):
    """One ratio as it was committed."""

    what: str
    value: str
    least: float
    greatest: float
    at_least: bool
    """Whether more is better."""

    def is_worse(self, number: float) -> bool:
        """Whether a ratio of today is beyond the spread, on the bad side."""
        return number < self.least if self.at_least else number > self.greatest


def committed_ratios(page: str) -> dict[str, CommittedRatio]:
    """The ratios in the tables of a page, by what they measure."""
    found = (_read_row(line) for line in page.splitlines())
    return {ratio.what: ratio for ratio in found if ratio is not None}


def _read_row(line: str) -> CommittedRatio | None:
    cells = [cell.strip().replace("\\|", "|") for cell in _CELLS.split(line)[1:-1]]
    if len(cells) != len(HEADINGS):
        return None
    what, _, _, value, spread, floor, _ = cells
    between = _SPREAD.fullmatch(spread)
    if between is None or not value.endswith("×") or floor[:1] not in ("≤", "≥"):
        return None
    least, greatest = (float(number.replace(",", "")) for number in between.groups())
    return CommittedRatio(what, value, least, greatest, at_least=floor.startswith("≥"))


def of_all_suites(page: str) -> dict[str, CommittedRatio]:
    """The ratios of the suites that run when none is named."""
    return committed_ratios(page.partition(_ONLY_IF_NAMED)[0])


def compare(committed: dict[str, CommittedRatio], rows: Iterable[Row], *, is_all: bool) -> list[str]:
    """What is worse than committed, one sentence each; where `is_all` was measured, also what is not measured any
    more."""
    today = {row.what: row for row in rows}
    found = [f"{row.what}: {row.figure}" for row in today.values() if row.figure.startswith("failed: ")]
    for what, ratio in committed.items():
        number = today[what].number if what in today else None
        if number is not None and ratio.is_worse(number):
            spread = f"{ratio.least:g} to {ratio.greatest:g}"
            found.append(f"{what}: {today[what].value} now, {ratio.value} when committed, with a spread of {spread}")
        elif number is None and is_all:
            found.append(f"{what}: committed, and no suite measures it. Write {os.path.basename(FIGURES)} anew.")
    return found


def rewritten(page: str, rows: Iterable[Row]) -> str:
    """The page with these rows as they are now: each in the place of the one with its name, a new one behind the row
    that was measured before it. A suite that failed changes nothing."""
    lines = page.split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("| ---"))
    for row in rows:
        if row.figure.startswith("failed: "):
            continue
        new = markdown_table([row]).split("\n")[-1]
        name = new.partition(" | ")[0] + " | "
        found = [number for number, line in enumerate(lines) if line.startswith(name)]
        at = found[0] if found else at + 1
        lines[at : at + len(found[:1])] = [new]
    return "\n".join(lines)


def compared(committed: dict[str, CommittedRatio], rows: Sequence[Row]) -> int:
    """How many of the rows have a committed ratio."""
    return sum(row.what in committed for row in rows)
