"""Where the units of any text begin: elements of JSON, rows, log events, definitions, hunks, paragraphs, lines.

Owns: the unit of each kind of text, none longer than asked for where it can be split.
Must not know: which units are wanted. Units cover the text without holes: unit `i` is `bounds[i]` to `bounds[i + 1]`.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import merge
from itertools import chain, pairwise

from keepwhole.canonical.anchors import matches_from
from keepwhole.canonical.json_members import NotJson, members, root_span
from keepwhole.truncation.code import definition_bounds, definitions
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.diff import hunk_bounds
from keepwhole.truncation.lines import line_bounds, split_after
from keepwhole.truncation.paragraphs import bounds_of
from keepwhole.truncation.rows import record_bounds
from keepwhole.truncation.sniff import sniff

LONGEST = 800
"""Characters of a unit, unless something else is asked for."""
_ENDS = (("\n",), (". ", "? ", "! ", "。", "？", "！"), ("},", "], ", "}, ", ","), (" ",))
"""Where a long unit is split: after lines, else sentences, else members of data, else words."""
_SHORT = 120
"""Adjacent paragraphs shorter than this are one unit: a heading and what follows it."""
_TINY = 60
"""So are adjacent elements shorter than this."""
_MOST_WORK = 12
"""How often all of a text may be read, level by level; what is nested deeper is split like plain text."""
_EVENT = re.compile(r"\n(?=[^\s])")
_TAG = re.compile(r">\s*+(?=<[^/])")


def unit_bounds(text: str, kind: str | None = None, longest: int = LONGEST) -> Sequence[int]:
    """Where units begin, and where the text ends; `kind` is what `sniff` says where it is known already."""
    if len(text) <= _SHORT:
        return (0, len(text))
    source = TextSource(text)
    find = _FINDERS.get(kind or sniff(source), _paragraphs)
    return split_after(text, find(text, source.eol, longest), longest, *_ENDS)


def _paragraphs(text: str, eol: str, longest: int) -> list[int]:
    """Paragraphs, short ones joined with those that follow while they fit."""
    bounds = [0]
    for start, stop in pairwise(bounds_of(text, eol)):
        if start - bounds[-1] >= _SHORT or stop - bounds[-1] > longest:
            bounds.append(start)
    return [at for before, at in pairwise([-1, *bounds]) if at > before] + [len(text)]


def _events(text: str, eol: str, longest: int) -> Sequence[int]:
    """Lines, each with the indented ones that follow it."""
    if eol != "\n":
        return line_bounds(text, eol)
    return array("q", chain((0,), (match.end() for match in matches_from(_EVENT, text, "\n")), (len(text),)))


def _lines(text: str, eol: str, longest: int) -> Sequence[int]:
    return line_bounds(text, eol)


def _records(text: str, eol: str, longest: int) -> Sequence[int]:
    return record_bounds(text, eol, quoted=True)


def _definitions(text: str, eol: str, longest: int) -> Sequence[int]:
    """Whole definitions, each with the comments and decorators above it."""
    starts = definitions(text)
    _, signatures = definition_bounds(text, starts)
    return [0, *(at for at in signatures if 0 < at < len(text)), len(text)]


def _hunks(text: str, eol: str, longest: int) -> Sequence[int]:
    """Hunks with their headers."""
    bounds, headers = hunk_bounds(text)
    begin = set(headers)
    return [0, *(at for at in bounds[1:-1] if at in begin), len(text)]


def _elements(text: str, eol: str, longest: int) -> Sequence[int]:
    """The largest elements that fit, short adjacent ones joined; lines where the text is not JSON after all."""
    try:
        start, stop = root_span(text)
        found = _inside(text, start, stop, longest) if stop - start > longest else ()
    except NotJson:
        return line_bounds(text, eol)
    bounds = [0]
    for at in found:
        if at - bounds[-1] >= _TINY:
            bounds.append(at)
    return [*bounds, len(text)]


def _inside(text: str, start: int, stop: int, longest: int) -> Iterable[int]:
    """Where elements begin, in order; those that are too long are split further inside."""
    found: list[Sequence[int]] = []
    known: dict[int, int] = {}
    left, work = [(start, stop)], _MOST_WORK * len(text)
    while left and work > 0:
        start, stop = left.pop()
        work -= stop - start
        starts = array("q")
        found.append(starts)
        for member in members(text, start, stop, known):
            starts.append(member.start)
            if member.stop - member.value > longest and text[member.value] in "[{":
                left.append((member.value, member.stop))
    return merge(*found)


def _tags(text: str, eol: str, longest: int) -> Sequence[int]:
    """Before opening tags, joined while they fit."""
    bounds = [0]
    before = 0
    for match in matches_from(_TAG, text, ">"):
        if match.end() - bounds[-1] > longest // 2 and before > bounds[-1]:
            bounds.append(before)
        before = match.end()
    return [*bounds, len(text)]


_FINDERS: Mapping[str, Callable[[str, str, int], Sequence[int]]] = {
    "json": _elements,
    "xml": _tags,
    "csv": _records,
    "ndjson": _lines,
    "log": _events,
    "code": _definitions,
    "diff": _hunks,
    "search": _lines,
    "listing": _lines,
    "text": _paragraphs,
}
