"""Selecting from 10,000 results and from 1,000,000 pointers, by a fixed set of rare, mixed and common questions.

Judged by CPU of the thread, since nothing waits for the disk; the wall time is printed too. Each question is asked
once per round; its time is the median over the rounds, "median" is that of all questions and "worst" the slowest
question. The index is updated before, which has its own row. The reference reads every text, or every pointer, once for
one question.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bench import floors
from bench.floors import Floor
from bench.support.row import Row, row_with_floor, row_without_floor
from bench.support.setup import Setup, say
from bench.texts.selection_questions import Made, Maker, pointer_questions, questions
from keepwhole import Session, SqliteStore
from keepwhole.canonical import ids
from keepwhole.canonical.entry import Result
from keepwhole.standalone.contexts.pointers import Pointers
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Draft

_BATCH = 500


@dataclass(frozen=True)
class Spent:
    """Milliseconds of one selection."""

    cpu: float
    wall: float


Times = dict[str, list[Spent]]


def select(setup: Setup) -> list[Row]:
    results, lines, pointers = (2_000, 20_000, 100_000) if setup.quick else (10_000, 200_000, 1_000_000)
    return [*_results(setup, results), *_lines(setup, lines), *_pointers(setup, pointers)]


def _results(setup: Setup, count: int) -> list[Row]:
    maker = Maker()
    made = [maker.result(number) for number in range(count)]
    session, spent = _keep_all(setup, "select-results", made)
    asked = list(questions(maker, count))
    times = _ask_all(setup, "results", asked, lambda query: session.select(query))
    texts = [each.text for each in made]
    session.store.close()
    reference = _clock(lambda: [text for text in texts if _shares(text, asked[2][1].split())])
    what = f"select from {count:,} results"
    size = sum(map(len, texts)) / 1e6
    rows = _rows(what, times, asked, reference, floors.SELECT_RESULTS)
    return [*rows, row_without_floor(f"{what}: index caught up", f"{size:.0f} MB of text", "–", [spent], " s", 1)]


def _lines(setup: Setup, count: int) -> list[Row]:
    maker = Maker()
    made = [maker.line(number) for number in range(count)]
    session, spent = _keep_all(setup, "select-lines", made)
    asked = list(pointer_questions(maker, count))
    times = _ask_all(setup, "short results", asked, lambda query: session.select(query))
    session.store.close()
    texts = [each.arguments for each in made]
    reference = _clock(lambda: [text for text in texts if _shares(text, asked[2][1].split())])
    what = f"select from {count:,} short results on disk"
    rows = _rows(what, times, asked, reference, floors.SELECT_POINTERS)
    return [*rows, row_without_floor(f"{what}: index caught up", "–", "–", [spent], " s", 1)]


def _pointers(setup: Setup, count: int) -> list[Row]:
    maker = Maker()
    say(f"select: {count:,} pointers")
    pointers = Pointers("/contexts")
    texts: list[str] = []
    for number in range(count):
        made = maker.line(number)
        pointers.add(f"read_file_{number}.json", made.tool, made.arguments, number % 100, None)
        texts.append(made.arguments)
    asked = list(pointer_questions(maker, count))
    times = _ask_all(setup, "pointers", asked, lambda query: pointers.best(query))
    reference = _clock(lambda: [text for text in texts if _shares(text, asked[2][1].split())])
    return _rows(f"select from {count:,} pointers in memory", times, asked, reference, floors.SELECT_POINTERS)


def _keep_all(setup: Setup, name: str, made: Sequence[Made]) -> tuple[Session, float]:
    """A session with these results on disk and an updated index, and the seconds that the update took."""
    say(f"select: keeping {len(made):,} results")
    store = SqliteStore(setup.path(name))
    session = Session("bench", store=store)
    session.keep("first", None, "the first one")
    for start in range(0, len(made), _BATCH):
        store.append(
            "bench", [made_draft(store, start + at, each) for at, each in enumerate(made[start : start + _BATCH])]
        )
    say("select: catching up the index")
    return session, _clock(lambda: session.select("zebra")).cpu / 1e3


def made_draft(store: SqliteStore, number: int, made: Made) -> Draft:
    """A made-up result, its body stored, ready to append."""
    taken = store.store_body(Feed(made.text), 1 << 40)
    taken.reader.close()
    trace_id = ids.trace_id(hashlib.sha512(b"%d" % number).digest())
    header = Result(
        at=1_700_000_000_000 + number,
        trace_id=trace_id,
        artifact_id=ids.artifact_id(1_700_000_000, trace_id),
        tool=made.tool,
        arguments=made.arguments,
    )
    return Draft(header=header, body=taken.body)


def _ask_all(setup: Setup, name: str, asked: Sequence[tuple[str, str]], ask: Callable[[str], object]) -> Times:
    times: Times = {query: [] for _, query in asked}
    for number in range(setup.rounds):
        say(f"select, {name}: round {number + 1} of {setup.rounds}")
        for _, query in asked:
            times[query].append(_clock(lambda query=query: ask(query)))
    return times


def _shares(text: str, words: Sequence[str]) -> bool:
    return any(word in text for word in words)


def _clock(run: Callable[[], object]) -> Spent:
    cpu, wall = time.thread_time(), time.perf_counter()
    run()
    return Spent((time.thread_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3)


def _rows(what: str, times: Times, asked: Sequence[tuple[str, str]], reference: Spent, floor: Floor) -> list[Row]:
    usual = {query: median(spent.cpu for spent in found) for query, found in times.items()}
    waited = median(spent.wall for found in times.values() for spent in found)
    middle, worst = median(usual.values()), max(usual.values())
    beside = f"every text read once {reference.cpu:.0f} ms"
    rows = [row_with_floor(f"{what}: median", f"{middle:.2f} ms", beside, list(usual.values()), floor)]
    rows.append(
        row_with_floor(
            f"{what}: worst", f"{worst:.2f} ms", f"median {middle:.2f} ms", [worst / middle], floors.SELECT_WORST
        )
    )
    for kind in ("rare", "mixed", "common"):
        own = [usual[query] for own, query in asked if own == kind]
        rows.append(row_without_floor(f"{what}: {kind}", f"{median(own):.2f} ms", "–", own, " ms"))
    return [*rows, row_without_floor(f"{what}: wall", f"{waited:.2f} ms", "–", [waited], " ms")]
