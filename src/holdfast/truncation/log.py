"""Keep what a log is read for: errors with their neighbours, what the question names, the beginning and the end.

A unit is an event: a line with the indented lines that follow it. Runs of lines that differ only in numbers are folded
to the first of them. Only the neighbourhood of what is interesting is ever split into lines, so size costs little.
"""

import re
from collections.abc import Iterable

from holdfast.truncation.cut import Cut, Inserted, Piece, Segment, Source, length, whole
from holdfast.truncation.notice import similar_lines
from holdfast.truncation.options import StrategyOptions
from holdfast.truncation.question import fold, hits_of, scores, terms
from holdfast.truncation.units import Chosen, cut_of, split_long, unit_at, widest_mark

ERROR_WORDS = ("error", "fail", "exception", "traceback", "fatal", "panic", "critical", "assert", "segfault")
_HARMLESS = re.compile(r"\b(?:0|no|without) (?:errors?|fail\w*)|\berrors?[=:] ?0\b|fail\w*[=:] ?0\b")
_MOST_FIRST, _MOST_LAST = 40, 20
_BEFORE, _AFTER, _MOST_INDENTED = 2, 2, 20
_FOLD_AT = 3
_PASSES = 2
_FULL = 0.6
_SHAPE = str.maketrans("123456789abcdefABCDEF", "0" * 21)


