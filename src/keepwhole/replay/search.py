"""A plain search in results that are no longer shown: the first page that an agent's words would bring back.

Owns: pieces of results, how well they answer, and the page. Everything else asks `Search.page` only.
Must not know: evidence; it is given words.

Okapi's weights, each word of a piece counted once: rare words weigh more, long pieces less, and what an earlier piece
of the page has said counts half (`recall.scorer`). Results are indexed once, when they are first searched.
"""

import re
from collections.abc import Collection, Mapping
from heapq import nlargest
from typing import NamedTuple, TypeAlias

from keepwhole.models.tokens import Counter
from keepwhole.recall.scorer import idf, in_turn
from keepwhole.replay.word_sources import Texts

PAGE = 1_000
"""Tokens of the first page."""
FRAME = 8
"""Tokens that say where a piece comes from."""
_PIECE, _LONG_LINE = 400, 800
"""Characters from which on a piece is full; a line beyond the second is broken."""
_MOST_PIECES = 2_000
"""Of one result; what comes after is not searched."""
_MOST_WORDS = 48
"""Of the query, those that weigh most."""
_BEST = 40
"""Pieces that are tried for the page."""
_WORD = re.compile(r"[a-z0-9_]{2,}")
_K, _B = 1.2, 0.4
_USUAL = 40
"""Words of a usual piece."""


_Place: TypeAlias = tuple[int, int]
"""A result, and the piece of it."""


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

    def page(self, query: Mapping[str, float], texts: Mapping[int, str]) -> Page:
        """The first page for the words of `query` and their weights, from results that are shown as `texts` only."""
        indexes = {number: self._index(number) for number in texts}
        shared = _shared(query_words(query), indexes)
        scores = {place: sum(own.values()) for place, own in shared.items()}
        best = nlargest(_BEST, scores, key=lambda place: (scores[place], place))
        taken: dict[str, None] = {}
        left = PAGE
        for number, at in in_turn({place: shared[place] for place in best}, _BEST):
            piece = indexes[number].pieces[at]
            tokens = self._counter(piece) + FRAME
            if tokens <= left and piece not in texts[number] and piece not in taken:
                taken[piece] = None
                left -= tokens
        return Page("\n".join(taken), PAGE - left)

    def _index(self, number: int) -> _Indexed:
        if number not in self._indexed:
            self._indexed[number] = _index(self._results[number])
        return self._indexed[number]


def query_words(query: Mapping[str, float]) -> dict[str, float]:
    """The words that a query is made of, each with its largest weight."""
    found: dict[str, float] = {}
    for text, weight in query.items():
        for word in _WORD.findall(text.lower()):
            found[word] = max(weight, found.get(word, 0.0))
    return found


def _shared(query: Mapping[str, float], indexes: Mapping[int, _Indexed]) -> dict[_Place, dict[str, float]]:
    """What each piece shares with the query, and what each word counts there."""
    shared: dict[_Place, dict[str, float]] = {}
    for word, worth in _weighed(query, indexes.values()):
        for number, (_, lengths, by_word) in indexes.items():
            for at in by_word.get(word, ()):
                length = 1 - _B + _B * lengths[at] / _USUAL
                shared.setdefault((number, at), {})[word] = worth * (_K + 1) / (1 + _K * length)
    return shared


def _weighed(query: Mapping[str, float], indexes: Collection[_Indexed]) -> list[tuple[str, float]]:
    """The words of a query that some piece has and that weigh most, heaviest first."""
    total = sum(len(one.pieces) for one in indexes)
    held = {word: sum(len(one.by_word.get(word, ())) for one in indexes) for word in query}
    worth = {word: query[word] * idf(total, many) for word, many in held.items() if many}
    return sorted(worth.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_WORDS]


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
