"""A plain search in results that are no longer shown: the first page that an agent's words would bring back.

Owns: pieces of results, how well they answer, and the page. Everything else asks `Search.page` only.
Must not know: evidence; it is given words.

Okapi's weights, each word of a piece counted once: rare words weigh more, long pieces less. Results are indexed once,
when they are first searched.
"""

import re
from collections.abc import Collection, Mapping
from heapq import nlargest
from math import log
from typing import NamedTuple

from holdfast.projection.tokens import Counter
from holdfast.replay.told import Texts

PAGE = 1_000
"""Tokens of the first page."""
FRAME = 8
"""Tokens that say where a piece comes from."""
_PIECE, _LONG_LINE = 400, 800
"""Characters from which on a piece is full; a line beyond the second is broken."""
_MOST_PIECES = 2_000
"""Of one result; what comes after is not searched."""
_MOST_WORDS = 48
"""The rarest of the query."""
_BEST = 40
"""Pieces that are tried for the page."""
_WORD = re.compile(r"[a-z0-9_]{2,}")
_K, _B = 1.2, 0.4
_USUAL = 40
"""Words of a usual piece."""


class Page(NamedTuple):
    """A first answer."""

    text: str
    tokens: int


class _Indexed(NamedTuple):
    pieces: list[str]
    lengths: list[int]
    by_word: dict[str, list[int]]


class Search:
    """Searches the results of one run."""

    def __init__(self, results: Texts, counter: Counter) -> None:
        self._results, self._counter = results, counter
        self._indexed: dict[int, _Indexed] = {}

    def page(self, query: Collection[str], texts: Mapping[int, str]) -> Page:
        """The first page for the words of `query`, from results that are shown as `texts` only."""
        indexes = {number: self._index(number) for number in texts}
        scores = _scores(query_words(query), indexes)
        best = nlargest(_BEST, scores, key=lambda place: (scores[place], place))
        taken: list[str] = []
        left = PAGE
        for number, at in best:
            piece = indexes[number].pieces[at]
            tokens = self._counter(piece) + FRAME
            if tokens <= left and piece not in texts[number]:
                taken.append(piece)
                left -= tokens
        return Page("\n".join(taken), PAGE - left)

    def _index(self, number: int) -> _Indexed:
        if number not in self._indexed:
            self._indexed[number] = _index(self._results[number])
        return self._indexed[number]


def query_words(texts: Collection[str]) -> set[str]:
    """The words that a query is made of."""
    return {word for text in texts for word in _WORD.findall(text.lower())}


def _scores(query: Collection[str], indexes: Mapping[int, _Indexed]) -> dict[tuple[int, int], float]:
    total = sum(len(one.pieces) for one in indexes.values())
    found = {word: [number for number, one in indexes.items() if word in one.by_word] for word in query}
    counts = {word: sum(len(indexes[one].by_word[word]) for one in those) for word, those in found.items() if those}
    scores: dict[tuple[int, int], float] = {}
    for word in sorted(counts, key=lambda word: (counts[word], word))[:_MOST_WORDS]:
        weight = log(1 + (total - counts[word] + 0.5) / (counts[word] + 0.5))
        for number in found[word]:
            _, lengths, by_word = indexes[number]
            for at in by_word[word]:
                worth = weight * (_K + 1) / (1 + _K * (1 - _B + _B * lengths[at] / _USUAL))
                scores[number, at] = scores.get((number, at), 0.0) + worth
    return scores


def _index(text: str) -> _Indexed:
    by_word: dict[str, list[int]] = {}
    lengths: list[int] = []
    found = pieces(text)
    for at, piece in enumerate(found):
        words = set(_WORD.findall(piece.lower()))
        lengths.append(len(words))
        for word in words:
            by_word.setdefault(word, []).append(at)
    return _Indexed(found, lengths, by_word)


def pieces(text: str) -> list[str]:
    """A text in pieces of whole lines; a very long line is broken."""
    found: list[str] = []
    held: list[str] = []
    size = 0
    for line in text.split("\n"):
        for start in range(0, len(line) or 1, _LONG_LINE):
            held.append(line[start : start + _LONG_LINE])
            size += len(held[-1])
            if size >= _PIECE:
                found.append("\n".join(held))
                held, size = [], 0
    return [*found, "\n".join(held)][:_MOST_PIECES] if held else found[:_MOST_PIECES]
