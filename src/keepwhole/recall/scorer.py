"""The one scorer: how relevant a text, or a unit of it, is to a question. Pure.

Owns: the worth of a term, scoring units, and fitting them into a budget.
Must not know: stores, indexes, tools.

    wanted = terms("why did the refund INV-20431 fail?")      # what to look for, and how much each counts
    best_units(text, wanted, budget=1_000)                    # whole units within a number of tokens, best first
    rank(wanted, ["first text", "second text"])               # which texts, best first

A term that names something (an identifier, a path, a number) counts three times a plain word. A term that many units
share does not distinguish them, so it counts less, and a term that is almost everywhere is not counted at all.
"""

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple, TypeVar

from keepwhole.models.tokens import upper_bound
from keepwhole.truncation.question import fold
from keepwhole.truncation.unit_bounds import LONGEST, unit_bounds
from keepwhole.truncation.words import runs, spelled, words

T = TypeVar("T", bound=Hashable)
_NAMED, _PART, _PLAIN = 3.0, 0.8, 1.0
_MOST_HITS = 400
"""Places of one term that are looked at in one text."""
_LONGEST_QUESTION, _MOST_TERMS = 20_000, 48
"""Of a question as long as a page only some words are used, names and numbers first."""
_LONG_NUMBER = 3
_CHECKED = 6
"""A term shorter than this matches only where a word begins."""
_LEAST = 0.12
"""Units that add less than this much of what the first one did are left out."""
_CONSIDERED = 80


class Term(NamedTuple):
    """One word of a question: its weight, and how it may be spelled in a text."""

    weight: float
    spellings: tuple[str, ...]


class Unit(NamedTuple):
    """A stretch of a text that makes sense by itself, and how relevant it is to the question."""

    start: int
    stop: int
    score: float


Wanted = Mapping[str, Term]
"""The terms of a question, by the word that an index has for each."""


def terms(question: str) -> dict[str, Term]:
    """The significant words of a question, with their weights.

    >>> {word: term.weight for word, term in terms("why did parse_config fail?").items()}
    {'parseconfig': 3.0, 'pars': 0.8, 'config': 0.8, 'fail': 1.0}
    """
    found: dict[str, Term] = {}
    for run in runs(question[:_LONGEST_QUESTION]):
        own = spelled(run)
        several = len(own) > 1 and run.isascii()
        for at, word in enumerate(own):
            weight = _NAMED if several and at == 0 else _PART if several else _weight(run)
            if word not in found or found[word].weight < weight:
                found[word] = Term(weight, _spellings(word, run, whole=several and at == 0))
    kept = nlargest(_MOST_TERMS, found, key=lambda word: found[word].weight)
    return found if len(found) <= _MOST_TERMS else {word: found[word] for word in kept}


def _weight(run: str) -> float:
    """The weight of one word: a number, or a word spelled as only names are, counts more."""
    if run[0].isdigit():
        return _NAMED if len(run) >= _LONG_NUMBER else _PART
    return _PLAIN if run.islower() or run.istitle() or not run.isascii() else 1.5


def _spellings(word: str, run: str, whole: bool) -> tuple[str, ...]:
    """How a word may be spelled in a folded text: a name in its usual forms, a number with commas, else its stem."""
    if not word.isascii():
        return (word, *(json.dumps(form)[1:-1].lower() for form in (word, word.capitalize())))
    if word.isdigit() and len(word) > _LONG_NUMBER:
        return (word, f"{int(word):,}")
    if not whole or "." in run:
        return (word,)
    own = fold(run)
    return tuple(dict.fromkeys((own, word, *(own.replace("-", "_").replace("_", sign) for sign in "_- "))))


def idf(documents: int, holding: int) -> float:
    """The rarity of a term that `holding` of `documents` contain."""
    return math.log(1 + (documents - holding + 0.5) / (holding + 0.5))


