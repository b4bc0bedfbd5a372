"""`select`: the units of a whole record that are most relevant to a question, within a number of tokens.

Owns: the way from a question to units of text.
Must not know: sessions; it is given a store and a session's name.

Theory of operation. A record may have millions of results, of which a question concerns a few paragraphs. Each step
looks at less than the one before, and more closely:

    "why did the refund INV-20431 fail?"
      terms        inv20431 (weight 3), refund, fail             `scorer.terms`
      passages     #7 and #912 of the index, with scores         `ranking.rank_postings`, reads no text
      windows      result A, characters 3,900-6,300;             `_windows`: passages by result, neighbors joined,
                   result B, characters 0-1,200                  weak results left out
      units        the log event at 4,210, the paragraph         `_read`: the windows are read and split into units,
                   at 310, … each with a score                   every unit is scored
      selection    those that add most to the ones before        `_in_order` and `fit_units`

The index covers the beginning of every result. For a term that names something (an id, a path) and that the index
does not have, the rest of long results is scanned too (`_scan_rest`), newest first and bounded in bytes and time.

A unit's score is what its own terms are worth, plus half of what its call shares with the question, plus a fifth of
its passage's score. Units are then taken in the order in which each adds most to those before it, so the second unit
about the same thing counts half.

Invariants: a unit is shown in full, verbatim but for lone surrogates, and with the line that says how to read around
it; the selection never takes more than `budget` tokens, these lines included; a damaged result is skipped, never
fatal; `is_all` is False where time ran out before everything was looked at.
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
from keepwhole.recall.ranges import lines_near
from keepwhole.recall.rank import Ranked, rank_postings
from keepwhole.recall.scorer import Term, Wanted, order_by_gain, terms, unit_terms
from keepwhole.recall.selection import SelectedUnit, Selection, unit_text, units_text
from keepwhole.recall.selector import Candidate, Selector, choose_candidates
from keepwhole.store.passages import INDEXED_BYTES, STRIDE
from keepwhole.store.protocol import Body, Passages, Place, Store, body_of, entry_of, is_over
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.present import summarize
from keepwhole.truncation.sniff import sniff
from keepwhole.truncation.unit_bounds import LONGEST, unit_bounds
from keepwhole.truncation.words import words

BUDGET = 2_000
_MOST_RESULTS = 12
_FIRST, _WORTH_READING = 4, 0.45
"""The first few results are read, and others whose score is at least this share of the first one's."""
_MOST_READ = 400_000
"""Characters that are read for one question."""
_WHOLE = 32_768
"""A result up to this length is split into units as a whole, a longer one where its passages are."""
_MOST_SCANNED = 64_000_000
_MOST_UNITS = 12
"""Units of one stretch that may be shown."""
_MOST_CANDIDATES = 60
_SHARE = 0.2
"""Share of a passage's score that counts for each of its units."""
_CALL = 0.5
"""How much a term in the call counts, compared with one in the unit itself."""
_DESCRIBED = 600
_LONG_LINE = 2_000
"""Where lines are longer on average, positions are given in characters."""
_ACROSS = 64
_SHORTEST, _HEADING = 160, 80
"""Least characters of a unit, and tokens of the line above it: a small budget means smaller units."""
_LEAST_TOKENS = 40
"""Least tokens of a unit with the line above it."""


class _Scored(NamedTuple):
    """A unit with its score, before it is selected."""

    score: float
    shared: Mapping[str, float]
    seq: int
    result: Result
    reader: BodyReader
    start: int
    first_line: int
    text: str


class _Asked(NamedTuple):
    """A question as units are scored by it: its terms, how rare each is, how long a unit may be."""

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
    """Select the whole units that are most relevant to `query`: at most `budget` tokens, their headings included.

    At `until`, by the monotonic clock, it stops searching and selects from what was found so far.
    """
    wanted = terms(query)
    passages = store.passages(session, task_id=task_id, query_id=query_id, until=until)
    best = rank_postings(passages, passages.size(), wanted)
    windows = _windows(passages, best)
    windows += _scan_rest(store, session, passages, wanted, best, until)
    longest = max(_SHORTEST, min(LONGEST, 2 * (budget - _HEADING)))
    found = [_selected_unit(unit) for unit in _in_order(_read(store, session, windows, wanted, best, longest))]
    if selector is not None:
        found = [
            found[at]
            for at in choose_candidates(selector, query, [Candidate(unit.summary, unit.text) for unit in found])
        ]
    return fit_units(query, found, budget, passages.is_all)


