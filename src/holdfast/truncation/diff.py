"""Keep the shape of a diff: every file, every hunk's header, and whole the hunks that fit or are asked for."""

import re
from bisect import bisect_right

from holdfast.truncation.cut import Cut, Source, whole
from holdfast.truncation.head_tail import head_tail
from holdfast.truncation.lines import split_after
from holdfast.truncation.options import StrategyOptions
from holdfast.truncation.question import fold, scores, terms
from holdfast.truncation.units import Chosen, cut_of, widest_mark

_FILE = re.compile(r"^(?:diff --git .*|Index: .*|--- \S.*(?=\n\+\+\+ ))", re.M)
_HUNK = re.compile(r"^@@.*@@.*$|^\*{15}$|^\d+(?:,\d+)?[acd]\d+(?:,\d+)?$", re.M)
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
    bounds, begin = _bounds(text)
    if not begin:
        return head_tail(source, budget, options)
    bounds = split_after(text, bounds, max(64, min(_LONGEST, budget // 8)), ("\n",))
    headers = [unit for unit, start in enumerate(bounds[:-1]) if start in begin]
    chosen, shape = (Chosen(bounds, int(budget * share), widest_mark(source)) for share in (1, _SHAPE))
    found = scores(fold(text), bounds, terms(options.question)) if options.question else {}
    for unit in sorted(found, key=lambda unit: (-found[unit], unit))[:_MOST_ASKED]:
        chosen.add_all([unit, *headers[max(0, bisect_right(headers, unit) - 1) :][:1]], _ASKED)
    shape.add_all(headers)
    chosen.add_all(sorted(shape.units))
    chosen.add(len(bounds) - 2)
    chosen.fill(1.0)
    return cut_of(source, bounds, chosen.units)


def _bounds(text: str) -> tuple[list[int], set[int]]:
    """Units, and where those begin that are headers: all lines of a file's header, the first line of a hunk."""
    hunks = [match.start() for match in _HUNK.finditer(text)]
    files = _file_starts(text, hunks)
    is_hunk = set(hunks)
    bounds = [0]
    headers = {*files, *hunks}
    for start in sorted(headers):
        if start > bounds[-1]:
            bounds.append(start)
        if start in is_hunk:
            bounds.append(text.find("\n", start) + 1 or len(text))
    if bounds[-1] < len(text):
        bounds.append(len(text))
    return bounds, headers


def _file_starts(text: str, hunks: list[int]) -> list[int]:
    """Where files begin; the `---` line of a header that began with `diff --git` begins no other."""
    starts: list[int] = []
    for match in _FILE.finditer(text):
        if text.startswith("---", match.start()) and starts:
            after = bisect_right(hunks, starts[-1])
            if after == len(hunks) or hunks[after] >= match.start():
                continue
        starts.append(match.start())
    return starts