def unit_terms(
    text: str, bounds: Sequence[int], wanted: Wanted, rarity: Callable[[str], float] | None = None
) -> dict[int, dict[str, float]]:
    """The terms that each unit shares with the question, and the worth of each.

    `rarity` says how rare a term is in the whole record; without it only this text counts.
    """
    folded = fold(text)
    units = len(bounds) - 1
    scale = math.log(1 + units)
    found: dict[int, dict[str, float]] = {}
    for word, term in wanted.items():
        hits = {bisect_right(bounds, at) - 1 for at in _places(folded, text, term.spellings)}
        if not hits or len(hits) > _MOST_HITS:
            continue
        worth = term.weight * math.log(1 + units / len(hits))
        if rarity is not None:
            worth *= rarity(word) / scale
        for unit in hits:
            found.setdefault(unit, {})[word] = worth
    return found


def order_by_gain(shared: Mapping[T, Mapping[str, float]], most: int) -> list[T]:
    """Units, each the one that adds most to those before it: a term counts half each time it was covered before."""
    covered: dict[str, float] = {}
    left, chosen = dict(shared), list[T]()
    first = 0.0
    while left and len(chosen) < most:
        gains = {unit: _gain(own, covered) for unit, own in left.items()}
        best = max(left, key=lambda unit: gains[unit])
        first = first or gains[best]
        if gains[best] < _LEAST * first:
            break
        for word in left.pop(best):
            covered[word] = covered.get(word, 1.0) / 2
        chosen.append(best)
    return chosen


def _gain(own: Mapping[str, float], covered: Mapping[str, float]) -> float:
    return sum([worth * covered.get(word, 1.0) for word, worth in own.items()])


def _places(folded: str, text: str, spellings: Sequence[str]) -> list[int]:
    """The positions of a term in a text, of a short one only where a word begins. Stops when there are too many."""
    found: list[int] = []
    for spelling in spellings:
        checked = len(spelling) < _CHECKED and spelling.isascii()
        at = folded.find(spelling)
        while at >= 0:
            if not checked or _begins(text, at):
                found.append(at)
                if len(found) > 4 * _MOST_HITS:
                    return found
            at = folded.find(spelling, at + len(spelling))
    return found


def _begins(text: str, at: int) -> bool:
    """Whether a word, a part of a name or a number begins here."""
    if at == 0:
        return True
    before, here = text[at - 1], text[at]
    if here.isdigit():
        return not before.isdigit()
    return not before.isalpha() or (here.isupper() and not before.isupper())


def best_units(
    text: str, wanted: Wanted | str, budget: int, *, kind: str | None = None, longest: int = LONGEST
) -> list[Unit]:
    """Whole units of a text that share terms with the question, best first, `budget` tokens at most in all.

    `kind` is the result of `sniff`, if it is known. Sort by `start` to show them in order.
    """
    asked = terms(wanted) if isinstance(wanted, str) else wanted
    bounds = unit_bounds(text, kind, longest)
    shared = unit_terms(text, bounds, asked)
    best = nlargest(_CONSIDERED, shared, key=lambda at: (sum(shared[at].values()), -at))
    chosen: list[Unit] = []
    left = budget
    for at in order_by_gain({at: shared[at] for at in best}, _CONSIDERED):
        start, stop = bounds[at], bounds[at + 1]
        tokens = upper_bound(text[start:stop])
        if tokens <= left:
            chosen.append(Unit(start, stop, sum(shared[at].values())))
            left -= tokens
    return chosen


def rank(wanted: Wanted | str, texts: Sequence[str]) -> list[tuple[int, float]]:
    """The texts that share terms with the question, by number, best first; of equal scores the last text first."""
    asked = terms(wanted) if isinstance(wanted, str) else wanted
    held = [words(text) & asked.keys() for text in texts]
    rarity = {word: idf(len(texts), sum(word in own for own in held)) for word in asked}
    scores = [sum(asked[word].weight * rarity[word] for word in sorted(own)) for own in held]
    return [(at, scores[at]) for at in sorted(range(len(texts)), key=lambda at: (-scores[at], -at)) if scores[at] > 0]
