"""The matches of a pattern in one result, each with its line number and the unit or the lines around it.

Owns: the answer to a search inside one result, bounded, with totals and the call that continues.
Must not know: how a pattern is found, stores, sessions.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from keepwhole.canonical.utf8 import decode, showable
from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError
from keepwhole.recall.answer import RecallCall
from keepwhole.recall.enclosing_element import LONG_LINE, EnclosingUnits
from keepwhole.recall.patterns import finder
from keepwhole.recall.ranges import CharRange, LineRange, Range, TailRange, number_of
from keepwhole.recall.scan import Scan
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.notice import quoted

_ROUND = 150
_BYTES = 4
"""Most bytes of a character: the ends of a line are searched for so far around a match."""
_MOST_CONTEXT = 50
_MOST_HITS = 200
_MOST_FOLDED = 16_000_000
"""Bytes that are searched once more for other capitals, where nothing is spelled the same: that takes a tenth of a
second."""
_OTHER_CASE = "[Not spelled so, but with other capitals:]\n"
_TRUE = frozenset(("true", "1", "yes"))


class GrepQuery(Value):
    """The pattern to search for, and how many lines to show around it."""

    pattern: str
    regex: bool = False
    context: int | None = None
    """None for the unit around each match, which in plain text is its line."""


class _Hit(NamedTuple):
    """A match: its line, and the span that is shown of a long line."""

    line: int
    text: str
    excerpt: tuple[int, int] | None
    after: int
    """The byte from which the search continues."""


def parse_grep(arguments: Mapping[str, Any]) -> GrepQuery | None:
    """The search that a call's arguments ask for; None where they give no pattern."""
    pattern = arguments.get("pattern")
    if pattern is None or pattern == "":
        return None
    context = number_of(arguments, "context")
    if context is not None and context < 0:
        message = "context is a number of lines, at least 0."
        raise UsageError(message, message)
    regex = str(arguments.get("regex", "")).lower() in _TRUE
    return GrepQuery(str(pattern), regex, None if context is None else min(context, _MOST_CONTEXT))


def grep(reader: BodyReader, call: RecallCall, wanted: GrepQuery, within: Range | None, limit: int) -> str:
    """The matches within a range, as many as fit in `limit` characters, and the call for the next ones."""
    call = call.with_arguments(pattern=wanted.pattern, **_options(wanted))
    if len(call.text()) > limit // 3:
        message = "The pattern is too long to be looked for here. Give a shorter part of it."
        raise UsageError(message, message)
    start, stop = _bytes_within(reader, within)
    scan = Scan(reader, finder(wanted.pattern, wanted.regex), stop)
    units = EnclosingUnits(reader)
    found = _ShownMatches(reader, units, wanted.context, call.room(limit))
    hit = _find_next(reader, units, scan, start)
    if hit is None and not wanted.regex and stop - start <= _MOST_FOLDED and not scan.is_over:
        scan = Scan(reader, finder(wanted.pattern, regex=False, any_case=True), stop)
        hit = _find_next(reader, units, scan, start)
        found.text = _OTHER_CASE if hit is not None else ""
    while hit is not None:
        following = _find_next(reader, units, scan, hit.after)
        if len(found.hits) == _MOST_HITS or not found.add(hit, following):
            more = 1 + scan.count(hit.after) if scan.reached < stop else 1
            return found.text + _note(reader, call, found, hit, more, scan, stop)
        hit = following
    return found.text + _note(reader, call, found, None, 0, scan, stop)


def _options(wanted: GrepQuery) -> dict[str, object]:
    regex: dict[str, object] = {"regex": True} if wanted.regex else {}
    return regex | ({} if wanted.context is None else {"context": wanted.context})


def _bytes_within(reader: BodyReader, within: Range | None) -> tuple[int, int]:
    """The bytes of a range."""
    if isinstance(within, TailRange):
        within = LineRange(max(1, reader.lines - within.lines + 1))
    if isinstance(within, LineRange):
        if within.first > reader.lines:
            return reader.facts.size, reader.facts.size
        return reader.line_bytes(within.first, reader.lines if within.last is None else within.last)
    if isinstance(within, CharRange):
        stop = reader.chars if within.length is None else within.start + within.length
        return reader.byte_at(within.start), reader.byte_at(stop)
    return 0, reader.facts.size


