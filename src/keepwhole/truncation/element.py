"""Keep elements: of JSON and XML by structure, of plain text line by line, grouped as listings and searches are.

What is left of JSON parses and what is left of XML is well-formed. Where a text is neither, a line is an element:
the first of every folder in a listing, the first matches of every file in a search. Of a line that is too long, its
beginning (the name of its file) and the place of the match are elements, and so are pieces of the rest.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise, zip_longest

from keepwhole.canonical.json_members import NotJson
from keepwhole.truncation.broken_json import cut_broken
from keepwhole.truncation.cut import Cut, Source, behind, nothing, whole
from keepwhole.truncation.edges import whole_before
from keepwhole.truncation.head_tail import head_tail
from keepwhole.truncation.json_element import JsonCut
from keepwhole.truncation.lines import line_bounds
from keepwhole.truncation.question import fold, literals, scores, terms
from keepwhole.truncation.sniff import preface
from keepwhole.truncation.strategy import StrategyOptions
from keepwhole.truncation.units import ChosenUnits, cut_of, longest_unit, widest_mark
from keepwhole.truncation.xml_element import NotXml, XmlCut

_LARGEST = 64_000_000
_SAMPLE, _LINES, _WIDTH = 16_384, 30, 160
"""Lines are judged by the first ones, and these by their beginnings."""
_BEGINNING, _BEFORE, _AFTER, _PIECE = 160, 120, 280, 400
"""Of a line that is too long: characters of its beginning, around its match, and of the pieces of the rest."""
_MATCH = re.compile(r"[^\s:|][^:\n|]*(?<=[/.\\\w])[:-]\d+[:-]|[\w./-]+\.\w{1,6}:\d+")
_ONE_FILE = re.compile(r"\n{1,1000}+|([^:\n]*)[^\n]*(?>(?:\n\1:[^\n]*){0,1000})\n?")
_ONE_FOLDER = re.compile(r"((?:[^\n]*/(?=[^/\n]))?)[^\n]*(?>(?:\n\1[^/\n]*/?(?![^\n])){0,1000})\n?")
"""Many lines of a run at once: a pattern goes through them much faster than a loop."""


def element(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """Elements within the budget, by whatever structure the text has."""
    if source.chars <= budget:
        return whole(source.chars)
    if source.chars > _LARGEST:
        return head_tail(source, budget, options)
    text = source.text(0, source.chars)
    wanted = terms(options.question)
    try:
        cut = _json(text, budget, wanted, options)
    except NotJson:
        try:
            cut = XmlCut(text, wanted, options.max_depth).cut(budget)
        except NotXml:
            cut = _by_group(source, text, budget, wanted, options)
    return cut if cut is not None else nothing(source.chars)


def _json(text: str, budget: int, wanted: Iterable[str], options: StrategyOptions) -> Cut | None:
    """JSON by its structure, also where it is broken off; what a shell's wrapper says before it is kept."""

    def cut_json(text: str, budget: int) -> Cut | None:
        return JsonCut(text, wanted, options.max_depth, frozenset(options.keep_keys)).cut(budget)

    try:
        return cut_json(text, budget)
    except NotJson:
        skip = preface(text)
        if skip >= budget:
            raise
        try:
            cut = cut_json(text[skip:], budget - skip)
        except NotJson:
            cut = cut_broken(text[skip:], budget - skip, cut_json)
        return None if cut is None else behind(cut, skip)


def _by_group(source: Source, text: str, budget: int, wanted: dict[str, float], options: StrategyOptions) -> Cut | None:
    """As many lines of each group as fit for all groups alike, in their order."""
    lines = line_bounds(text, source.eol)
    rounds = zip_longest(*_groups(text, budget, len(lines) - 1), fillvalue=-1)
    bounds = lines
    longest = max(64, min(options.line_cap, budget // 4))
    if longest_unit(lines) > longest:
        split = _SplitLines(text, lines, longest, (*literals(options.pattern), *wanted))
        bounds, rounds = split.bounds, map(split.units_of, rounds)
    chosen = ChosenUnits(bounds, budget, widest_mark(source))
    if wanted:
        found = scores(fold(text), bounds, wanted)
        chosen.add_all(sorted(found, key=lambda unit: (-found[unit], unit)), 0.5)
    chosen.add_rounds(rounds)
    chosen.fill(options.head_ratio)
    return cut_of(source, bounds, chosen.units) if chosen.units else None


class _SplitLines:
    """Lines as units; those that are too long are several."""

    def __init__(self, text: str, lines: Sequence[int], longest: int, words: Sequence[str]) -> None:
        self.bounds = array("q")
        self._first = array("q")
        self._matched: dict[int, int] = {}
        """The unit with the match, by the line that is too long."""
        for line, (start, stop) in enumerate(pairwise(lines)):
            self._first.append(len(self.bounds))
            self.bounds.append(start)
            if stop - start > longest:
                place = _place_of(words, text, start + _BEGINNING, stop)
                for at in _pieces(start, stop, place):
                    split = whole_before(text, at, self.bounds[-1], _PIECE)
                    if self.bounds[-1] < split < stop:
                        self.bounds.append(split)
                    if self.bounds[-1] <= place:
                        self._matched[line] = len(self.bounds) - 1
        self.bounds.append(lines[-1])

    def units_of(self, lines: Iterable[int]) -> Iterator[int]:
        """The units that are shown of these lines: all of a line, or its beginning and its match."""
        for line in lines:
            if line >= 0:
                yield self._first[line]
                if line in self._matched:
                    yield self._matched[line]


def _pieces(start: int, stop: int, place: int) -> Iterable[int]:
    """Where a long line is split: after its beginning, around the match, and in between."""
    begin = start + _BEGINNING
    if place < 0:
        return range(begin, stop, _PIECE)
    before, after = max(begin, place - _BEFORE), place + _AFTER
    return chain(range(begin, before, _PIECE), (before,), range(after, stop, _PIECE))


def _place_of(words: Iterable[str], text: str, start: int, stop: int) -> int:
    """Where the first of these words that a long line has stands in it, behind its beginning; -1 for nowhere."""
    folded = fold(text[start:stop]) if words else ""
    return next((start + at for word in words if (at := folded.find(word)) >= 0), -1)


def _groups(text: str, budget: int, count: int) -> Iterable[Sequence[int]]:
    """The lines of each group, by their numbers; no groups where their names alone take more than the budget."""
    runs = _runs_in(text)
    if runs is None:
        return (range(count),)
    groups: dict[str, array[int]] = {}  # of plain numbers: a million lines may be as many runs
    room, stop = budget, 0
    for run in runs.finditer(text):
        name, start = run[1] or "", stop
        at, end = run.span()
        stop = min(count, start + text.count("\n", at, end) + (end == len(text)))
        if name not in groups:
            groups[name] = array("I")
            room -= len(name)
            if room < 0:
                return ()
        groups[name].extend(range(start, stop))
    return groups.values()


def _runs_in(text: str) -> re.Pattern[str] | None:
    """What finds lines that belong together, by the file in a search and by the folder in a listing; None elsewhere."""
    lines = [line[:_WIDTH] for line in text[:_SAMPLE].split("\n")[:_LINES] if line.strip()]
    if sum(_MATCH.match(line) is not None for line in lines) >= max(1, 0.5 * len(lines)):
        return _ONE_FILE
    return _ONE_FOLDER if sum("/" in line for line in lines) >= max(1, 0.5 * len(lines)) else None
