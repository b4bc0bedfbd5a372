"""Search: the results of a session in which some words occur, best first, each with the line that it is shown by.

Owns: finding candidates in the text index, confirming them by reading, their order, and reading what is not indexed.
Must not know: how an index is stored.

A result matches if each word of the query is part of one of its lines, in any case; or, after all of these, if each is
part of the values that its call was given, which are not indexed but are in the headers. Candidates are the results
whose passages have a token that begins with each word; of a word that very many passages have, only the newest are
asked for, and it rules out no other result. Half of the time goes into indexing what is new; what is not indexed by
then is read instead, which is faster. Results are scored like BM25 with a passage as the unit: a word counts more the
rarer it is in the session, and the larger its share of the passages of a result. Of equal scores the newest is first.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from keepwhole.canonical.arguments import string_values
from keepwhole.canonical.entry import OWN_TOOLS, Result
from keepwhole.canonical.utf8 import Encoding, decode
from keepwhole.errors import StoreError
from keepwhole.store.passages import EACH, INDEXED_BYTES, STRIDE, has_words, tokens
from keepwhole.store.protocol import Body, Match, Passages, Row, body_of, is_over, result_of
from keepwhole.store.reader import BodyReader

_MOST_PASSAGES = 20_000
"""Passages that are asked for by one word."""
_SATURATION, _BY_LENGTH = 1.2, 0.75
"""BM25's constants: how soon more of the same word adds nothing, and how much a long result is held against it."""


class SearchableStore(Protocol):
    """The part of a store that a search uses."""

    def passages(
        self, session: str, *, task_id: str | None = None, query_id: str | None = None, until: float | None = None
    ) -> Passages:
        """Return the passages of a session."""
        ...

    def entry(self, session: str, seq: int) -> Row | None:
        """Return the entry with this number."""
        ...

    def rows(
        self, session: str, *, after: int = 0, kind: str | tuple[str, ...] = (), light: bool = False
    ) -> Iterator[Row]:
        """Yield the entries of a session."""
        ...

    def open(self, body: Body) -> BodyReader:
        """Open a body for reading."""
        ...


