"""Search: the results of a session in which some words occur, best first, each with the line that it is shown by.

Owns: finding candidates in the text index, confirming them by reading, their order, and reading what is not indexed.
Must not know: how an index is stored.

A result matches if each word of the query is part of one of its lines, in any case; or, after all of these, if each is
part of the values that its call was given, which are not indexed but are in the headers. Candidates are the results
whose passages have a token that begins with each word; of a word that very many passages have, only the newest are
asked for, and it rules out no other result. Scripts without spaces have words anywhere in a token: of Chinese, Japanese
and Korean the index has every pair of characters, and of others it rules out nothing. Some of the time goes into
indexing what is new; what is not indexed by then is read instead, the newest first, which is much faster. Results are
scored like BM25 with a passage as the unit: a word counts more the rarer it is in the session, and the larger its share
of the passages of a result. Of equal scores the newest is first.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice, pairwise, takewhile
from typing import Protocol

from keepwhole.canonical.arguments import string_values
from keepwhole.canonical.entry import OWN_TOOLS, Result
from keepwhole.canonical.utf8 import Encoding, count_unfinished, decode
from keepwhole.errors import StoreError
from keepwhole.store.passages import EACH, INDEXED_BYTES, STRIDE, has_words, tokens
from keepwhole.store.protocol import Body, Match, Passages, Row, body_of, is_over, result_of
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.question import UNSPACED

_MOST_PASSAGES = 20_000
"""Passages that are asked for by one word."""
_MOST_INDEXING = 0.25
"""Most seconds of a search that has a time limit that go into indexing."""
_MOST_PAIRS = 8
"""Pairs of characters of one word that are asked for."""
_NOT_INDEXED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3100-\u31bf\u3400-\u9fff\uac00-\ud7af\uff66-\uff9f"
    "\U00020000-\U0003ffff]"
)
"""Characters of scripts without spaces: Thai, Lao, Tibetan, Burmese and Khmer, and those that are in no pair."""
_STEP = 1_000
"""Entries that are listed at a time, going back."""
_ALL = 1 << 62
"""More entries than any session has."""
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

    def last(self, session: str) -> Row | None:
        """Return the last entry of a session."""
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
    wanted = _words_of(words)
    if not wanted:
        return []
    now = time.monotonic()
    passages = store.passages(session, until=None if until is None else now + min((until - now) / 2, _MOST_INDEXING))
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
        scan = NewestFirst(store, session, words, passages=passages, examined=examined)
        matches += islice(scan.matches(until), limit - len(matches))
    if len(matches) < limit:
        known = {match.trace_id for match in matches}
        matches += _in_arguments(store, session, wanted, known, limit - len(matches), until)
    return matches


class NewestFirst:
    """A search that reads results, the newest first, and needs no index. It can be stopped, and go on elsewhere.

    Reading takes a thirtieth of the time of indexing: this is how a search says something in the first second, and
    everything in a few, about a session that nobody has searched before. What the index rules out is not read.
    """

    def __init__(
        self,
        store: SearchableStore,
        session: str,
        words: str,
        *,
        passages: Passages,
        below: int | None = None,
        examined: Collection[int] = (),
    ) -> None:
        self._store, self._session, self._examined = store, session, examined
        self._wanted = _words_of(words)
        candidates = _Candidates(passages, tokens(words), newest_first=True)
        self._candidates = set(candidates.best_first())
        self._ruled_out_to = 0 if not candidates.are_all else _ALL if passages.is_all else passages.indexed_to
        self.reached = _ALL if below is None else below
        """Every result with this number or a larger one was looked at; 0 once all were."""
        self.looked = 0
        """How many results were looked at."""

    def matches(self, until: float | None = None, *, least: int = 0) -> Iterator[Match]:
        """Yield the results that have all the words, as long as there is time, but look at `least` results at least.

        Called again, it goes on where it stopped.
        """
        enough = self.looked + least
        for row in rows_backwards(self._store, self._session, self.reached) if self._wanted else ():
            own_until = until if self.looked >= enough else None
            match = None if is_over(own_until) or self._is_ruled_out(row) else self._match(row, own_until)
            if match is None and is_over(own_until):
                return  # before this one, or in the middle of it
            self.reached = row.seq
            self.looked += 1
            if match is not None:
                yield match
        self.reached = 0

    def _is_ruled_out(self, row: Row) -> bool:
        """Return whether the index has all of a result, or none of it is text."""
        if row.seq in self._examined or not _is_text(row):
            return True
        is_whole = row.seq <= self._ruled_out_to and body_of(row).facts.size <= INDEXED_BYTES
        return is_whole and row.seq not in self._candidates

    def _match(self, row: Row, until: float | None) -> Match | None:
        whole = self._store.entry(self._session, row.seq)
        return None if whole is None else _match_in(self._store, whole, self._wanted, until)

    def in_arguments(self, known: Collection[str], limit: int, until: float | None = None) -> list[Match]:
        """Return the newest results, besides those with these trace ids, whose calls were given all the words."""
        return _in_arguments(self._store, self._session, self._wanted, known, limit, until)


def _words_of(words: str) -> list[str]:
    return re.findall(r"\w+", words.lower())


def rows_backwards(store: SearchableStore, session: str, below: int | None = None) -> Iterator[Row]:
    """Yield the results of a session without their bodies, the newest first, those below a number."""
    last = store.last(session)
    high = 0 if last is None else last.seq + 1 if below is None else min(below, last.seq + 1)
    step = _STEP
    while high > 1:
        low = max(0, high - 1 - step)
        upwards = store.rows(session, after=low, kind="result", light=True)
        page = list(takewhile(lambda row, high=high: row.seq < high, upwards))
        yield from reversed(page)
        high, step = low + 1, _STEP if page else 2 * step  # a session may begin with a large number


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
            found = [passages.starting_with(part, _MOST_PASSAGES) for part in _parts(word)]
            count = Counter(number // EACH for number in set(found[0]).intersection(*found[1:]))
            self._counts.append(count)
            self._weights.append(math.log(1 + size / (len(count) + 0.5)))
            if all(len(numbers) < _MOST_PASSAGES for numbers in found) and _is_found_by_its_beginning(word):
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


def _parts(word: str) -> list[str]:
    """What terms of the index begin with in every passage that has a word."""
    pairs = dict.fromkeys("".join(pair) for stretch in UNSPACED.findall(word) for pair in pairwise(stretch))
    return list(islice(pairs, _MOST_PAIRS)) or [word]


def _is_found_by_its_beginning(word: str) -> bool:
    """Whether the index has a term that begins with each of a word's parts wherever a text has the word."""
    return UNSPACED.search(word) is not None or _NOT_INDEXED.search(word) is None


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
        if not _has_all(reader, wanted, until):  # most bodies do not match, and this is fast
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


def _has_all(reader: BodyReader, wanted: list[str], until: float | None) -> bool:
    """Return whether all the words occur in a body, in any case; read block by block, in bounded memory."""
    missing = list(wanted)
    for folded in folded_blocks(reader, max(map(len, wanted))):
        missing = [word for word in missing if word not in folded]
        if not missing or is_over(until):
            break
    return not missing


def folded_blocks(reader: BodyReader, overlap: int) -> Iterator[str]:
    """Yield the text of a body in lower case, block by block, each with the end of the one before."""
    rest, before = b"", ""
    is_ascii = reader.chars == reader.facts.size
    for chunk in reader.stream():
        data = rest + chunk
        rest = b"" if is_ascii else data[len(data) - count_unfinished(data, len(data)) :]
        text = before + _decoded(data[: len(data) - len(rest)], reader.facts.encoding)
        yield text.lower()
        before = text[-overlap:]
    if rest:
        yield (before + _decoded(rest, reader.facts.encoding)).lower()


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
    store: SearchableStore,
    session: str,
    wanted: list[str],
    known: Collection[str],
    limit: int,
    until: float | None,
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
