"""Paragraphs of plain text that a question is about.

A unit is a paragraph: lines up to an empty one. Of a long one some sentences are a unit, else some lines, else some
words; those that are asked for come first and the rest of their paragraphs after.
"""

import re
from array import array
from collections.abc import Iterator, Sequence

from keepwhole.canonical.anchors import matches_from
from keepwhole.truncation.cut import Source
from keepwhole.truncation.lines import split_after
from keepwhole.truncation.question import fold, scores, terms
from keepwhole.truncation.units import ChosenUnits, widest_mark

_LARGEST = 16_000_000
_LEAST, _MOST = 160, 400
"""How long a unit is at most, as the room allows."""
_ENDS = ((". ", "? ", "! ", ".\n", "。", "？", "！"), ("\n",), (" ",))
"""Where a long unit is split: after sentences, else lines, else words."""
_EMPTY_LINE = ("\n\n", "\n\r\n", "\r\r")
_ROUND = 3
_BLANK = {"\n": re.compile(r"\n[^\S\n]*+(?=\n)"), "\r": re.compile(r"\r[^\S\r]*+(?=\r)")}
"""An empty line with the end of the line before it, by the sign that ends lines."""


def asked_for(source: Source, budget: int, question: str) -> list[tuple[int, int]]:
    """The paragraphs that share rare words with the question, best first while they fit, then in order."""
    wanted = terms(question)
    if not wanted or source.chars > _LARGEST:
        return []
    text = source.text(0, source.chars)
    longest = max(64, min(_MOST, max(_LEAST, budget // 5), budget // 2))
    bounds = split_after(text, bounds_of(text, source.eol), longest, *_ENDS)
    found = scores(fold(text), bounds, wanted)
    enough = max(found.values(), default=0) / 3
    ranked = sorted((unit for unit in found if found[unit] >= enough), key=lambda unit: (-found[unit], unit))
    chosen = ChosenUnits(bounds, budget, widest_mark(source))
    for unit in ranked:
        chosen.add(unit)
    for unit in ranked:
        chosen.add_all(_rest_of_paragraph(unit, text, bounds))
    return [(bounds[unit], bounds[unit + 1]) for unit in sorted(chosen.units)]


def bounds_of(text: str, eol: str) -> Sequence[int]:
    """Where paragraphs begin, after an empty line, and where the text ends."""
    bounds = array("q", (0,))
    first = text.find(eol)
    if first >= 0 and not text[:first].strip():
        bounds.append(first + 1)
    bounds.extend(match.end() + 1 for match in matches_from(_BLANK[eol], text, eol))
    if bounds[-1] < len(text):
        bounds.append(len(text))
    return bounds


def _rest_of_paragraph(unit: int, text: str, bounds: Sequence[int]) -> Iterator[int]:
    """The units after and before one, up to an empty line."""
    for after in range(unit, min(unit + _ROUND, len(bounds) - 2)):
        if text.endswith(_EMPTY_LINE, 0, bounds[after + 1]):
            break
        yield after + 1
    for before in range(unit, max(unit - _ROUND, 0), -1):
        if text.endswith(_EMPTY_LINE, 0, bounds[before]):
            break
        yield before - 1
