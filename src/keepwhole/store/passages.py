"""The one text index of a back end: results in passages of about 4,000 characters, found by their words.

Owns: where passages begin, which terms the index has for each, and what is shared by the back ends' passages.
Must not know: how an index is stored, what a word is worth.

Theory of operation
-------------------
Two questions are asked of the index. `select` asks for passages about a question and compares stems; `search` asks for
results in which given words occur literally. Both are answered from the same list of terms per passage:

    word        a word of the passage as `truncation.words` spells it: folded, stemmed, names split into their parts
    .token      a literal token of the passage, in lower case, that is not among those words
    _cword      a word of the call's tool and arguments that is not a word of the text
    _t… _q…     marks: the digests of the task and the query that the result belongs to

For example, the result `Retries of parseConfig failed` of the tool `bash` has the terms

    retr  pars  config  parseconfig  fail  .retries  .of  .failed  _cbash

`select` asks for `retr` as `retr OR _cretr`. `search` asks for the token `fail` as `fail* OR .fail*`, so it never gets
a result whose call alone has the word. It reads each result to confirm it, since a word may be joined from several:
`parse-config` has the word `parseconfig` too. Invariants:

- Every token of an indexed text is a term itself, or `.token` is. So `token*` and `.token*` together find every passage
  with a token of that beginning.
- Passages overlap by 256 characters, so a token is whole in at least one of them.
- Only the first 256 KB of a body are indexed. Longer bodies are known by the length of their block index, and read.

The number of a passage says where it is: each `seq` of the session has 64 numbers, and passage `n` of a result begins
at character `n * STRIDE`. Numbers therefore grow with time, and the newest passages have the largest ones.

The index is never written while a result is stored. It is brought up to date in bounded batches when somebody asks.
"""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from keepwhole.canonical.entry import Result, parse_header
from keepwhole.canonical.media import TEXT
from keepwhole.canonical.utf8 import count_unfinished, decode, showable
from keepwhole.errors import StoreError
from keepwhole.store.protocol import Body, Place, is_over
from keepwhole.store.reader import BodyReader
from keepwhole.store.word_index import WordIndex

INDEXED_BYTES = 262_144
"""How much of a body is indexed; the rest is read when nothing else is found."""
STRIDE = 4_096
EACH = 64
"""Numbers that belong to one result."""
LONG = 160
"""A block index longer than this belongs to a body that is longer than what is indexed."""
_OVERLAP = 256
_DESCRIBED = 600
"""Characters of a call's arguments whose words every passage of its result has too."""
_LONGEST = 64
"""Characters of a token that are indexed."""
_LITERAL, _CALL = ".", "_c"
"""How the terms for literal tokens and for words of the call begin; no word begins so."""


