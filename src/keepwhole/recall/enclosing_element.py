"""The unit around a match: the element of JSON, XML or YAML that encloses it, the record of a table with its header.

Owns: how far the unit of a match reaches. Must not know: patterns, how matches are shown.

Theory of operation. Who looks for a name wants what belongs to it: in indented JSON that is on the lines around it.

    {                                     ┐
      "account": "delta-island-42",       │ the pattern is on this line, the quota is not
      "region": "north",                  │
      "quota": 300                        │
    },                                    ┘

Where a text has one value on a line, the unit is found by indentation, from the lines around the match alone: a line
that opens something comes with what is in it, any other line with its neighbors up to the line that opens them and the
one that closes them. At most `_AROUND` lines on each side belong to it. Where all is on one line, the bounds of units
say where the element ends (`truncation/unit_bounds.py`).
"""

import re
from bisect import bisect_right
from functools import cached_property

from keepwhole.store.reader import BodyReader
from keepwhole.truncation.sniff import DATA, sniff
from keepwhole.truncation.unit_bounds import unit_bounds

LONG_LINE = 400
"""Characters of a line above which only the text around a match is shown."""
_LONG_RECORD = 2_000
"""The same in data, where a line is a record."""
_AROUND = 15
_MOST_READ = 20_000
"""Characters of the lines around a match; where they are longer, its line stands alone."""
_LARGEST = 1_000_000
"""Of a longer text on one line the bounds of units are not looked for."""
_INDENTED = frozenset(("json", "wrapped", "broken", "xml"))
_LINE_BY_LINE = frozenset(("csv", "ndjson", "log", "diff", "code", "search", "listing"))
"""Kinds of text in which a line stands for itself; what is left is YAML where its lines look like it."""
_YAML = re.compile(r"\s*(?:- )*(?:[\w.\"'/@-]+:(?:\s|$)|- \S)")
_DASHES = re.compile(r"\s*(?:- +)*")
_CLOSES = re.compile(r"\s*(?:[}\]]|</)")


class EnclosingUnits:
    """The units of one text."""

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader
        self._kind = sniff(reader)
        self.longest = _LONG_RECORD if self._kind in DATA else LONG_LINE
        """Characters of a line that is shown whole."""

    @property
    def has_header(self) -> bool:
        """Whether the first line names the columns of all others."""
        return self._kind == "csv"

    def lines(self, line: int) -> tuple[int, int]:
        """The first and the last line of the unit that a line belongs to."""
        low, high = max(1, line - _AROUND), min(self._reader.lines, line + _AROUND)
        start, stop = self._reader.line_span(low, high)
        if self._kind in _LINE_BY_LINE or stop - start > _MOST_READ:
            return line, line
        texts = self._reader.text(start, stop).split(self._reader.eol)[: high - low + 1]
        if self._kind not in _INDENTED and not _YAML.match(texts[line - low]):
            return line, line
        first, last = _block(texts, line - low)
        return low + first, low + last

    def chars(self, at: int) -> tuple[int, int] | None:
        """The span of the unit on a long line around character `at`; None where it is too long, or not known."""
        if self._kind not in _INDENTED or self._reader.chars > _LARGEST:
            return None
        place = bisect_right(self._bounds, at)
        start, stop = self._bounds[place - 1], self._bounds[min(place, len(self._bounds) - 1)]
        return (start, stop) if start <= at < stop <= start + _LONG_RECORD else None

    @cached_property
    def _bounds(self) -> list[int]:
        return list(unit_bounds(self._reader.text(), self._kind, _LONG_RECORD))


def _block(lines: list[str], at: int) -> tuple[int, int]:
    """The first and the last of these lines that belong to the unit of the line `at`."""
    leads = [len(line) - len(line.lstrip()) for line in lines]
    depths = [_depth(line) for line in lines]
    own = depths[at]
    if at + 1 < len(lines) and leads[at + 1] > own:  # it opens something
        return at, _end(lines, leads, at, own + 1)
    if not own:
        return at, at
    first = at
    while first > 0 and leads[first] >= own and depths[first - 1] >= own:
        first -= 1
    opener = first > 0 and leads[first] >= own and bool(lines[first - 1].strip())
    return first - opener, _end(lines, leads, at, own)


def _end(lines: list[str], leads: list[int], at: int, least: int) -> int:
    """The last line of a unit: those behind `at` that are indented at least so far, and the one that closes them."""
    last = at
    while last + 1 < len(lines) and leads[last + 1] >= least:
        last += 1
    return last + 1 if last + 1 < len(lines) and _CLOSES.match(lines[last + 1]) else last


def _depth(line: str) -> int:
    """How far the value of a line is indented: the dash of an item in YAML counts as space."""
    found = _DASHES.match(line)
    return found.end() if found and line.strip() else 0
