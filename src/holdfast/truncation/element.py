"""Keep elements: of JSON and XML by structure, of plain text line by line, grouped as listings and searches are.

What is left of JSON parses and what is left of XML is well-formed. Where a text is neither, a line is an element:
the first of every folder in a listing, the first matches of every file in a search.
"""

from array import array
from collections.abc import Callable

from holdfast.truncation.cut import Cut, Source, nothing, whole
from holdfast.truncation.head_tail import head_tail
from holdfast.truncation.json_element import JsonCut
from holdfast.truncation.json_spans import NotJson
from holdfast.truncation.lines import line_bounds
from holdfast.truncation.options import StrategyOptions
from holdfast.truncation.question import fold, scores, terms
from holdfast.truncation.sniff import group_of
from holdfast.truncation.units import Chosen, cut_of, widest_mark
from holdfast.truncation.xml_element import NotXml, XmlCut

_LARGEST = 64_000_000


def element(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """Elements within the budget, by whatever structure the text has."""
    if source.chars <= budget:
        return whole(source.chars)
    if source.chars > _LARGEST:
        return head_tail(source, budget, options)
    text = source.text(0, source.chars)
    wanted = tuple(terms(options.question))
    try:
        cut = JsonCut(text, wanted, options.max_depth, frozenset(options.keep_keys)).cut(budget)
    except NotJson:
        try:
            cut = XmlCut(text, wanted, options.max_depth).cut(budget)
        except NotXml:
            cut = _by_group(source, text, budget, options)
    return cut if cut is not None else nothing(source.chars)


def _by_group(source: Source, text: str, budget: int, options: StrategyOptions) -> Cut | None:
    """As many lines of each group as fit for all groups alike, in their order."""
    bounds = line_bounds(text, source.eol)
    group = group_of(text)
    groups: dict[str, array[int]] = {}
    for unit in range(len(bounds) - 1):
        groups.setdefault(group(text[bounds[unit] : bounds[unit + 1]]), array("q")).append(unit)
        if len(groups) > budget:
            groups.clear()
            break
    mark = widest_mark(source)
    if options.question:
        found = scores(fold(text), bounds, terms(options.question))
        best = sorted(found, key=lambda unit: (-found[unit], unit))
    else:
        best = []

    def chosen_with(each: int) -> Chosen | None:
        chosen = Chosen(bounds, budget, mark)
        chosen.add_all(best, 0.5)
        for units in groups.values():
            if not all(chosen.add(unit) for unit in units[:each]):
                return None
        return chosen

    chosen = _largest(chosen_with, max(map(len, groups.values()), default=0))
    if chosen is None:
        chosen = Chosen(bounds, budget, mark)
        chosen.add_all(best, 0.5)
    chosen.fill(options.head_ratio)
    return cut_of(source, bounds, chosen.units) if chosen.units else None


def _largest(attempt: Callable[[int], Chosen | None], most: int) -> Chosen | None:
    """The attempt with the largest number that succeeds."""
    low, high, best = 1, most, None
    while low <= high:
        middle = (low + high) // 2
        made = attempt(middle)
        if made is None:
            high = middle - 1
        else:
            low, best = middle + 1, made
    return best
