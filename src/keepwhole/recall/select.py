"""`select`: the units of a whole record that have most to do with a question, within a number of tokens.

Owns: from a question to units. First the index says which passages may have them, then those are read and their
units scored; what lies beyond the index is scanned only for a name that the index does not know.
Must not know: sessions; it is given a store and a session's name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import islice
from typing import NamedTuple

from keepwhole.canonical.body import BLOCK
from keepwhole.canonical.entry import Entry, Result
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import StoreError
from keepwhole.models.tokens import upper_bound
from keepwhole.recall.found import Found, Selection, text_of, written
from keepwhole.recall.ranking import Ranked, ranked
from keepwhole.recall.scorer import Term, Wanted, in_turn, terms, unit_terms
from keepwhole.recall.selector import Candidate, Selector, chosen
from keepwhole.store.passages import INDEXED_BYTES, STRIDE, Passages, Place
from keepwhole.store.protocol import Body, Store, body_of, entry_of, is_over
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.present import summarise
from keepwhole.truncation.sniff import sniff
from keepwhole.truncation.unit_bounds import LONGEST, unit_bounds
from keepwhole.truncation.words import words

BUDGET = 2_000
_MOST_RESULTS = 12
_FIRST, _WORTH_READING = 4, 0.45
"""The first few results are read, and others that promise about half as much as the first."""
_MOST_READ = 400_000
"""Characters that are read for one question."""
_WHOLE = 32_768
"""A result up to this length is split into units as a whole, a longer one where its passages are."""
_MOST_SCANNED = 64_000_000
_MOST_UNITS = 12
"""Units of one stretch that may be shown."""
_MOST_CANDIDATES = 60
_SHARE = 0.2
"""How much of what a result is worth counts for each of its units."""
_CALL = 0.5
"""How much what the call shares with the question counts, compared with the unit itself."""
_DESCRIBED = 600
_LONG_LINE = 2_000
"""Where lines are longer on average, places are told in characters."""
_ACROSS = 64
_SHORTEST, _HEADING = 160, 80
"""A unit has at least so many characters, the line above it so many tokens: a small budget means smaller units."""
_LEAST_TOKENS = 40
"""Nothing that says where it is from takes less."""


class _Scored(NamedTuple):
    """A unit before it is known whether it is shown."""

    score: float
    shared: Mapping[str, float]
    seq: int
    result: Result
    reader: BodyReader
    start: int
    first_line: int
    text: str


class _Asked(NamedTuple):
    """A question as units are held against it: its terms, how rare each is, how long a unit may be."""

    wanted: Wanted
    rarity: Callable[[str], float]
    longest: int


class _Window(NamedTuple):
    """A part of a result that is worth reading; the score is its best passage's."""

    trace_id: str
    spans: tuple[tuple[int, int], ...]
    score: float


def select(
    store: Store,
    session: str,
    query: str,
    *,
    budget: int = BUDGET,
    task_id: str | None = None,
    query_id: str | None = None,
    selector: Selector | None = None,
    until: float | None = None,
) -> Selection:
    """The units that have most to do with `query`, whole, `budget` tokens at most with the lines above them.

    Past `until`, by the monotonic clock, those found so far; the selection says that it is not of all.
    """
    wanted = terms(query)
    passages = store.passages(session, task_id=task_id, query_id=query_id, until=until)
    best = ranked(passages, passages.size(), wanted)
    windows = _windows(passages, best)
    windows += _scanned(store, session, passages, wanted, best, until)
    longest = max(_SHORTEST, min(LONGEST, 2 * (budget - _HEADING)))
    found = [_found(unit) for unit in _chosen(_read(store, session, windows, wanted, best, longest))]
    if selector is not None:
        found = [found[at] for at in chosen(selector, query, [Candidate(unit.summary, unit.text) for unit in found])]
    return fitted(query, found, budget, passages.is_all)


def _chosen(units: Iterable[_Scored]) -> list[_Scored]:
    """The best units in the order in which they add to each other; of those that say the same the newest."""
    ranked_units = sorted(units, key=lambda unit: (-unit.score, -unit.seq, unit.start))
    once = {unit.text.strip(): unit for unit in reversed(ranked_units)}
    few = [unit for unit in ranked_units if once[unit.text.strip()] is unit][:_MOST_CANDIDATES]
    return [few[at] for at in in_turn({at: unit.shared for at, unit in enumerate(few)}, len(few))]


def _windows(passages: Passages, best: Ranked) -> list[_Window]:
    """The results of the best passages, best first, each with where its passages lie."""
    places = passages.places(number for number, _ in best.scores)
    by_result: dict[str, list[tuple[Place, float]]] = {}
    for number, score in best.scores:
        if number in places:
            by_result.setdefault(places[number].trace_id, []).append((places[number], score))
    found = [
        _Window(trace_id, _joined((place.start, place.stop) for place, _ in own), own[0][1])
        for trace_id, own in by_result.items()
    ]
    enough = _WORTH_READING * found[0].score if found else 0.0
    return [window for at, window in enumerate(found[:_MOST_RESULTS]) if at < _FIRST or window.score >= enough]