def _in_order(units: Iterable[_Scored]) -> list[_Scored]:
    """The best units in the order in which each adds most to those before; of equal texts the newest."""
    ranked_units = sorted(units, key=lambda unit: (-unit.score, -unit.seq, unit.start))
    once = {unit.text.strip(): unit for unit in reversed(ranked_units)}
    few = [unit for unit in ranked_units if once[unit.text.strip()] is unit][:_MOST_CANDIDATES]
    return [few[at] for at in order_by_gain({at: unit.shared for at, unit in enumerate(few)}, len(few))]


def _windows(passages: Passages, best: Ranked) -> list[_Window]:
    """The results of the best passages, best first, each with the spans of its passages."""
    places = passages.places(number for number, _ in best.scores)
    by_result: dict[str, list[tuple[Place, float]]] = {}
    for number, score in best.scores:
        if number in places:
            by_result.setdefault(places[number].trace_id, []).append((places[number], score))
    found = [
        _Window(trace_id, _join_spans((place.start, place.stop) for place, _ in own), own[0][1])
        for trace_id, own in by_result.items()
    ]
    enough = _WORTH_READING * found[0].score if found else 0.0
    return [window for at, window in enumerate(found[:_MOST_RESULTS]) if at < _FIRST or window.score >= enough]


def _join_spans(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The spans, each widened by some text on either side, those that touch joined."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        start, stop = max(0, start - STRIDE // 2), stop + STRIDE // 2
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return tuple(found)


def _scan_rest(
    store: Store, session: str, passages: Passages, wanted: Wanted, best: Ranked, until: float | None
) -> list[_Window]:
    """Scan what the index does not cover for names that the index does not have; bounded, newest results first."""
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
    """The first position of any of these terms after what is indexed, searched in at most `most` bytes."""
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
    """Read the windows and yield their units with scores, up to `_MOST_READ` characters; skip damaged results."""
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
    described = _call_terms(result, asked)
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


def _call_terms(result: Result, asked: _Asked) -> dict[str, float]:
    """The terms that the call shares with the question, which count for every unit of its result."""
    held = words(f"{result.tool} {(result.arguments or '')[:_DESCRIBED]}") & asked.wanted.keys()
    return {word: _CALL * asked.wanted[word].weight * asked.rarity(word) for word in sorted(held)}


def _whole_lines(reader: BodyReader, start: int, stop: int) -> tuple[int, str]:
    """The text of a span without the half lines at its ends, and where that text begins."""
    stop = min(stop, reader.chars)
    text = reader.text(start, stop)
    skipped = text.find(reader.eol, 0, STRIDE // 2) + 1 if start else 0
    ended = text.rfind(reader.eol, len(text) - STRIDE // 2) + 1 if stop < reader.chars else 0
    return start + skipped, text[skipped : ended or len(text)]


def _selected_unit(unit: _Scored) -> SelectedUnit:
    result, reader, text = unit.result, unit.reader, unit.text
    last = unit.first_line + text.count(reader.eol, 0, len(text) - 1)
    return SelectedUnit(
        trace_id=result.trace_id,
        artifact_id=result.artifact_id,
        tool=result.tool,
        summary=summarize(result.tool, result.arguments),
        start=unit.start,
        stop=unit.start + len(text),
        first_line=unit.first_line,
        last_line=last,
        text=showable(text),
        score=unit.score,
        size=reader.facts.size,
        in_long_line=reader.chars > _LONG_LINE * reader.lines,
        near=lines_near(reader, unit.first_line, last),
    )


def fit_units(query: str, found: Sequence[SelectedUnit], budget: int, is_all: bool = True) -> Selection:
    """The selection of those units that fit, in this order."""
    units: list[SelectedUnit] = []
    tokens = 0
    for unit in found:
        if budget - tokens < _LEAST_TOKENS:
            break
        more = upper_bound(unit_text(unit))
        if tokens + more <= budget:
            units.append(unit)
            tokens += more
    while units and (tokens := upper_bound(units_text(units))) > budget:
        units.pop()
    return Selection(query=query, units=tuple(units), tokens=tokens if units else 0, is_all=is_all)
