"""Keep the shape of source code: imports, signatures, and whole the functions that the question names.

A unit is a definition: its signature with what stands above it, and its body. Found by the words that begin a
definition in common languages; a text without any is left to `head_tail`.
"""

import re

from holdfast.truncation.cut import Cut, Source, whole
from holdfast.truncation.head_tail import head_tail
from holdfast.truncation.options import StrategyOptions
from holdfast.truncation.question import fold, scores, terms
from holdfast.truncation.units import Chosen, cut_of, split_long, widest_mark

_DEFINITION = re.compile(
    r"\n[ \t]*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z]+\))?"
    r"|unsafe|virtual|override|inline|extern|const|sealed|partial|open|data|suspend)[ \t]+)*"
    r"(?:def|class|func|function|fn|impl|struct|enum|interface|trait|type|module|namespace|object|record|protocol|macro"
    r"|sub|proc|fun|val|test|describe|it)\b[ \t(*]",
)
_TYPED = re.compile(r"^[A-Za-z_][\w<>\[\]:,*&? \t]*[ \t*&]+[A-Za-z_]\w*[ \t]*\([^;\n]*\)[^;\n]*\{[ \t]*$", re.M)
_LEAST = 3
_NAMED = 3
"""A definition whose own name is asked for counts this much more than one that mentions it."""
_NEAR = 3


def code(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """Signatures of everything, bodies of what is asked for, then bodies from the top as far as they fit."""
    if source.chars <= budget:
        return whole(source.chars)
    text = source.text(0, source.chars)
    starts = definitions(text)
    if len(starts) < _LEAST:
        return head_tail(source, budget, options)
    bounds, signatures = _bounds(text, starts)
    wanted = terms(options.question)
    found = scores(fold(text), bounds, wanted) if wanted else {}
    found = {unit: score * (_NAMED if unit in set(signatures) else 1) for unit, score in found.items()}
    bounds_split = split_long(text, bounds, max(budget // 3, 64))
    if len(bounds_split) != len(bounds):
        signature_starts = {bounds[unit] for unit in signatures}
        scored = {bounds[unit]: score for unit, score in found.items()}
        bounds = bounds_split
        signatures = [unit for unit, start in enumerate(bounds[:-1]) if start in signature_starts]
        found = {unit: scored[start] for unit, start in enumerate(bounds[:-1]) if start in scored}
    chosen = Chosen(bounds, budget, widest_mark(source))
    is_signature = set(signatures)
    for unit in sorted(found, key=lambda unit: (-found[unit], unit))[:8]:
        own = unit if unit in is_signature else _own_signature(unit, is_signature)
        chosen.add_all([own, *_body_of(own, is_signature, len(bounds) - 1)], 0.6)
    chosen.add_all(signatures, 0.85)
    chosen.fill(1.0)
    return cut_of(source, bounds, chosen.units)


def definitions(text: str) -> list[int]:
    """Where lines that begin a definition begin, in order."""
    found = {match.start() + 1 for match in _DEFINITION.finditer(text)}
    if _DEFINITION.match("\n" + text[:400]):
        found.add(0)
    if len(found) < _LEAST:
        found |= {match.start() for match in _TYPED.finditer(text)}
    return sorted(found)


def _bounds(text: str, starts: list[int]) -> tuple[list[int], list[int]]:
    """Units and the numbers of those that are signatures: what stands above a definition belongs to it."""
    bounds = [0]
    signatures: list[int] = []
    for start in starts:
        above = _above(text, start, bounds[-1])
        stop = text.find("\n", start) + 1 or len(text)
        if above > bounds[-1]:
            bounds.append(above)
        signatures.append(len(bounds) - 1)
        bounds.append(stop)
    if bounds[-1] < len(text):
        bounds.append(len(text))
    return bounds, signatures


def _above(text: str, start: int, lowest: int) -> int:
    """The decorators and comment lines right above a definition."""
    for _ in range(_NEAR):
        line = text.rfind("\n", 0, max(0, start - 1)) + 1
        if line < lowest or line == start or text[line:start].lstrip()[:1] not in ("@", "#", "/", "*"):
            break
        start = line
    return start


def _own_signature(unit: int, signatures: set[int]) -> int:
    while unit > 0 and unit not in signatures:
        unit -= 1
    return unit


def _body_of(signature: int, signatures: set[int], units: int) -> list[int]:
    body: list[int] = []
    unit = signature + 1
    while unit < units and unit not in signatures:
        body.append(unit)
        unit += 1
    return body
