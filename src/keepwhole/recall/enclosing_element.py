"""The unit around a match: the element of JSON, XML or YAML that encloses it, the section of settings, the row of a
table under the names of its columns.

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
say where the element ends (`truncation/unit_bounds.py`); in JSON that was broken off, in records and in large texts the
nearest braces do.

A record of CSV may go over several lines, within quotation marks. Which lines these are is known from the beginning of
the text alone, so it is found in texts of up to `_LARGEST` characters. Other tables have their names of columns in
capitals on the first line, as `ps` and `kubectl` print them, or at the beginning of lines that all begin with a bar.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile

from keepwhole.store.reader import BodyReader
from keepwhole.truncation.rows import record_bounds
from keepwhole.truncation.sniff import DATA, preface, sniff
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
_BRACED = frozenset(("json", "wrapped", "broken", "ndjson"))
_SECTION = re.compile(r"\[{1,2}[^\[\]\n]{1,200}\]{1,2}\s*$")
"""How a section of TOML and of INI files begins."""
_SETTING = re.compile(r"[\w.\"'/@ -]{1,200}[=:]|\s|[#;]|$")
"""What may follow it: a setting, what goes on with one, a comment, an empty line."""
_COLUMNS = re.compile(r"\A[A-Z][A-Z0-9%()/_#-]*(?: +[A-Z][A-Z0-9%()/_#-]*)+\s*$")
"""The names of columns above a table of a command."""
_MOST_HEADER = 400
_LONGEST_PREFACE = 4_096
_BAR = "|"
_MOST_ABOVE = 200_000
"""Characters above a row in which the first one of its table is looked for."""


class EnclosingUnits:
    """The units of one text."""

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader
        self._kind = sniff(reader)
        self.longest = _LONG_RECORD if self._kind in DATA else LONG_LINE
        """Characters of a line that is shown in full."""

    def header(self, line: int) -> int | None:
        """The line that names the columns of a row; None where none does."""
        if self._names_columns:
            return self._first_line
        start, stop = self._reader.line_span(line, line)
        if self._reader.text(start, min(stop, start + 1)) != _BAR:
            return None
        above = self._reader.text(max(0, start - _MOST_ABOVE), start).split(self._reader.eol)[:-1]
        rows = sum(1 for _ in takewhile(lambda text: text.startswith(_BAR), reversed(above)))
        return line - rows if rows else None

    def lines(self, line: int) -> tuple[int, int]:
        """The first and the last line of the unit that a line belongs to."""
        if self._kind == "csv":
            return self._record(line)
        low, high = max(1, line - _AROUND), min(self._reader.lines, line + _AROUND)
        start, stop = self._reader.line_span(low, high)
        if self._kind in _LINE_BY_LINE or stop - start > _MOST_READ:
            return line, line
        texts = self._reader.text(start, stop).split(self._reader.eol)[: high - low + 1]
        if self._kind in _INDENTED:
            first, last = _block(texts, line - low)
        else:
            own = texts[line - low]
            first, last = _section(texts, line - low) or (
                _block(texts, line - low) if _YAML.match(own) else (line - low, line - low)
            )
        return low + first, low + last

    def chars(self, at: int) -> tuple[int, int] | None:
        """The span of the unit on a long line around character `at`; None where it is too long, or not known."""
        if self._kind in ("json", "xml") and self._reader.chars <= _LARGEST:
            place = bisect_right(self._bounds, at)
            start, stop = self._bounds[place - 1], self._bounds[min(place, len(self._bounds) - 1)]
            if start <= at < stop <= start + _LONG_RECORD:
                return start, stop
        if self._kind not in _BRACED:
            return None
        low = max(0, at - _LONG_RECORD)
        found = _braces(self._reader.text(low, low + 2 * _LONG_RECORD), at - low)
        return (low + found[0], low + found[1]) if found and found[1] - found[0] <= _LONG_RECORD else None

    @cached_property
    def _bounds(self) -> list[int]:
        return list(unit_bounds(self._reader.text(), self._kind, _LONG_RECORD))

    @cached_property
    def _first_line(self) -> int:
        """The first line of the output itself, behind what a shell's wrapper prints."""
        text = self._reader.text(0, _LONGEST_PREFACE)
        return 1 + text.count(self._reader.eol, 0, preface(text))

    @cached_property
    def _names_columns(self) -> bool:
        """Whether the first line of the output names the columns of all others."""
        if self._kind == "csv":
            return True
        first = self._reader.line_span(self._first_line, self._first_line)
        return first[1] - first[0] <= _MOST_HEADER and _COLUMNS.match(self._reader.text(*first)) is not None

    def _record(self, line: int) -> tuple[int, int]:
        """The lines of the record of CSV that a line belongs to, as far as `_AROUND` lines on each side."""
        if self._reader.chars > _LARGEST:
            return line, line
        bounds = self._records
        place = bisect_right(bounds, self._reader.line_span(line, line)[0])
        start, stop = bounds[place - 1], bounds[min(place, len(bounds) - 1)]
        first, last = (self._reader.line_at(self._reader.byte_at(at)) for at in (start, max(start, stop - 1)))
        return max(first, line - _AROUND), min(last, line + _AROUND)

    @cached_property
    def _records(self) -> Sequence[int]:
        return record_bounds(self._reader.text(), self._reader.eol, quoted=True)


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


def _section(lines: list[str], at: int) -> tuple[int, int] | None:
    """The first and the last line of the section of settings that has the line `at`; None where it is in none."""
    first = at
    while first >= 0 and not _SECTION.match(lines[first]):
        if not _SETTING.match(lines[first]):
            return None
        first -= 1
    if first < 0:
        return None
    last = first
    while last + 1 < len(lines) and _SETTING.match(lines[last + 1]) and not _SECTION.match(lines[last + 1]):
        last += 1
    while last > at and not lines[last].strip():
        last -= 1
    return first, max(last, at)


def _braces(text: str, at: int) -> tuple[int, int] | None:
    """The span of the nearest braces around a place; None where they are not both there."""
    depth = 0
    for start in range(at - 1, -1, -1):
        depth += (text[start] == "}") - (text[start] == "{")
        if depth < 0:
            break
    else:
        return None
    depth = 0
    for stop in range(at, len(text)):
        depth += (text[stop] == "{") - (text[stop] == "}")
        if depth < 0:
            return start, stop + 1
    return None


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