def search(
    store: SearchableStore,
    session: str,
    words: str,
    limit: int,
    until: float | None = None,
    *,
    newest_first: bool = False,
) -> list[Match]:
    """Return the results of a session that have all the words, best first; those found before `until`.

    With `newest_first`, results are ordered by age alone.
    """
    wanted: list[str] = re.findall(r"\w+", words.lower())
    if not wanted:
        return []
    now = time.monotonic()
    passages = store.passages(session, until=None if until is None else now + (until - now) / 2)
    candidates = _Candidates(passages, tokens(words), newest_first)
    found: list[tuple[float, int, Match]] = []
    examined: set[int] = set()
    for seq in candidates.best_first():
        if len(found) == limit or is_over(until):
            break
        examined.add(seq)
        row = store.entry(session, seq)
        match = None if row is None else _match_in(store, row, wanted, until)
        if row is not None and match is not None:
            found.append((candidates.score(seq, body_of(row).facts.chars // STRIDE + 1), seq, match))
    matches = [match for _, _, match in sorted(found, key=lambda one: one[:2], reverse=True)]
    if len(matches) < limit:
        every_after = 0 if not candidates.are_all else None if passages.is_all else passages.indexed_to
        matches += _scan(store, session, wanted, examined, limit - len(matches), until, every_after)
    if len(matches) < limit:
        known = {match.trace_id for match in matches}
        matches += _in_arguments(store, session, wanted, known, limit - len(matches), until)
    return matches


class _Candidates:
    """The results whose indexed passages may have all the words of a query."""

    def __init__(self, passages: Passages, words: list[str], newest_first: bool) -> None:
        self._newest_first = newest_first
        self._counts: list[Counter[int]] = []
        """For each word, how many passages of each result have it."""
        ruling: list[set[int]] = []
        size = max(1, passages.size())
        self._weights: list[float] = []
        for word in dict.fromkeys(words):
            numbers = passages.starting_with(word, _MOST_PASSAGES)
            count = Counter(number // EACH for number in numbers)
            self._counts.append(count)
            self._weights.append(math.log(1 + size / (len(count) + 0.5)))
            if len(numbers) < _MOST_PASSAGES:
                ruling.append(set(count))
        self.are_all = bool(ruling)
        """Whether no other result can have all the words among what is indexed."""
        sets = ruling or [set(count) for count in self._counts]
        self._seqs: set[int] = sets[0].intersection(*sets[1:]) if sets else set()

    def best_first(self) -> list[int]:
        """Return the candidates in the order in which they are worth reading; their lengths are not known yet."""
        return sorted(self._seqs, key=lambda seq: (self.score(seq), seq), reverse=True)

    def score(self, seq: int, length: int = 1) -> float:
        """Return the score of a result of `length` passages."""
        if self._newest_first:
            return 0.0
        norm = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * length)
        return sum(
            weight * count[seq] / (count[seq] + norm) for weight, count in zip(self._weights, self._counts, strict=True)
        )


def _match_in(store: SearchableStore, row: Row, wanted: list[str], until: float | None) -> Match | None:
    """Return the line that a result is shown by; None if a word is missing in it or its body cannot be read."""
    try:
        return first_match(store.open(body_of(row)), row.trace_id, wanted, until)
    except StoreError:  # one damaged body must not hide the others
        return None


def first_match(reader: BodyReader, trace_id: str, wanted: list[str], until: float | None = None) -> Match | None:
    """Return the first line with the most of the words, if all of them occur somewhere in the body."""
    missing, most, best = set(wanted), 0, None
    with reader:
        if reader.facts.size <= INDEXED_BYTES:  # most bodies do not match, and one look at all of it is fast
            whole = _decoded(reader.read(), reader.facts.encoding).lower()
            if not all(word in whole for word in wanted):
                return None
        for number, line in _lines(reader, until):
            folded = line.lower()
            here = {word for word in wanted if word in folded}
            if len(here) > most:
                most, best = len(here), Match(trace_id=trace_id, line=number, text=line[:500])
            missing -= here
            if most == len(wanted):
                break
    return None if missing else best


def _lines(reader: BodyReader, until: float | None) -> Iterator[tuple[int, str]]:
    """Yield the lines of a body with their numbers, in bounded memory even if a line is very long."""
    number, rest = 1, b""
    eol = reader.facts.eol.encode()
    for chunk in reader.stream():
        if is_over(until):
            return
        *whole, rest = (rest + chunk).split(eol)
        for line in whole:
            yield number, _decoded(line, reader.facts.encoding)
            number += 1
        if len(rest) > INDEXED_BYTES:
            yield number, _decoded(rest, reader.facts.encoding)
            rest = rest[-256:]
    if rest:
        yield number, _decoded(rest, reader.facts.encoding)


def _decoded(line: bytes, encoding: Encoding) -> str:
    """Return a line as text; a part of a very long line may begin or end inside a character."""
    try:
        return decode(line, encoding)
    except UnicodeDecodeError:
        return decode(line, "bytes")


def _scan(
    store: SearchableStore,
    session: str,
    wanted: list[str],
    examined: set[int],
    limit: int,
    until: float | None,
    every_after: int | None,
) -> list[Match]:
    """Read the results that the index cannot tell about: bodies longer than 256 KB, and all after an entry."""
    found: list[Match] = []
    for row in store.rows(session, kind="result", light=True):
        if len(found) >= limit or is_over(until):
            break
        if row.seq in examined or not _is_text(row):
            continue
        is_indexed = every_after is None or row.seq <= every_after
        if is_indexed and body_of(row).facts.size <= INDEXED_BYTES:
            continue
        whole = store.entry(session, row.seq)
        match = None if whole is None else _match_in(store, whole, wanted, until)
        if match is not None:
            found.append(match)
    return found


def _is_text(row: Row) -> bool:
    """Return whether a result is text."""
    result = _result(row)
    return result is not None and has_words(result)


def _result(row: Row) -> Result | None:
    """Return the result of a row. One damaged entry must not hide the others; `verify` reports it."""
    try:
        return result_of(row)
    except StoreError:
        return None


def _in_arguments(
    store: SearchableStore, session: str, wanted: list[str], known: set[str], limit: int, until: float | None
) -> list[Match]:
    """Return the newest results, besides those that are `known`, whose calls were given all the words."""
    found: list[Match] = []
    for row in store.rows(session, kind="result", light=True):
        if is_over(until):
            break
        result = None if row.trace_id in known else _result(row)
        if result is not None and not result.tool.startswith(OWN_TOOLS):
            match = match_in_arguments(result, wanted)
            found += [] if match is None else [match]
    return found[: -limit - 1 : -1]


def match_in_arguments(result: Result, wanted: list[str]) -> Match | None:
    """Return the first line with the most of the words, if all of them occur in what the call was given."""
    folded = (result.arguments or "").lower()
    if "\\" not in folded and not all(word in folded for word in wanted):
        return None
    values = [value for _, value in string_values(result.arguments or "")]
    whole = "\n".join(values).lower()
    if not all(word in whole for word in wanted):
        return None
    lines = [(number, line) for value in values for number, line in enumerate(value.split("\n"), 1)]
    number, line = max(lines, key=lambda one: sum(word in one[1].lower() for word in wanted))
    return Match(trace_id=result.trace_id, line=number, text=line[:500], part="arguments")
