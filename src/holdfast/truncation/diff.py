"""Keep the shape of a diff: every file, every hunk's header, and whole the hunks that fit or are asked for."""

import re
from bisect import bisect_right

from holdfast.truncation.cut import Cut, Source, whole
from holdfast.truncation.head_tail import head_tail
from holdfast.truncation.options import StrategyOptions
from holdfast.truncation.question import fold, scores, terms
from holdfast.truncation.units import Chosen, cut_of, split_long, widest_mark

_FILE = re.compile(r"^(?:diff --git .*|Index: .*|--- \S.*(?=\n\+\+\+ ))", re.M)
_HUNK = re.compile(r"^@@.*@@.*$|^\*{15}$|^\d+(?:,\d+)?[acd]\d+(?:,\d+)?$", re.M)


def diff(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """File and hunk headers first, then hunks: those asked for, then in order."""
    if source.chars <= budget:
        return whole(source.chars)
    text = source.text(0, source.chars)
    bounds, headers = _bounds(text)
    if not headers:
        return head_tail(source, budget, options)
    header_starts = {bounds[unit] for unit in headers}
    bounds = split_long(text, bounds, max(budget // 3, 64))
    headers = [unit for unit, start in enumerate(bounds[:-1]) if start in header_starts]
    chosen = Chosen(bounds, budget, widest_mark(source))
    found = scores(fold(text), bounds, terms(options.question)) if options.question else {}
    for unit in sorted(found, key=lambda unit: (-found[unit], unit))[:8]:
        chosen.add_all([unit - 1, unit] if unit - 1 in headers else [unit], 0.5)
    chosen.add_all(headers, 0.8)
    chosen.fill(1.0)
    return cut_of(source, bounds, chosen.units)


def _bounds(text: str) -> tuple[list[int], list[int]]:
    """Units, and the numbers of those that are headers: all lines of a file's header, the first line of a hunk."""
    hunks = [match.start() for match in _HUNK.finditer(text)]
    files = _file_starts(text, hunks)
    is_hunk = set(hunks)
    bounds = [0]
    headers: list[int] = []
    for start in sorted({*files, *hunks}):
        if start > bounds[-1]:
            bounds.append(start)
        headers.append(len(bounds) - 1)
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
