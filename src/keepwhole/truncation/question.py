"""Which parts of a text a question is about: rare words shared between the two.

Owns: the words of a question, and scoring units of a text by them.
Must not know: kinds of text, budgets.
"""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import pairwise

from keepwhole.canonical.lazy_pattern import lazy_pattern

_WORD = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*|\d[\d.,:-]*\d|\d+|[^\W\d_]+")
UNSPACED = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_NO_LITERAL = lazy_pattern(r"\\.|\[[^\]]{0,200}\]|\{[^}]{0,20}\}", re.S)
_LITERAL = lazy_pattern(r"\w{2,}")
"""What is left of a pattern without escapes, sets and counts."""
_PARTS = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SUFFIXES = (
    "ations",
    "ation",
    "ingly",
    "ments",
    "ment",
    "ings",
    "ing",
    "ions",
    "ion",
    "ied",
    "ies",
    "ed",
    "es",
    "er",
    "s",
)
COMMON = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "get",
        "give",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "line",
        "lines",
        "list",
        "many",
        "me",
        "more",
        "most",
        "much",
        "my",
        "need",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "out",
        "please",
        "read",
        "show",
        "should",
        "so",
        "some",
        "such",
        "tell",
        "text",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "use",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)
_MOST_HITS = 400
_NAME = lazy_pattern(r"\w[\w./:@#-]{1,78}\w")
_FEW = 8
"""Hits after which it is counted how many more there are, rather than found."""
_RARE, _RARE_CALLED = 20, 3
"""How often a name of a question, or of a call, may be in what is hidden for a search to bring it."""
_LONGEST, _MOST_TERMS = 20_000, 48
"""Characters of a question that are read, and how many of its terms are looked for: the weightiest, in their order."""
_PIECE = 65_536
"""Python needs twelve bytes a character to lower what is not ASCII; in pieces that is little."""


def terms(question: str) -> dict[str, float]:
    """The words worth looking for, in lower case, with how much each counts.

    >>> sorted(terms("why did parse_config fail?"))
    ['config', 'fail', 'pars', 'parse_config']
    """
    found: dict[str, float] = {}
    for word in _words(question[:_LONGEST]):
        folded = fold(word)
        special = not word.isalpha() or (not word.islower() and not word.istitle())
        if folded in COMMON or (len(folded) < 3 and word.isascii() and not special):
            continue
        found[_stem(folded) if not special else folded] = 2.0 if special else 1.0
        for part in _PARTS.findall(word) if special and len(word) > 4 else ():
            if len(part) > 2 and fold(part) not in COMMON:
                found.setdefault(_stem(fold(part)), 0.7)
    if len(found) <= _MOST_TERMS:
        return found
    return {term: found[term] for term in nlargest(_MOST_TERMS, found, key=found.__getitem__)}


def hidden_name(question: str, hidden: str, shown: str) -> str:
    """The rarest name or number of a question that stands in what is hidden and not in what is shown, spelled as it
    stands there; empty where there is none. Plain words are left alone: they are too often in both by accident.

    >>> hidden_name("What does delta-island-42 pay?", "a: 1\\nDelta-Island-42: 7", "a: 1")
    'Delta-Island-42'
    """
    names = dict.fromkeys(word for word in _NAME.findall(question[:_LONGEST]) if _is_special(word))
    if not names:
        return ""
    folded_shown = fold(shown)
    return _rarest([name for name in list(names)[:_MOST_TERMS] if fold(name) not in folded_shown], hidden, _RARE)


def called_name(names: str, hidden: str) -> str:
    """The rarest of the names that a call was given, one on each line, that stands in what is hidden, a few times at
    most; empty where there is none. That it is shown too says nothing: an error begins with what was asked for.

    >>> called_name("report-3\\nnone", "row 1\\nticket of report-3: TK-7")
    'report-3'
    """
    lines = names.split("\n")[:_MOST_TERMS]
    return _rarest([name for name in lines if _NAME.fullmatch(name) and _is_special(name)], hidden, _RARE_CALLED)


def _rarest(names: Sequence[str], hidden: str, most: int) -> str:
    """The name that stands in a text least often, but does, and at most so often, spelled as it stands there."""
    if not names:
        return ""
    folded = fold(hidden)
    counts = {name: folded.count(fold(name)) for name in names}
    found = [name for name, count in counts.items() if 0 < count <= most]
    if not found:
        return ""
    best = min(found, key=lambda name: (counts[name], -len(name)))
    at = folded.index(fold(best))
    return hidden[at : at + len(best)]


def _is_special(word: str) -> bool:
    """Whether a word is a name or a number rather than one of the language."""
    return not word.isalpha() or (not word.islower() and not word.istitle() and not word.isupper())


def literals(pattern: str) -> list[str]:
    """The words that a search pattern names, in lower case, the longest first: where they stand, a match may be.

    >>> literals(r"\\bparse_(config|file)\\b\\s+=")
    ['config', 'parse_', 'file']
    """
    return sorted(dict.fromkeys(map(fold, _LITERAL.findall(_NO_LITERAL.sub(" ", pattern[:_LONGEST])))), key=len)[
        : -_MOST_TERMS - 1 : -1
    ]


def _words(question: str) -> Iterator[str]:
    """The words of a question; scripts that write none give pairs of characters."""
    for word in _WORD.findall(question):
        if UNSPACED.fullmatch(word):
            yield from map("".join, pairwise(word))
        else:
            yield word


def fold(text: str) -> str:
    """Lower case, character for character, so that offsets stay true."""
    if text.isascii():
        return text.lower()
    return "".join([_fold_piece(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE)])


def _fold_piece(text: str) -> str:
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _stem(word: str) -> str:
    """The beginning that other forms of a word share, roughly."""
    if len(word) < 5:
        return word
    if not word.isascii():
        return word if UNSPACED.match(word) else word[: max(4, len(word) * 3 // 5)]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word[:-1] if word.endswith("e") else word


def hits_of(folded: str, term: str, most: int) -> list[int]:
    """Where `term` stands, if it does so at most `most` times; a common word says little."""
    hits: list[int] = []
    for spelled in _spellings(term, folded):
        at = folded.find(spelled)
        while at >= 0:
            hits.append(at)
            at += len(spelled)
            if len(hits) > most or (len(hits) == _FEW and folded.count(spelled, at) > most - _FEW):
                return []
            at = folded.find(spelled, at)
    return hits


def _spellings(term: str, text: str) -> Iterable[str]:
    """How a word may stand in a text: in one that is all ASCII only as JSON escapes it, which folding cannot lower."""
    if term.isascii() or not text.isascii():
        return (term,)
    return dict.fromkeys(json.dumps(form)[1:-1] for form in (term, term.capitalize()))


def scores(folded: str, bounds: Sequence[int], wanted: dict[str, float]) -> dict[int, float]:
    """How much each unit that shares words with the question counts; unit `i` is `bounds[i]` to `bounds[i + 1]`."""
    units = len(bounds) - 1
    most = min(_MOST_HITS, max(12, units // 3))
    found: dict[int, float] = {}
    for term, weight in wanted.items():
        hits = {bisect_right(bounds, at) - 1 for at in hits_of(folded, term, most)}
        for unit in hits:
            found[unit] = found.get(unit, 0.0) + weight * math.log(1 + units / len(hits))
    return found