def log(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """The last lines, errors with their neighbours, what is asked for, then both ends as far as they fit."""
    if source.chars <= budget:
        return whole(source.chars)
    found = _Findings(source.text(0, source.chars), source.eol, options.question)
    best = found.cut(source, budget, budget, options.head_ratio)
    allowance = budget
    for _ in range(_PASSES):
        shown = length(best.pieces)
        if shown > _FULL * budget:
            break
        allowance = int(allowance * min(8.0, 0.95 * budget / max(shown, 1)))
        fuller = found.cut(source, allowance, budget, options.head_ratio)
        if not shown < length(fuller.pieces) <= budget:
            break
        best = fuller
    return best


class _Findings:
    """What is worth keeping of one log: found once, then cut to any budget."""

    def __init__(self, text: str, eol: str, question: str) -> None:
        self._text, self._eol = text, eol
        self._lowered = fold(text)
        self._wanted = terms(question)
        self._errors = error_lines(self._lowered, eol)
        asked = (at for term in self._wanted for at in hits_of(self._lowered, term, _MOST_FIRST))
        self._places = [*self._errors, *asked]

    def cut(self, source: Source, allowance: int, budget: int, head_ratio: float) -> Cut:
        """The cut of at most `allowance` characters before repeats are folded; they leave room for more."""
        text, eol = self._text, self._eol
        bounds = split_long(text, _bounds(text, eol, self._places, 2 * allowance), max(budget // 4, 64))
        chosen = Chosen(bounds, allowance, widest_mark(source))
        chosen.add(len(bounds) - 2)
        for at in self._errors:
            start, stop = event_round(text, at, eol)
            units = range(unit_at(bounds, start), unit_at(bounds, max(start, stop - 1)) + 1)
            chosen.add_all(units, 0.6 * budget / max(allowance, 1))
        found = scores(self._lowered, bounds, self._wanted)
        chosen.add_all(sorted(found, key=lambda unit: (-found[unit], unit)), 0.8 * budget / max(allowance, 1))
        chosen.fill(head_ratio / 2)
        return folded(cut_of(source, bounds, chosen.units), text, eol)


def error_lines(lowered: str, eol: str) -> list[int]:
    """Where lines with an error begin: the first of each word first, then the others, in the order of the text."""
    first: set[int] = set()
    more: set[int] = set()
    for word in ERROR_WORDS:
        hits = _some_hits(lowered, word)
        starts = [start for start in (lowered.rfind(eol, 0, at) + 1 for at in hits) if _is_error(lowered, start, eol)]
        first.update(starts[:1])
        more.update(starts)
    return [*sorted(first), *sorted(more - first)]


def _some_hits(lowered: str, word: str) -> list[int]:
    """All hits of a word, or the first and the last ones where there are many; one pass where there are few."""
    hits: list[int] = []
    at = lowered.find(word)
    while at >= 0:
        if len(hits) == _MOST_FIRST:
            return _first_and_last(lowered, word)
        hits.append(at)
        at = lowered.find(word, at + len(word))
    return hits


def _first_and_last(lowered: str, word: str) -> list[int]:
    """Some of many hits: the first and the last ones."""
    hits: list[int] = []
    at = lowered.find(word)
    while at >= 0 and len(hits) < _MOST_FIRST:
        hits.append(at)
        at = lowered.find(word, at + 200)
    at = lowered.rfind(word)
    while at >= 0 and len(hits) < _MOST_FIRST + _MOST_LAST:
        hits.append(at)
        at = lowered.rfind(word, 0, at)
    return hits


def _is_error(lowered: str, start: int, eol: str) -> bool:
    stop = lowered.find(eol, start)
    line = lowered[start : min(stop if stop >= 0 else len(lowered), start + 400)]
    return _HARMLESS.search(line) is None


def event_round(text: str, start: int, eol: str) -> tuple[int, int]:
    """The event whose line begins at `start`, with its neighbours: what led to it and what hangs on it."""
    first = start
    for _ in range(_BEFORE):
        first = text.rfind(eol, 0, max(0, first - 1)) + 1
    stop = _next_line(text, start, eol)
    for number in range(_MOST_INDENTED):
        if number >= _AFTER and text[stop : stop + 1] not in (" ", "\t"):
            break
        stop = _next_line(text, stop, eol)
    return first, stop


def _next_line(text: str, at: int, eol: str) -> int:
    stop = text.find(eol, at)
    return len(text) if stop < 0 else stop + 1


def _bounds(text: str, eol: str, places: Iterable[int], reach: int) -> list[int]:
    """Where lines begin near both ends and round interesting places; what lies between is never split."""
    starts = {0, len(text)}
    _add_starts(starts, text, 0, min(reach, len(text)), eol)
    _add_starts(starts, text, max(0, len(text) - reach), len(text), eol)
    for at in places:
        first, stop = event_round(text, text.rfind(eol, 0, at) + 1, eol)
        if stop - first < reach:
            starts.add(first)
            _add_starts(starts, text, first, stop, eol)
    return sorted(starts)


def _add_starts(starts: set[int], text: str, first: int, stop: int, eol: str) -> None:
    at = text.find(eol, first, stop)
    while at >= 0:
        starts.add(at + 1)
        at = text.find(eol, at + 1, stop)


def folded(cut: Cut, text: str, eol: str) -> Cut:
    """The same cut with runs of lines that differ only in numbers shown once, and counted."""
    pieces: list[Piece] = []
    for piece in cut.pieces:
        if isinstance(piece, Segment) and piece.part == "kept":
            pieces += _folded_lines(text, piece.start, piece.stop, eol)
        else:
            pieces.append(piece)
    return cut.replace(pieces=tuple(pieces))


def _shape(line: str) -> bytes:
    """What is left of a line without its digits; UTF-8 keeps them apart from all other characters."""
    return line.encode("utf-8", "surrogatepass").translate(None, b"0123456789abcdefABCDEF")


def _folded_lines(text: str, start: int, stop: int, eol: str) -> list[Piece]:
    pieces: list[Piece] = []
    kept_from = at = start
    while at < stop:
        after = min(stop, _next_line(text, at, eol))
        shape = _shape(text[at:after])
        end, count = after, 0
        while end < stop:
            further = min(stop, _next_line(text, end, eol))
            if _shape(text[end:further]) != shape:
                break
            end, count = further, count + 1
        if count >= _FOLD_AT and end - after > len(similar_lines(count)):
            pieces += [Segment("kept", kept_from, after), Inserted(similar_lines(count)), Segment("gap", after, end)]
            kept_from = end
        at = end
    if kept_from < stop:
        pieces.append(Segment("kept", kept_from, stop))
    return pieces
