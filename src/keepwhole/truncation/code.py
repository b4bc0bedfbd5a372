"""Keep the shape of source code: imports, signatures, and whole the functions that the question names.

A unit is a definition: its signature with what stands above it, and its body. Found by the words that begin a
definition in common languages; a text without any is left to `head_tail`.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from keepwhole.canonical.anchors import matches_from
from keepwhole.truncation.cut import Cut, Source, whole
from keepwhole.truncation.head_tail import head_tail
from keepwhole.truncation.lines import split_after
from keepwhole.truncation.question import fold, scores, terms
from keepwhole.truncation.strategy import StrategyOptions
from keepwhole.truncation.units import ChosenUnits, cut_of, widest_mark

_DEFINITION = re.compile(
    r"\n[ \t]*+(?>(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z]+\))?"
    r"|unsafe|virtual|override|inline|extern|const|sealed|partial|open|data|suspend)[ \t]++){0,20})"
    r"(?:def|class|func|function|fn|impl|struct|enum|interface|trait|type|module|namespace|object|record|protocol|macro"
    r"|sub|proc|fun|val|test|describe|it)\b[ \t(*]",
)
_TYPED = re.compile(r"\n([A-Za-z_][\w<>\[\]:,*&? \t]{0,2000}+)\(([^;\n]{0,2000}+)$", re.M)
"""A line that may begin a function in C and its like: what stands before its first parenthesis, and the rest."""
_NAME = re.compile(r"[ \t*&](?=[A-Za-z_])\w++[ \t]*+\Z")
_LONGEST_LINE = 4_096
"""A longer line begins no definition, as far as it is looked at."""
_LEAST = 3
_NAMED = 3
"""A definition whose own name is asked for counts this much more than one that mentions it."""
_NEAR = 3
_ABOVE = ("@", "#", "/", "*")
"""How decorators and comments begin."""
_MOST_ASKED = 8
_LONGEST = 600
"""A body longer than this is several units, so that a part of it can be asked for."""
_ASKED, _SHAPE = 0.6, 0.7
"""How much of the room bodies that are asked for may take, and signatures."""


def code(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """Bodies of what is asked for, signatures, then the end and bodies from the top as far as they fit."""
    if source.chars <= budget:
        return whole(source.chars)
    text = source.text(0, source.chars)
    starts = definitions(text)
    if len(starts) < _LEAST:
        return head_tail(source, budget, options)
    bounds, named = definition_bounds(text, starts)
    bounds = split_after(text, bounds, max(64, min(_LONGEST, budget // 8)), ("\n",))
    signatures = array("q", (bisect_left(bounds, start) for start in named))
    chosen, shape = (ChosenUnits(bounds, int(budget * share), widest_mark(source)) for share in (1, _SHAPE))
    for unit in _asked_for(text, bounds, named, options.question):
        next_one = bisect_right(signatures, unit)
        own = signatures[next_one - 1] if next_one else 0
        stop = signatures[next_one] if next_one < len(signatures) else len(bounds) - 1
        chosen.add_all([own, unit, *range(own, stop)], _ASKED)
    shape.add_all(signatures)
    chosen.add_all(sorted(shape.units))
    chosen.add(len(bounds) - 2)
    chosen.fill(1.0)
    return cut_of(source, bounds, chosen.units)


def _asked_for(text: str, bounds: Sequence[int], named: Sequence[int], question: str) -> list[int]:
    """The units that a question is about, best first; a definition whose name is asked for before one that uses it."""
    found = scores(fold(text), bounds, terms(question)) if question else {}
    worth = {unit: score * (_NAMED if is_among(bounds[unit], named) else 1) for unit, score in found.items()}
    return sorted(worth, key=lambda unit: (-worth[unit], unit))[:_MOST_ASKED]


def definitions(text: str) -> Sequence[int]:
    """Where lines that begin a definition begin, in order."""
    first = "\n" + text[: _LONGEST_LINE if (end := text.find("\n", 0, _LONGEST_LINE)) < 0 else end]
    found = array("q", (0,) if _DEFINITION.match(first) else ())
    found.extend(match.start() + 1 for match in matches_from(_DEFINITION, text, "\n"))
    if len(found) >= _LEAST:
        return found
    typed = array("q", (0,) if (begun := _TYPED.match(first)) and _is_typed(*begun.groups()) else ())
    typed.extend(match.start() + 1 for match in matches_from(_TYPED, text, "\n") if _is_typed(*match.groups()))
    for start in found:
        if not is_among(start, typed):
            typed.insert(bisect_left(typed, start), start)
    return typed


def is_among(at: int, places: Sequence[int]) -> bool:
    """Whether a place is one of these, which are in order."""
    number = bisect_left(places, at)
    return number < len(places) and places[number] == at


def _is_typed(before: str, rest: str) -> bool:
    """Whether a name follows a type before the parenthesis, and a body opens after the one that closes it."""
    return rest.rstrip(" \t").endswith("{") and ")" in rest and _NAME.search(before, 1) is not None


def definition_bounds(text: str, starts: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """Units, and where those begin that are signatures, in order: what stands above a definition belongs to it."""
    bounds, signatures = array("q", (0,)), array("q")
    last, signature = 0, -1
    for start in starts:
        above = _above(text, start, last)
        if above > last:
            bounds.append(last := above)
        if signature < last:
            signatures.append(signature := last)
        last = text.find("\n", start) + 1 or len(text)
        bounds.append(last)
    if last < len(text):
        bounds.append(len(text))
    return bounds, signatures


def _above(text: str, start: int, lowest: int) -> int:
    """The decorators and comment lines right above a definition."""
    for _ in range(_NEAR):
        line = text.rfind("\n", 0, max(0, start - 1)) + 1
        if line < lowest or line == start or not text[line:start].lstrip().startswith(_ABOVE):
            break
        start = line
    return start
