"""The passages of a session by their words, caught up in bounded batches when somebody asks."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from keepwhole.canonical.entry import Result
from keepwhole.errors import StoreError
from keepwhole.store.passages import EACH, Place, going_on, marks, passage_words, places_of
from keepwhole.store.postgres.catch_up import Index, Words, catch_up, gather, quoted, session_mark, up_to
from keepwhole.store.protocol import is_over
from keepwhole.store.word_index import WordIndex

if TYPE_CHECKING:
    from keepwhole.store.postgres.store import PostgresStore

_LONGEST = 400
"""Characters of a word that are indexed; a word of the server has at most 2,046 bytes."""
_MANY = 100_000
_INSERT = "INSERT INTO passages (session, number, words) VALUES (%s, %s, %s::text::tsvector) ON CONFLICT DO NOTHING"
_NEWEST = (
    "SELECT number FROM passages WHERE words @@ %s::text::tsquery AND session = %s AND number > %s "
    "ORDER BY number DESC LIMIT %s"
)
_COUNTED = "SELECT count(*) FROM (SELECT 1 FROM entries WHERE session = %s AND kind = 'result' LIMIT %s) AS counted"
_BEYOND = (  # as the partial index has it, `GOES_ON` spelled out
    "SELECT trace_id, header, digest, blocks FROM entries WHERE session = %s AND kind = 'result' "
    "AND length(blocks) > 160 ORDER BY seq DESC LIMIT 100"
)


def passages_of(
    store: "PostgresStore", session: str, task_id: str | None, query_id: str | None, until: float | None
) -> "PostgresPassages":
    """The passages of a session, or of one task or query of it."""
    number = store.number_of(session) or 0
    is_all = catch_up(store, _INDEX, number, until)
    found = PostgresPassages(store, number, task_id, query_id)
    if not is_all:
        found.add_unindexed(until)
    return found


class PostgresPassages:
    """The passages of one session, or of one task or query of it."""

    def __init__(self, store: "PostgresStore", number: int, task_id: str | None, query_id: str | None) -> None:
        self._store, self._number, self._only = store, number, (task_id, query_id)
        self._groups = [[mark] for mark in marks(task_id, query_id)]
        self._unindexed = WordIndex()
        self.is_all = True

    def size(self) -> int:
        """How many results there are; of very many about, by the number of the last entry."""
        counted: int = self._store.select(_COUNTED, (self._number, _MANY))[0][0]
        if counted < _MANY:
            return counted
        return self._store.select("SELECT max(seq) FROM entries WHERE session = %s", (self._number,))[0][0] or 0

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """The newest passages above a number that have a word of every group, at most so many."""
        if not groups or not all(groups):
            return []
        groups = [*groups, *self._groups]
        either = ["(" + " | ".join(_spelled(word) for word in group) + ")" for group in groups]
        asked = " & ".join([quoted(session_mark(self._number)), *either])
        found = self._store.select(_NEWEST, (asked, self._number, max(0, above), most))
        newer = self._unindexed.newest(groups, most, above)
        return list(dict.fromkeys([*newer, *(number for (number,) in found)]))[:most]

    def add_unindexed(self, until: float | None) -> None:
        """Hold the words of what is not in the index, for this question only: the record cannot be written."""
        after, self.is_all = up_to(self._store, _INDEX, self._number), False
        while not is_over(until):
            try:
                last, found = gather(self._store, _UNWRITTEN, self._number, after)
            except StoreError:
                return  # a body cannot be read now
            if last == after:
                self.is_all = True
                return
            for number, words in found:
                self._unindexed.add(number, words.split())
            after = last

    def places(self, numbers: Iterable[int]) -> dict[int, Place]:
        """Where these passages lie."""
        wanted = list(numbers)
        query = "SELECT seq, trace_id FROM entries WHERE session = %s AND seq = ANY(%s)"
        found = dict(self._store.select(query, (self._number, sorted({number // EACH for number in wanted}))))
        return places_of(wanted, found)

    def beyond(self) -> Iterator[str]:
        """The trace ids of results that go on after what is indexed, the newest first."""
        return going_on(self._store.select(_BEYOND, (self._number,)), self._only)


def _spelled(word: str) -> str:
    return quoted(word[:_LONGEST])


def _passages(seq: int, result: Result, text: str) -> Iterator[tuple[int, list[str]]]:
    own = marks(result.task_id, result.query_id)
    for at, words in enumerate(passage_words(result, text)):
        yield seq * EACH + at, [*own, *sorted(words)]


def _written(seq: int, result: Result, text: str) -> Words:
    return ((number, " ".join(map(_spelled, words))) for number, words in _passages(seq, result, text))


def _unwritten(seq: int, result: Result, text: str) -> Words:
    return ((number, " ".join(words)) for number, words in _passages(seq, result, text))


_INDEX = Index("passages", _INSERT, _written)
_UNWRITTEN = Index("passages", _INSERT, _unwritten)
