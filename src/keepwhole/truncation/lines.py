"""Keep whole lines, the first, the last or both: for text in which half a line says nothing."""

from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise

from keepwhole.truncation.cut import Cut, Source, whole
from keepwhole.truncation.edges import whole_before
from keepwhole.truncation.strategy import StrategyOptions
from keepwhole.truncation.units import ChosenUnits, cut_of, longest_unit, split_long, widest_mark

_WINDOW = 1
_PIECE = 16_384


def lines(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """Complete lines only; as many as fit, or `max_lines`, from the side that is asked for."""
    most = options.max_lines
    if source.chars <= budget and (most is None or source.lines <= most):
        return whole(source.chars)
    reach = min(source.chars, max(budget, 1) * _WINDOW)
    bounds, middle = _bounds(source, reach)
    chosen = ChosenUnits(bounds, budget, widest_mark(source))
    units = [unit for unit in range(len(bounds) - 1) if unit != middle]
    for unit in _ordered(units, options.side, options.head_ratio):
        if (most is not None and len(chosen.units) >= most) or not chosen.add(unit):
            break
    return cut_of(source, bounds, chosen.units)


def line_bounds(text: str, eol: str, base: int = 0) -> Sequence[int]:
    """Where lines begin, and where the text ends; `base` is where the text itself begins."""
    bounds = array("q", (base,))
    for at in range(0, len(text), _PIECE):
        bounds += array("q", after_ends(text[at : at + _PIECE], eol, base + at))
    if bounds[-1] != base + len(text):
        bounds.append(base + len(text))
    return bounds


def split_after(text: str, bounds: Sequence[int], longest: int, *ends: tuple[str, ...]) -> Sequence[int]:
    """The same units, those that are too long split after the last end that fits; the first kind of end is best."""
    if longest_unit(bounds) <= longest:
        return bounds
    there = [[end for end in alike if end in text] for alike in ends]
    is_whole_anywhere = text.isascii() and "\r" not in text
    finer = array("q")
    for start, stop in pairwise(bounds):
        finer.append(start)
        while stop - start > longest:
            at = _last_end(text, start, start + longest, there)
            at = at if is_whole_anywhere else whole_before(text, at, start, longest)
            if at <= start:
                break
            finer.append(at)
            start = at
    finer.append(bounds[-1])
    return split_long(text, finer, longest)


def _last_end(text: str, start: int, stop: int, ends: Sequence[Sequence[str]]) -> int:
    """Behind the last of the best kind of ends between two places; 0 where there is none."""
    for alike in ends:
        best = 0
        for end in alike:
            at = text.rfind(end, start, stop)
            if at >= 0:
                start, best = at, max(best, at + len(end))
        if best:
            return best
    return 0


def after_ends(part: str, eol: str, base: int) -> list[int]:
    """The places after line ends. `splitlines` is quickest, where it knows of no other ends than `eol`."""
    lines = part.splitlines(keepends=True)
    if len(lines) == part.count(eol) + (not part.endswith(eol)):
        found = list(accumulate(map(len, lines), initial=base))
        return found[1:] if part.endswith(eol) else found[1:-1]
    return list(accumulate(map((1).__add__, map(len, part.split(eol))), initial=base))[1:-1]


def _bounds(source: Source, reach: int) -> tuple[Sequence[int], int]:
    """Where lines begin near both ends, and the number of the unit between them that is never split; -1 for none."""
    if reach >= source.chars:
        return line_bounds(source.text(0, source.chars), source.eol), -1
    first = line_bounds(source.text(0, reach), source.eol)[:-1]
    base = source.chars - reach
    last = [at for at in line_bounds(source.text(base, source.chars), source.eol, base)[1:] if at > first[-1]]
    return [*first, *last], len(first) - 1


def _ordered(units: list[int], side: str, head_ratio: float) -> list[int]:
    """The units in the order in which they are wanted."""
    if side == "tail":
        return units[::-1]
    if side != "both":
        return units
    ordered: list[int] = []
    front, back = 0, len(units) - 1
    while front <= back:
        if front <= head_ratio * len(ordered):
            ordered.append(units[front])
            front += 1
        else:
            ordered.append(units[back])
            back -= 1
    return ordered
