"""Passages: results as an index sees them, some 4,000 characters at a time, each known by its words.

Owns: where passages lie, which words and marks each has, and what a back end's index must answer.
Must not know: how an index is kept, what a word is worth.

A passage's number says where it lies: 64 numbers for each `seq` of the session, and passage `n` of a result begins at
character `n * STRIDE`. Marks are words of our own that say which task and query a passage belongs to.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from keepwhole.canonical.entry import Result, parse_header
from keepwhole.canonical.media import TEXT
from keepwhole.canonical.utf8 import decode, showable, unfinished
from keepwhole.store.protocol import Body
from keepwhole.store.reader import BodyReader

INDEXED_BYTES = 262_144
"""How much of a body is indexed; what lies beyond is scanned when nothing else is found."""
STRIDE = 4_096
EACH = 64
"""Numbers that belong to one result."""
GOES_ON = 160
"""A block index longer than this is one of a body that is longer than what is indexed."""
_OVERLAP = 256
_DESCRIBED = 600
"""Characters of a call's arguments that every passage of its result is known by too."""


class Place(NamedTuple):
    """Where a passage lies."""

    trace_id: str
    seq: int
    start: int
    stop: int


class Passages(Protocol):
    """The passages of one session, found by their words."""

    is_all: bool
    """Whether everything on record is among them; otherwise there was no time to index it."""

    def size(self) -> int:
        """How many results there are, about."""
        ...

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """The newest passages above a number that have a word of every group, at most so many, the newest first."""
        ...

    def places(self, numbers: Iterable[int]) -> dict[int, Place]:
        """Where these passages lie; what is not of this session is left out."""
        ...

    def beyond(self) -> Iterator[str]:
        """The trace ids of results that go on after what is indexed, some of the newest, the newest first."""
        ...


def passage_words(result: Result, text: str) -> Iterator[set[str]]:
    """The words of each passage of a text, those of the call among them."""
    from keepwhole.truncation.words import words  # its patterns are compiled only where somebody asks

    described = words(f"{result.tool} {(result.arguments or '')[:_DESCRIBED]}")
    for start in range(0, max(1, min(len(text), EACH * STRIDE)), STRIDE):
        yield words(text[start : start + STRIDE + _OVERLAP]) | described


def place_of(number: int, trace_id: str, seq: int) -> Place:
    """The place of a passage of this result."""
    start = number % EACH * STRIDE
    return Place(trace_id, seq, start, start + STRIDE + _OVERLAP)


def marks(task_id: str | None, query_id: str | None) -> list[str]:
    """The marks of what belongs to both of these, as far as they are given."""
    return [_mark(kind, name) for kind, name in (("t", task_id), ("q", query_id)) if name is not None]


def belongs(result: Result, task_id: str | None, query_id: str | None) -> bool:
    """Whether a result was kept under these, as far as they are given."""
    return task_id in (None, result.task_id) and query_id in (None, result.query_id)


def _mark(kind: str, name: str) -> str:
    return f"_{kind}{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def first_text(reader: BodyReader) -> str:
    """The text at the beginning of a body that is indexed."""
    data = reader.read(0, INDEXED_BYTES)
    stop = len(data) if len(data) == reader.facts.size else len(data) - unfinished(data, len(data))
    return showable(decode(data[:stop], reader.facts.encoding))


def is_indexed(result: Result) -> bool:
    """Whether a result has words."""
    return result.media_type == TEXT


def places_of(numbers: Sequence[int], traces: Mapping[int, str]) -> dict[int, Place]:
    """Where these passages lie, given the trace ids of their results by `seq`; those of none are left out."""
    known = ((number, number // EACH) for number in numbers)
    return {number: place_of(number, traces[seq], seq) for number, seq in known if seq in traces}


def going_on(rows: Iterable[tuple[str, bytes, bytes, bytes]], only: tuple[str | None, str | None]) -> Iterator[str]:
    """The trace ids of results with words that belong to a task or query: trace id, header, digest, blocks of each."""
    for trace_id, raw, digest, blocks in rows:
        header, _ = parse_header(raw, digest, blocks)
        if isinstance(header, Result) and is_indexed(header) and belongs(header, *only):
            yield trace_id


def indexed_text(
    opened: Callable[[Body], BodyReader], row: tuple[bytes, bytes, bytes, bytes | None, str | None]
) -> tuple[Result, str] | None:
    """A result and what is indexed of it; None where it has no words. `row`: header, digest, blocks, body, blob."""
    raw, digest, blocks, inline, blob = row
    header, facts = parse_header(raw, digest, blocks)
    if not isinstance(header, Result) or not is_indexed(header):
        return None
    with opened(Body(facts, inline, blob)) as reader:
        return header, first_text(reader)