def _joined(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same stretches, each with some text on either side, those that touch made one."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        start, stop = max(0, start - STRIDE // 2), stop + STRIDE // 2
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return tuple(found)


def _scanned(
    store: Store, session: str, passages: Passages, wanted: Wanted, best: Ranked, until: float | None
) -> list[_Window]:
    """Where a name that the index does not know stands in what lies beyond the index; a bounded scan, newest first."""
    unknown = [term for word, term in wanted.items() if term.weight > 2 and word not in best.rarity]
    if not unknown:
        return []
    found: list[_Window] = []
    left = _MOST_SCANNED
    for trace_id in islice(passages.beyond(), _MOST_RESULTS):
        row = store.find(session, trace_id)
        if left <= 0 or is_over(until):
            break
        if row is None:
            continue
        try:
            with store.open(body_of(row)) as reader:
                at = _first(reader, unknown, left, until)
                left -= reader.facts.size
        except StoreError:
            continue
        if at is not None:
            found.append(_Window(trace_id, ((max(0, at - STRIDE), at + STRIDE),), 0.0))
    return found


def _first(reader: BodyReader, unknown: Sequence[Term], most: int, until: float | None) -> int | None:
    """The first place of any of these terms after what is indexed, in so many bytes."""
    spellings = [spelling.encode() for term in unknown for spelling in term.spellings]
    stop = min(reader.facts.size, INDEXED_BYTES + most)
    for start in range(INDEXED_BYTES, stop, BLOCK):
        folded = reader.read(start - _ACROSS, start + BLOCK).lower()
        hits = [at for spelling in spellings if (at := folded.find(spelling)) >= 0]
        if hits:
            return reader.char_at(start - _ACROSS + min(hits))
        if is_over(until):
            break
    return None


def _read(
    store: Store, session: str, windows: Sequence[_Window], wanted: Wanted, best: Ranked, longest: int
) -> Iterator[_Scored]:
    """The units of all windows with their scores, as far as may be read; a damaged result is passed over."""
    rarest = max(best.rarity.values(), default=1.0)

    def rarity(word: str) -> float:
        return best.rarity.get(word, rarest)

    asked = _Asked(wanted, rarity, longest)
    left = _MOST_READ
    for window in windows:
        row = store.find(session, window.trace_id)
        if row is None or left <= 0:
            continue
        try:
            entry = entry_of(row)
            with store.open(Body(entry.facts, row.inline, row.blob)) as reader:
                yield from _units(entry, reader, window, asked)
                left -= min(reader.chars, sum(stop - start for start, stop in window.spans))
        except StoreError:
            continue


def _units(entry: Entry, reader: BodyReader, window: _Window, asked: _Asked) -> Iterator[_Scored]:
    """The units of one result that share terms with the question."""
    result = entry.header
    if not isinstance(result, Result):
        return
    spans = ((0, reader.chars),) if reader.chars <= _WHOLE else window.spans
    kind = sniff(reader) if reader.chars > _WHOLE else None
    described = _described(result, asked)
    promised = _SHARE * window.score + sum(described.values())
    for start, stop in spans:
        start, text = _whole_lines(reader, start, stop)
        bounds = unit_bounds(text, kind, asked.longest)
        shared = unit_terms(text, bounds, asked.wanted, asked.rarity)
        scores = {at: sum(own.values()) for at, own in shared.items()}
        for at in nlargest(_MOST_UNITS, scores, key=lambda at: scores[at]):
            own = text[bounds[at] : bounds[at + 1]]
            if own.strip():
                begin = start + bounds[at]
                line = reader.ends_before(begin) + 1
                yield _Scored(
                    scores[at] + promised, described | shared[at], entry.seq, result, reader, begin, line, own
                )


def _described(result: Result, asked: _Asked) -> dict[str, float]:
    """What the call itself shares with the question, which counts for all that it returned."""
    held = words(f"{result.tool} {(result.arguments or '')[:_DESCRIBED]}") & asked.wanted.keys()
    return {word: _CALL * asked.wanted[word].weight * asked.rarity(word) for word in sorted(held)}


def _whole_lines(reader: BodyReader, start: int, stop: int) -> tuple[int, str]:
    """The text of a stretch without the lines that it begins and ends in the middle of, and where it begins."""
    stop = min(stop, reader.chars)
    text = reader.text(start, stop)
    skipped = text.find(reader.eol, 0, STRIDE // 2) + 1 if start else 0
    ended = text.rfind(reader.eol, len(text) - STRIDE // 2) + 1 if stop < reader.chars else 0
    return start + skipped, text[skipped : ended or len(text)]


def _found(unit: _Scored) -> Found:
    result, reader, text = unit.result, unit.reader, unit.text
    return Found(
        trace_id=result.trace_id,
        artifact_id=result.artifact_id,
        tool=result.tool,
        summary=summarise(result.tool, result.arguments),
        start=unit.start,
        stop=unit.start + len(text),
        first_line=unit.first_line,
        last_line=unit.first_line + text.count(reader.eol, 0, len(text) - 1),
        text=showable(text),
        score=unit.score,
        size=reader.facts.size,
        in_long_line=reader.chars > _LONG_LINE * reader.lines,
    )


def fitted(query: str, found: Sequence[Found], budget: int, is_all: bool = True) -> Selection:
    """As many as fit, in this order."""
    units: list[Found] = []
    tokens = 0
    for unit in found:
        if budget - tokens < _LEAST_TOKENS:
            break
        more = upper_bound(written(unit))
        if tokens + more <= budget:
            units.append(unit)
            tokens += more
    while units and (tokens := upper_bound(text_of(units))) > budget:
        units.pop()
    return Selection(query=query, units=tuple(units), tokens=tokens if units else 0, is_all=is_all)
