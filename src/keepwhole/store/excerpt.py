"""The line that a search shows of a result, found by reading it.

Owns: which line that is, and looking through what no index holds. Must not know: how an index is kept.
"""

from collections.abc import Iterator

from keepwhole.canonical.media import TEXT
from keepwhole.canonical.utf8 import decode, showable
from keepwhole.errors import StoreError
from keepwhole.store.passages import INDEXED_BYTES
from keepwhole.store.protocol import Match, Row, Store, body_of, is_over, result_of
from keepwhole.store.reader import BodyReader


def match_of(store: Store, session: str, trace_id: str, wanted: list[str], until: float | None) -> Match | None:
    """The line that a result of a session is shown by; None where a word is missing in it after all."""
    row = store.find(session, trace_id)
    return None if row is None else _match_in(store, row, wanted, until)


def _match_in(store: Store, row: Row, wanted: list[str], until: float | None) -> Match | None:
    try:
        return first_match(store.open(body_of(row)), row.trace_id, wanted, until)
    except StoreError:  # one damaged body must not hide the others
        return None


def first_match(reader: BodyReader, trace_id: str, wanted: list[str], until: float | None = None) -> Match | None:
    """The first line with the most of the words, if all of them occur somewhere in the body."""
    missing, most, best = set(wanted), 0, None
    with reader:
        for number, line in _lines(reader, until):
            folded = line.lower()
            here = {word for word in wanted if word in folded}
            if len(here) > most:
                most, best = len(here), Match(trace_id=trace_id, line=number, text=showable(line[:500]))
            missing -= here
            if most == len(wanted):
                break
    return None if missing else best


def _lines(reader: BodyReader, until: float | None) -> Iterator[tuple[int, str]]:
    """The lines of a body with their numbers, in bounded memory however long a line is."""
    number, rest = 1, b""
    eol = reader.facts.eol.encode()
    for chunk in reader.stream():
        if is_over(until):
            return
        *whole, rest = (rest + chunk).split(eol)
        for line in whole:
            yield number, decode(line, "bytes")
            number += 1
        if len(rest) > INDEXED_BYTES:
            yield number, decode(rest, "bytes")
            rest = rest[-256:]
    if rest:
        yield number, decode(rest, "bytes")


def scan(
    store: Store,
    session: str,
    wanted: list[str],
    seen: set[str],
    limit: int,
    until: float | None,
    large_only: bool,
) -> list[Match]:
    """Search what the index does not hold: the bodies that go on after their first 256 KB, or all where it is old."""
    found: list[Match] = []
    for row in store.rows(session, kind="result"):
        if is_over(until):
            break
        if row.trace_id in seen or not _is_text(row) or (large_only and not _goes_on(row)):
            continue
        match = _match_in(store, row, wanted, until)
        if match is not None:
            found.append(match)
            if len(found) >= limit:
                break
    return found


def _goes_on(row: Row) -> bool:
    return body_of(row).facts.size > INDEXED_BYTES


def _is_text(row: Row) -> bool:
    return result_of(row).media_type == TEXT
