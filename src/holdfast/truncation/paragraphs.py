"""Paragraphs of plain text that a question is about.

A unit is a paragraph: lines up to an empty one, or a handful of lines where there are none.
"""

import itertools

from holdfast.truncation.cut import Source
from holdfast.truncation.lines import line_bounds
from holdfast.truncation.question import fold, scores, terms
from holdfast.truncation.units import Chosen, split_long, widest_mark

_LARGEST = 16_000_000
_TOGETHER = 5
_SHORTEST = 80


def asked_for(source: Source, budget: int, question: str) -> list[tuple[int, int]]:
    """The paragraphs that share rare words with the question, best first while they fit, then in order."""
    wanted = terms(question)
    if not wanted or source.chars > _LARGEST:
        return []
    text = source.text(0, source.chars)
    bounds = split_long(text, bounds_of(text, source.eol), max(64, min(2_000, budget // 2)))
    found = scores(fold(text), bounds, wanted)
    best = max(found.values(), default=0)
    chosen = Chosen(bounds, budget, widest_mark(source))
    for unit in sorted(found, key=lambda unit: (-found[unit], unit)):
        if found[unit] < best / 3:
            break
        chosen.add(unit)
    return [(bounds[unit], bounds[unit + 1]) for unit in sorted(chosen.units)]


def bounds_of(text: str, eol: str) -> list[int]:
    """Where paragraphs begin, and where the text ends."""
    starts = line_bounds(text, eol)
    bounds = [0]
    since = 0
    for before, at in itertools.pairwise(starts):
        since += 1
        blank = not text[before:at].strip()
        if blank or (since >= _TOGETHER and at - bounds[-1] >= _SHORTEST):
            bounds.append(at)
            since = 0
    return [*bounds, len(text)] if text else [0]