def _find_next(reader: BodyReader, units: EnclosingUnits, scan: Scan, start: int) -> _Hit | None:
    """Find the next match and what is shown of its line; only the bytes around it are read."""
    match = scan.find(start)
    if match is None:
        return None
    near = _BYTES * units.longest
    low, high = max(0, match[0] - near), min(reader.facts.size, match[1] + near)
    data, eol, line = reader.read(low, high), reader.eol.encode(), reader.line_at(match[0])
    first = data.rfind(eol, 0, match[0] - low) + 1
    last = data.find(eol, match[0] - low) + 1
    begins = low + first if first or low == 0 else None
    ends = low + last if last else high if high == reader.facts.size else None
    if begins is not None and ends is not None:
        text = decode(data[begins - low : ends - low], reader.facts.encoding)
        if len(text) <= units.longest:
            return _Hit(line, text, None, max(match[1], ends))
    at = reader.char_at(match[0])
    shown = units.chars(at) or (
        max(0 if begins is None else reader.char_at(begins), at - _ROUND),
        min(reader.chars if ends is None else reader.char_at(ends), at + LONG_LINE),
    )
    return _Hit(line, reader.text(*shown), shown, max(match[1], reader.byte_at(shown[1])))


class _ShownMatches:
    """The matches that are shown so far."""

    def __init__(self, reader: BodyReader, units: EnclosingUnits, context: int | None, room: int) -> None:
        self._reader, self._units, self._context, self._room = reader, units, context, room
        self._shown = 0
        """The last line that is shown, matching or not."""
        self.text = ""
        self.hits: list[_Hit] = []

    def add(self, hit: _Hit, following: _Hit | None) -> bool:
        """Show one more match with its unit or its neighbors, if it fits; its own line alone if they do not."""
        before, upto = self._around(hit)
        upto = upto if following is None else min(upto, following.line - 1)
        for first, last in ((before, upto), (hit.line, hit.line)):
            last = max(hit.line, min(last, self._reader.lines))
            block = self._header(hit) + self._block(hit, max(1, first, self._shown + 1), last)
            if len(self.text) + len(block) <= self._room:
                self.text += block
                self._shown = last
                self.hits.append(hit)
                return True
        return False

    def _around(self, hit: _Hit) -> tuple[int, int]:
        """The first and the last line to show with a match."""
        if self._context is not None:
            return hit.line - self._context, hit.line + self._context
        return self._units.lines(hit.line) if hit.excerpt is None else (hit.line, hit.line)

    def _header(self, hit: _Hit) -> str:
        """The line with the names of columns, before the first match in a table."""
        line = self._units.header(hit.line) if self._context is None else None
        is_new = line is not None and self._shown < line < hit.line and (not self.hits or line > self.hits[0].line)
        return self._neighbors(line, line) if line is not None and is_new else ""

    def _block(self, hit: _Hit, first: int, last: int) -> str:
        has_neighbors = self._context or (self._context is None and last > first)
        apart = "--\n" if has_neighbors and self.hits and first > self._shown + 1 else ""
        where = "" if hit.excerpt is None else f" (characters {hit.excerpt[0]}-{hit.excerpt[1]})"
        own = f"{hit.line}{where}: {_one_line(hit.text)}\n"
        return apart + self._neighbors(first, hit.line - 1) + own + self._neighbors(hit.line + 1, last)

    def _neighbors(self, first: int, last: int) -> str:
        shown = ""
        for number in range(first, last + 1):
            start, stop = self._reader.line_span(number, number)
            text = self._reader.text(start, min(stop, start + LONG_LINE))
            shown += f"{number}- {_one_line(text)}{'…' if stop - start > LONG_LINE else ''}\n"
        return shown


def _one_line(text: str) -> str:
    return quoted(showable(text.rstrip("\r\n").replace("\r", " ")))


def _note(
    reader: BodyReader, call: RecallCall, found: _ShownMatches, left: _Hit | None, more: int, scan: Scan, stop: int
) -> str:
    """The last line: how many matches are shown, how many there are, and the call that continues."""
    count = len(found.hits)
    shown = f"{count:,} {'match' if count == 1 else 'matches'} shown" if count else "no match"
    whole = f"in {reader.lines:,} lines, {reader.chars:,} characters"
    if left is not None:
        where = {"start_char": left.excerpt[0]} if left.excerpt is not None else {"lines": f"{left.line}-"}
        least = "at least " if scan.is_over else ""
        return f"[{shown} {whole}; {least}{more:,} more; next: {call.text(**_upto(reader, where, stop))}]"
    if scan.is_over:
        reached = reader.char_at(scan.reached)
        going_on = call.text(**_upto(reader, {"start_char": reached}, stop))
        return f"[{shown} {whole}; looked at up to character {reached:,}; next: {going_on}]"
    if not count:
        return f"[{shown} {whole}; spaces count]"
    return f"[{shown} {whole}, all there are]"


def _upto(reader: BodyReader, where: dict[str, Any], stop: int) -> dict[str, Any]:
    """The range of the call that continues: from `where` to the end of the range that was asked for."""
    if stop >= reader.facts.size:
        return where
    last = reader.char_at(stop)
    if "lines" in where:
        return {"lines": f"{where['lines']}{max(int(where['lines'][:-1]), reader.ends_before(last))}"}
    return {**where, "length": max(1, last - where["start_char"])}
