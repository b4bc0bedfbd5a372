"""Keep the shape of a diff: every file, every hunk's header, and whole the hunks that fit or are asked for."""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

from keepwhole.canonical.anchors import matches_from
from keepwhole.truncation.cut import Cut, Source, whole
from keepwhole.truncation.head_tail import head_tail
from keepwhole.truncation.lines import split_after
from keepwhole.truncation.question import fold, scores, terms
from keepwhole.truncation.strategy import StrategyOptions
from keepwhole.truncation.units import ChosenUnits, cut_of, widest_mark

_LINE = r"(?:(@@.*@@|\*{15}$|\d+(?:,\d+)?[acd]\d+(?:,\d+)?$)|diff --git |Index: |(--- \S.*(?=\n\+\+\+ )))"
"""What begins a hunk, then what begins a file; the last one may also stand inside a file's header."""
_FIRST = re.compile(_LINE, re.M)
_LATER = re.compile("\n" + _LINE, re.M)
_HUNK, _OLD_NAME = 1, 2
_AHEAD = len("\n+++ ")
_MOST_ASKED = 8
_LONGEST = 600
"""A hunk longer than this is several units, so that a part of it can be asked for."""
_ASKED, _SHAPE = 0.5, 0.7
"""How much of the room hunks that are asked for may take, and headers."""


def diff(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """Hunks that are asked for, headers of files and hunks, then the end and hunks from the top as far as they fit."""
    if source.chars <= budget:
        return whole(source.chars)
    text = source.text(0, source.chars)
    bounds, begin = hunk_bounds(text)
    if not begin:
        return head_tail(source, budget, options)
    bounds = split_after(text, bounds, max(64, min(_LONGEST, budget // 8)), ("\n",))
    headers = [bisect_left(bounds, start) for start in begin]
    chosen, shape = (ChosenUnits(bounds, int(budget * share), widest_mark(source)) for share in (1, _SHAPE))
    found = scores(fold(text), bounds, terms(options.question)) if options.question else {}
    for unit in sorted(found, key=lambda unit: (-found[unit], unit))[:_MOST_ASKED]:
        chosen.add_all([unit, *headers[max(0, bisect_right(headers, unit) - 1) :][:1]], _ASKED)
    shape.add_all(headers)
    chosen.add_all(sorted(shape.units))
    chosen.add(len(bounds) - 2)
    chosen.fill(1.0)
    return cut_of(source, bounds, chosen.units)


def hunk_bounds(text: str) -> tuple[Sequence[int], Sequence[int]]:
    """Units, and where headers begin: all lines of a file's header, the first line of a hunk."""
    bounds, headers = array("q", (0,)), array("q")
    for start, is_hunk in _headers(text):
        if start > bounds[-1]:
            bounds.append(start)
        headers.append(start)
        if is_hunk:
            bounds.append(text.find("\n", start) + 1 or len(text))
    if bounds[-1] < len(text):
        bounds.append(len(text))
    return bounds, headers


def _headers(text: str) -> Iterator[tuple[int, bool]]:
    """Where files and hunks begin, and which of the two; the `---` line of a header that has begun begins no other."""
    in_header = False
    first = _FIRST.match(text)
    for match in chain([first] if first is not None else (), matches_from(_LATER, text, "\n", _AHEAD)):
        is_hunk = match.lastindex == _HUNK
        if not (in_header and match.lastindex == _OLD_NAME):
            yield match.start() + (match is not first), is_hunk
        in_header = not is_hunk