class IndexedPassages(ABC):
    """The passages of one session, or of one task or query of it, in a back end's index."""

    def __init__(self, task_id: str | None, query_id: str | None) -> None:
        self.is_all, self.indexed_to = True, 0
        self.only = (task_id, query_id)
        self._marks = [[mark] for mark in marks(task_id, query_id)]
        self._unindexed = WordIndex()

    @abstractmethod
    def _find(self, groups: Sequence[Sequence[str]], most: int, above: int) -> list[int]:
        """Return the newest passages in the index that have a term of every group; `term*` stands for a beginning."""

    @abstractmethod
    def _trace_ids(self, seqs: Sequence[int]) -> Mapping[int, str]:
        """Return the trace ids of these entries."""

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """Return the newest `most` passages above a number that have a word of every group, newest first."""
        if not groups or not all(groups):
            return []
        terms = [[term for word in group for term in (word, _CALL + word)] for group in groups]
        return self._newest(terms, most, above)

    def starting_with(self, token: str, most: int) -> list[int]:
        """Return the newest `most` passages with a word that begins with `token` in their text, newest first."""
        token = token[:_LONGEST]
        return self._newest([[f"{token}*", f"{_LITERAL}{token}*"]], most, 0)

    def _newest(self, groups: list[list[str]], most: int, above: int) -> list[int]:
        groups = [*groups, *self._marks]
        newer = self._unindexed.newest(groups, most, above)
        return list(dict.fromkeys([*newer, *self._find(groups, most, max(0, above))]))[:most]

    def places(self, numbers: Iterable[int]) -> dict[int, Place]:
        """Return the places of these passages; numbers that are not of this session are left out."""
        seqs = {number: number // EACH for number in numbers}
        traces = self._trace_ids(sorted(set(seqs.values())))
        return {number: _place(number, traces[seq], seq) for number, seq in seqs.items() if seq in traces}

    def add_unindexed(
        self, gather: Callable[[int], "tuple[int, PassageTerms]"], after: int, until: float | None
    ) -> None:
        """Hold the terms of results that are not in the index in memory: the record cannot be written.

        `gather` returns the terms of the next results after a position, and the position that they reach.
        """
        self.is_all = False
        while not is_over(until):
            try:
                up_to, found = gather(after)
            except StoreError:
                return  # a body cannot be read now
            if up_to == after:
                self.is_all = True
                return
            for number, terms in found:
                self._unindexed.add(number, terms)
                self.indexed_to = number // EACH
            after = up_to


PassageTerms = list[tuple[int, list[str]]]
"""Passages of results by number, each with its terms."""


def passages_of(seq: int, result: Result, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the terms of each passage of a result with this text."""
    from keepwhole.truncation.words import words  # its patterns are compiled only where somebody asks

    of_call = words(f"{result.tool} {(result.arguments or '')[:_DESCRIBED]}")
    own = marks(result.task_id, result.query_id)
    for at, start in enumerate(range(0, max(1, min(len(text), EACH * STRIDE)), STRIDE)):
        part = text[start : start + STRIDE + _OVERLAP]
        found = words(part)
        literal = [_LITERAL + token[:_LONGEST] for token in set(tokens(part)) - found]
        terms = {*found, *literal, *[_CALL + word for word in of_call - found]}
        yield seq * EACH + at, [*own, *sorted(terms)]


def tokens(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, in lower case.

    >>> tokens("snake_case, 1,234")
    ['snake', 'case', '1', '234']
    """
    return re.findall(r"[^\W_]+", text.lower())


def _place(number: int, trace_id: str, seq: int) -> Place:
    start = number % EACH * STRIDE
    return Place(trace_id, seq, start, start + STRIDE + _OVERLAP)


def marks(task_id: str | None, query_id: str | None) -> list[str]:
    """Return the marks of the passages that belong to both of these, as far as they are given."""
    return [_mark(kind, name) for kind, name in (("t", task_id), ("q", query_id)) if name is not None]


def _mark(kind: str, name: str) -> str:
    return f"_{kind}{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def belongs(result: Result, task_id: str | None, query_id: str | None) -> bool:
    """Return whether a result belongs to this task and query, as far as they are given."""
    return task_id in (None, result.task_id) and query_id in (None, result.query_id)


def first_text(reader: BodyReader) -> str:
    """Return the text at the beginning of a body that is indexed."""
    data = reader.read(0, INDEXED_BYTES)
    stop = len(data) if len(data) == reader.facts.size else len(data) - count_unfinished(data, len(data))
    return showable(decode(data[:stop], reader.facts.encoding))


def has_words(result: Result) -> bool:
    """Return whether a result is text."""
    return result.media_type == TEXT


def long_results(rows: Iterable[tuple[str, bytes, bytes, bytes]], only: tuple[str | None, str | None]) -> Iterator[str]:
    """Yield the trace ids of the text results of a task or query, from rows of trace id, header, digest and blocks."""
    for trace_id, raw, digest, blocks in rows:
        try:
            header, _ = parse_header(raw, digest, blocks)
        except StoreError:  # one damaged entry must not hide the others
            continue
        if isinstance(header, Result) and has_words(header) and belongs(header, *only):
            yield trace_id


def stored_passages(
    open_body: Callable[[Body], BodyReader], seq: int, row: tuple[bytes, bytes, bytes, bytes | None, str | None]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the passages of a stored result, from its header, digest, blocks, body and blob; none if it is not text."""
    raw, digest, blocks, inline, blob = row
    header, facts = parse_header(raw, digest, blocks)
    if isinstance(header, Result) and has_words(header):
        with open_body(Body(facts, inline, blob)) as reader:
            text = first_text(reader)
        yield from passages_of(seq, header, text)
