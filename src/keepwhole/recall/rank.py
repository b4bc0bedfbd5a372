"""Which passages of a record, or which pointers, share most with a question, found without reading any of them.

Owns: the order in which an index is asked, and when enough is known.
Must not know: what a passage says. All it knows of a number is that a larger one is newer.

Theory of operation. An index says which passages have a word. A rare word has a short list of passages, which is
read to its end. A common word may be in every passage of a record of millions, so its list is never read to its end:
only its `CAPPED` newest numbers are, and the numbers that it shares with other terms of the question.
So a question costs a bounded number of short lists, however large the record is.

    question: "timeout of INV-20431 in the upstream"     (size of the record: 10,000 results)

    term          weight   passages        rarity   worth = weight × rarity
    inv20431      3.0      7,  912         8.3      24.9    rare: the list is complete
    upstream      1.0      more than 256   2.1       2.1    common: the 256 newest
    timeout       1.0      more than 256   1.7       1.7    common: the 256 newest

1. Every term is looked up, at most `CAPPED` + 1 numbers. How many passages a common term has is estimated from how
   far back its newest numbers reach.
2. Common with rare: passages that have a common term and a rare one too (`upstream` in 7 or in 912), where the common
   term is worth more than a small part (`_NEGLIGIBLE`) of the best score of the rare terms alone.
3. Common with common: passages that have several common terms, where these together could compete with the best
   score of the rare terms (`_WORTH`). Here 2.1 + 1.7 < 0.4 × 24.9, so this is skipped.
4. A passage's score is the sum of the worth of its terms, up to `_RECENT` more for the newest.

Invariants: a passage with a rare term is always considered, with all of its rare terms; scores do not depend on the
order of the index; every list that is read has at most `CAPPED` + 1 numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import combinations, islice
from typing import NamedTuple, Protocol

from keepwhole.recall.scorer import Wanted, idf
from keepwhole.store.passages import EACH

CAPPED = 256
"""A term that more passages have is common."""
_MOST_TERMS = 24
_MOST_COMMON = 5
"""Common terms that are combined with each other, the rarest ones."""
_MOST_COMBINED = 8
_ENOUGH = 64
_REACH = 100_000
"""How far back, in results, combinations of common terms are looked up."""
_WORTH, _NEGLIGIBLE = 0.4, 0.05
"""Shares of the best score of the rare terms: what all common terms must be worth together to be combined with each
other, and what one must be worth to be combined with the rare ones."""
_RECENT = 0.15
"""How much more the newest passage counts than the oldest."""


class Postings(Protocol):
    """An index from words to numbers, such as `store.protocol.Passages` and `store.word_index.WordIndex`."""

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """At most `most` numbers greater than `above` that have a word of every group, newest first."""
        ...


class Ranked(NamedTuple):
    """Numbers with their scores, best first, and how rare each term is."""

    scores: list[tuple[int, float]]
    rarity: Mapping[str, float]


class _Term:
    """A term of the question that the index has: its worth, and the numbers known to have it."""

    def __init__(self, word: str, numbers: list[int]) -> None:
        self.word, self.is_rare = word, len(numbers) <= CAPPED
        self.numbers = set(numbers)
        self.newest, self.oldest = numbers[0], numbers[-1]
        self.rarity = self.worth = 0.0

    def passages(self, newest: int) -> int:
        """How many passages have the term: counted, or estimated from how far back its newest ones reach."""
        count = len(self.numbers)
        return count if self.is_rare else int(count * max(1.0, newest / max(1, newest - self.oldest)))


def rank_postings(postings: Postings, size: int, wanted: Wanted, most: int = _ENOUGH, each: int = EACH) -> Ranked:
    """Ask an index for the numbers that share the most and the rarest terms with a question.

    `size` is how many results are indexed and `each` how many numbers one of them takes at most.
    """
    terms = _look_up(postings, size, wanted)
    newest = max((term.newest for term in terms), default=0)
    rare = [term for term in terms if term.is_rare]
    common = sorted((term for term in terms if not term.is_rare), key=lambda term: -term.rarity)
    best_rare = max(_scores(rare).values(), default=0.0)
    if rare:
        rare_words = [term.word for term in rare]
        for term in common:
            if term.worth > _NEGLIGIBLE * best_rare:
                term.numbers.update(postings.newest([[term.word], rare_words], CAPPED))
    if sum(term.worth for term in common) > _WORTH * best_rare:
        _look_up_combinations(postings, common[:_MOST_COMMON], newest - each * _REACH)
    return Ranked(_best(terms, newest, most), {term.word: term.rarity for term in terms})


def _look_up(postings: Postings, size: int, wanted: Wanted) -> list[_Term]:
    """The terms of the question that the index has, those worth most first."""
    found: list[_Term] = []
    for word in sorted(wanted, key=lambda word: -wanted[word].weight)[:_MOST_TERMS]:
        numbers = postings.newest([[word]], CAPPED + 1)
        if numbers:
            found.append(_Term(word, numbers))
    newest = max((term.newest for term in found), default=0)
    for term in found:
        term.rarity = idf(size, min(size, term.passages(newest)))
        term.worth = wanted[term.word].weight * term.rarity
    return found


def _look_up_combinations(postings: Postings, common: Sequence[_Term], above: int) -> None:
    """Look up passages that have several common terms, as many terms as possible first, until there are enough."""
    choices = (chosen for count in range(len(common), 1, -1) for chosen in combinations(common, count))
    found = 0
    for together in islice(choices, _MOST_COMBINED):
        numbers = postings.newest([[term.word] for term in together], _ENOUGH, above)
        for term in together:
            term.numbers.update(numbers)
        found += len(numbers)
        if found >= _ENOUGH:
            return


def _best(terms: Iterable[_Term], newest: int, most: int) -> list[tuple[int, float]]:
    """The best numbers with their scores, newer ones counting a little more."""
    scores = _scores(terms)
    oldest = min(scores, default=0)
    span = max(1, newest - oldest)
    final = ((score * (1 + _RECENT * (number - oldest) / span), number) for number, score in scores.items())
    return [(number, score) for score, number in nlargest(most, final)]


def _scores(terms: Iterable[_Term]) -> dict[int, float]:
    """The sum of what the terms of each number are worth."""
    scores: dict[int, float] = {}
    for term in terms:
        for number in term.numbers:
            scores[number] = scores.get(number, 0.0) + term.worth
    return scores
