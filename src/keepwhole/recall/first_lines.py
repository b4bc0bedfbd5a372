"""The lines of the newest results that share most with a question, found by reading: what can be said in a second.

Owns: what is shown of a session that is not indexed yet, before `select` can answer.
Must not know: how an index is stored, how lines are printed.

A term counts where one of its spellings occurs in a result, in any case; forms that differ more are found once they are
indexed. As in `select`, a term is worth more the fewer of the results that were read have it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nlargest
from typing import NamedTuple

from keepwhole.errors import StoreError
from keepwhole.recall.scorer import Wanted, idf, terms
from keepwhole.store.passages import belongs, has_words
from keepwhole.store.protocol import Match, Row, Store, body_of, is_over, result_of
from keepwhole.store.text_search import first_match, folded_blocks, rows_backwards

_MOST = 5


class _Read(NamedTuple):
    """A result that was read, and the spelling that it has of each term."""

    row: Row
    held: dict[str, str]


def first_lines(
    store: Store, session: str, query: str, until: float, *, task_id: str | None = None, query_id: str | None = None
) -> list[Match]:
    """Return the best lines of the newest results, best first, from as many results as there is time to read."""
    wanted = terms(query)
    read = list(_read(store, session, wanted, until, (task_id, query_id)))
    holding = Counter(word for each in read for word in each.held)
    worth = {word: wanted[word].weight * idf(len(read), count) for word, count in holding.items()}

    def score(each: _Read) -> tuple[float, int]:
        return sum(worth[word] for word in each.held), each.row.seq

    best = nlargest(_MOST, (each for each in read if each.held), key=score)
    return [match for each in best if (match := _line(store, each)) is not None]


def _read(
    store: Store, session: str, wanted: Wanted, until: float, only: tuple[str | None, str | None]
) -> Iterable[_Read]:
    """Read results, the newest first, as long as there is time; skip what is damaged or of another task."""
    for light in rows_backwards(store, session):
        if is_over(until):
            return
        try:
            result = result_of(light)
            row = store.entry(session, light.seq) if has_words(result) and belongs(result, *only) else None
            if row is not None:
                yield _Read(row, _held(store, row, wanted, until))
        except StoreError:
            continue


def _held(store: Store, row: Row, wanted: Wanted, until: float) -> dict[str, str]:
    """Return the first spelling of each term that a result has."""
    missing = dict(wanted)
    held: dict[str, str] = {}
    longest = max((len(form) for term in wanted.values() for form in term.spellings), default=0)
    with store.open(body_of(row)) as reader:
        for folded in folded_blocks(reader, longest):
            for word in list(missing):
                found = next((form for form in missing[word].spellings if form in folded), None)
                if found is not None:
                    held[word] = found
                    del missing[word]
            if not missing or is_over(until):
                break
    return held


def _line(store: Store, read: _Read) -> Match | None:
    """Return the line of a result that has the most of its terms."""
    spellings: Sequence[str] = list(dict.fromkeys(read.held.values()))
    try:
        return first_match(store.open(body_of(read.row)), read.row.trace_id, list(spellings))
    except StoreError:
        return None
