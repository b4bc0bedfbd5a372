"""Which passages of a record, or which pointers, have most to do with a question, without reading any of them.

Owns: the order in which posting lists are asked, and when enough is known.
Must not know: what a passage holds; numbers grow with time, and that is all that is known of them.

A term that few passages have is read to its end. Of a common one only the newest places are, and beside them those
that it shares with other terms of the question: so no question costs more than some short lists, however many
passages there are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import combinations, islice
from typing import NamedTuple, Protocol

from keepwhole.recall.scorer import Wanted, idf
from keepwhole.store.passages import EACH

CAPPED = 256
"""A term that more passages have is common."""
_MOST_TERMS = 24
_MOST_COMMON = 5
"""Common terms that are held against each other, the rarest ones."""
_MOST_COMBINED = 8
_ENOUGH = 64
_REACH = 100_000
"""How far back, in results, common terms are held against each other."""
_WORTH, _NEGLIGIBLE = 0.4, 0.05
"""Common terms are held against each other where all of them may be worth so much of the best rare ones together, and
against the rare ones where one may be worth more than this little."""
_RECENT = 0.15
"""How much more the newest passage counts than the oldest."""


class Postings(Protocol):
    """Which numbers have which words, as `store.protocol.Passages` and `store.word_index.WordIndex` say it."""

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """The newest numbers above one that have a word of every group, the newest first."""
        ...


class Ranked(NamedTuple):
    """Numbers with their scores, best first, and how rare each term is."""

    scores: list[tuple[int, float]]
    rarity: Mapping[str, float]


def ranked(postings: Postings, size: int, wanted: Wanted, most: int = _ENOUGH, each: int = EACH) -> Ranked:
    """The numbers that share the most and the rarest with a question, of `size` results with `each` numbers."""
    asked = sorted(wanted, key=lambda word: -wanted[word].weight)[:_MOST_TERMS]
    places = {word: found for word in asked if (found := postings.newest([[word]], CAPPED + 1))}
    newest = max((found[0] for found in places.values()), default=0)
    rarity = {word: idf(size, min(size, _holding(found, newest))) for word, found in places.items()}
    rare = [word for word, found in places.items() if len(found) <= CAPPED]
    common = sorted((word for word in places if word not in rare), key=lambda word: -rarity[word])
    having = {word: set(places[word]) for word in places}
    worth = {word: wanted[word].weight * rarity[word] for word in places}
    best = max((score for _, score in _summed({word: having[word] for word in rare}, worth)), default=0.0)
    for word in common if rare else ():
        if worth[word] > _NEGLIGIBLE * best:
            having[word].update(postings.newest([[word], rare], CAPPED))
    if sum(worth[word] for word in common) > _WORTH * best:
        for together, found in _combined(postings, common, newest - each * _REACH):
            for word in together:
                having[word].update(found)
    return Ranked(_best(having, worth, newest, most), rarity)


def _holding(found: Sequence[int], newest: int) -> int:
    """How many have a term: counted, or guessed from how far back the newest ones reach."""
    if len(found) <= CAPPED:
        return len(found)
    return int(len(found) * max(1.0, newest / max(1, newest - found[-1])))


def _combined(postings: Postings, common: Sequence[str], above: int) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Common terms that stand together: as many of them as possible, until there are enough places."""
    found = 0
    few = common[:_MOST_COMMON]
    choices: Iterable[tuple[str, ...]] = (own for size in range(len(few), 1, -1) for own in combinations(few, size))
    for together in islice(choices, _MOST_COMBINED):
        numbers = postings.newest([[word] for word in together], _ENOUGH, above)
        yield together, numbers
        found += len(numbers)
        if found >= _ENOUGH:
            return


def _best(
    having: Mapping[str, set[int]], worth: Mapping[str, float], newest: int, most: int
) -> list[tuple[int, float]]:
    """The best numbers with their scores, newer ones counting a little more."""
    scores = dict(_summed(having, worth))
    oldest = min(scores, default=0)
    span = max(1, newest - oldest)
    final = ((score * (1 + _RECENT * (number - oldest) / span), number) for number, score in scores.items())
    return [(number, score) for score, number in nlargest(most, final)]


def _summed(having: Mapping[str, set[int]], worth: Mapping[str, float]) -> Iterable[tuple[int, float]]:
    scores: dict[int, float] = {}
    for word, numbers in having.items():
        each = worth[word]
        for number in numbers:
            scores[number] = scores.get(number, 0.0) + each
    return scores.items()
