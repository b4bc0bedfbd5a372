"""Paragraphs of plain text that a question is about.

A unit is a paragraph: lines up to an empty one, or a handful of lines where there are none. Where paragraphs are long
for the room there is, the sentences that are asked for come first and the rest of their paragraphs after.
"""

import itertools
from bisect import bisect_left
from collections.abc import Sequence

from holdfast.truncation.cut import Source
from holdfast.truncation.lines import line_bounds, split_after
from holdfast.truncation.question import fold, scores, terms
from holdfast.truncation.units import Chosen, unit_at, widest_mark

_LARGEST = 16_000_000
_TOGETHER = 5
_SHORTEST, _LONG = 80, 240
_LEAST, _MOST = 160, 2_000
"""How long a unit is at most, as the room allows."""
_ENDS = ((". ", "? ", "! ", ".\n", "。", "？", "！"), ("\n",), (" ",))
"""Where a long unit is split: after sentences, else lines, else words."""
_ROUND = 3


def asked_for(source: Source, budget: int, question: str) -> list[tuple[int, int]]:
    """The paragraphs that share rare words with the question, best first while they fit, then in order."""
    wanted = terms(question)
    if not wanted or source.chars > _LARGEST:
        return []
    text = source.text(0, source.chars)
    paragraphs = bounds_of(text, source.eol)
    longest = max(64, min(_MOST, max(_LEAST, budget // 5), budget // 2))
    bounds = split_after(text, paragraphs, longest, *_ENDS)
    found = scores(fold(text), bounds, wanted)
    enough = max(found.values(), default=0) / 3
    ranked = sorted((unit for unit in found if found[unit] >= enough), key=lambda unit: (-found[unit], unit))
    chosen = Chosen(bounds, budget, widest_mark(source))
    for unit in ranked:
        chosen.add(unit)
    for unit in ranked:
        chosen.add_all(_rest_of_paragraph(unit, bounds, paragraphs))
    return [(bounds[unit], bounds[unit + 1]) for unit in sorted(chosen.units)]


def bounds_of(text: str, eol: str) -> list[int]:
    """Where paragraphs begin, and where the text ends."""
    starts = line_bounds(text, eol)
    bounds = [0]
    since = 0
    for before, at in itertools.pairwise(starts):
        since += 1
        blank = not text[before:at].strip()
        if blank or at - bounds[-1] >= (_SHORTEST if since >= _TOGETHER else _LONG):
            bounds.append(at)
            since = 0
    return [*bounds, len(text)] if text else [0]


def _rest_of_paragraph(unit: int, bounds: Sequence[int], paragraphs: Sequence[int]) -> list[int]:
    """The units next to one in its paragraph, nearest first."""
    paragraph = unit_at(paragraphs, bounds[unit])
    first = max(unit - _ROUND, bisect_left(bounds, paragraphs[paragraph]))
    stop = min(unit + _ROUND + 1, bisect_left(bounds, paragraphs[paragraph + 1]))
    return sorted(range(first, stop), key=lambda near: abs(near - unit))
