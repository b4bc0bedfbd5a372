"""A plain search in results that are no longer shown: the first page that an agent's words would bring back.

Owns: the pieces of results, their scores, and the page. Other modules call only `ResultSearch.first_page`.
Must not know: evidence; it gets words.

Scores are Okapi's, with each word of a piece counted once: rare words weigh more, long pieces less, and a word that an
earlier piece of the page contains counts half (`recall.scorer`). Results are indexed when they are first searched.
"""

import re
from collections.abc import Collection, Mapping
from heapq import nlargest
from typing import NamedTuple, TypeAlias

from keepwhole.models.tokens import Counter
from keepwhole.recall.scorer import idf, order_by_gain
from keepwhole.replay.run_texts import ChangedTexts, RunTextIndex

PAGE = 1_000
"""Tokens of the first page."""
FRAME = 8
"""Tokens of the line that names the source of a piece."""
_PIECE, _LONG_LINE = 400, 800
"""A piece is full at the first number of characters; a line longer than the second is split."""
_MOST_PIECES = 2_000
"""Pieces of one result; the rest is not searched."""
_MOST_WORDS = 48
"""Words of a query that are used: those that weigh most."""
_BEST = 40
"""Best pieces that are tried for the page."""
_WORD = re.compile(r"[a-z0-9_]{2,}")
_K, _B = 1.2, 0.4
_USUAL_WORDS = 40
"""Words of a piece of usual length."""


_Place: TypeAlias = tuple[int, int]
"""The number of a result, and of a piece in it."""


class SearchPage(NamedTuple):
    """The first page of an answer."""

    text: str
    tokens: int


class _PieceIndex(NamedTuple):
    """The pieces of one result, their numbers of words, and the pieces that contain each word."""

    pieces: list[str]
    lengths: list[int]
    by_word: dict[str, list[int]]


class ResultSearch:
    """The search in the results of one run."""

    def __init__(self, results: RunTextIndex, counter: Counter) -> None:
        self._results, self._counter = results, counter
        self._indexed: dict[int, _PieceIndex] = {}

    def first_page(self, query: Mapping[str, float], changed: ChangedTexts) -> SearchPage:
        """Return the first page for weighted words, from what the changed results do not show."""
        indexes = {number: self._index(number) for number in changed}
        shared = _scores(query_words(query), indexes)
        scores = {place: sum(own.values()) for place, own in shared.items()}
        best = nlargest(_BEST, scores, key=lambda place: (scores[place], place))
        taken: dict[str, None] = {}
        left = PAGE
        for number, at in order_by_gain({place: shared[place] for place in best}, _BEST):
            piece = indexes[number].pieces[at]
            tokens = self._counter(piece) + FRAME
            if tokens <= left and piece not in changed[number] and piece not in taken:
                taken[piece] = None
                left -= tokens
        return SearchPage("\n".join(taken), PAGE - left)

    def _index(self, number: int) -> _PieceIndex:
        if number not in self._indexed:
            self._indexed[number] = _index(self._results[number])
        return self._indexed[number]


def query_words(query: Mapping[str, float]) -> dict[str, float]:
    """Return the words of a query, each with its largest weight."""
    found: dict[str, float] = {}
    for text, weight in query.items():
        for word in _WORD.findall(text.lower()):
            found[word] = max(weight, found.get(word, 0.0))
    return found


def _scores(query: Mapping[str, float], indexes: Mapping[int, _PieceIndex]) -> dict[_Place, dict[str, float]]:
    """Return, for each piece, the score of each word of the query that it contains."""
    shared: dict[_Place, dict[str, float]] = {}
    for word, worth in _word_weights(query, indexes.values()):
        for number, (_, lengths, by_word) in indexes.items():
            for at in by_word.get(word, ()):
                length = 1 - _B + _B * lengths[at] / _USUAL_WORDS
                shared.setdefault((number, at), {})[word] = worth * (_K + 1) / (1 + _K * length)
    return shared


def _word_weights(query: Mapping[str, float], indexes: Collection[_PieceIndex]) -> list[tuple[str, float]]:
    """Return the words of a query that some piece contains, with their weights, heaviest first."""
    total = sum(len(one.pieces) for one in indexes)
    held = {word: sum(len(one.by_word.get(word, ())) for one in indexes) for word in query}
    worth = {word: query[word] * idf(total, many) for word, many in held.items() if many}
    return sorted(worth.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_WORDS]


def _index(text: str) -> _PieceIndex:
    by_word: dict[str, list[int]] = {}
    lengths: list[int] = []
    found = pieces(text)
    for at, piece in enumerate(found):
        words = set(_WORD.findall(piece.lower()))
        lengths.append(len(words))
        for word in words:
            by_word.setdefault(word, []).append(at)
    return _PieceIndex(found, lengths, by_word)


def pieces(text: str) -> list[str]:
    """Return a text in pieces of whole lines; a very long line is split."""
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
