"""Paragraphs of plain text that a question is about.

A unit is a paragraph: lines up to an empty one. Of a long one some sentences are a unit, else some lines, else some
words; those that are asked for come first and the rest of their paragraphs after.
"""

import re
from collections.abc import Iterator, Sequence

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
_BLANK = re.compile(r"^[^\S\n]*+\n", re.M)
_BLANK_BY_CR = re.compile(r"(?:(?<=\r)|\A)[^\S\r]*+\r")


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


def bounds_of(text: str, eol: str) -> list[int]:
    """Where paragraphs begin, after an empty line, and where the text ends."""
    blank = _BLANK if eol == "\n" else _BLANK_BY_CR
    begin = [match.end() for match in blank.finditer(text)]
    if begin and begin[-1] == len(text):
        begin.pop()
    return [0, *begin, len(text)] if text else [0]


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
