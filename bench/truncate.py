"""What it costs to cut a result: every strategy on 100 KB, large texts beside plain references, stored ones, memory.

Judged by CPU of the thread: everything here works in memory, and nothing waits. Cuts are to 8,000 characters, where a
text of this size would by default get a preview of 2,000: the larger cut costs more. Every subject runs a few
times per round and its fastest run counts, since a busy machine only makes runs slower. Memory is what
`tracemalloc` sees at its peak beyond the text itself.
"""

import importlib
import json
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from statistics import median
from typing import Any

import keepwhole
from bench import floors
from bench.floors import Floor
from bench.support.row import Row, row_with_floor, row_without_floor
from bench.support.setup import Setup, say
from bench.support.timing import run_interleaved
from bench.texts import planted_results
from bench.texts.planted_results import Sample
from keepwhole.standalone.processor import TruncationProcessor
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.configuration import Limits, ToolOverride, TruncationConfiguration
from keepwhole.truncation.cut import Source, TextSource, render_body
from keepwhole.truncation.error_words import ERRORS
from keepwhole.truncation.head_tail import head_tail
from keepwhole.truncation.notice import omitted
from keepwhole.truncation.present import Artifact, present
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import STRATEGIES, StrategyOptions

_SMALL, _MIDDLE, _LARGE = 100_000, 1_000_000, 10_000_000
_LIMIT = 8_000
_TOO_SLOW = 0.5
"""CPU seconds for 1 MB after which 10 MB are not tried."""
_TOOL = "bench"
_TEXT = ("head", "tail", "head_tail", "lines")
_ARTIFACT = Artifact(artifact_id="art_0123456789abcdef", summary=_TOOL, size=_SMALL)


def _search(size: int) -> Sample:
    """Short matches of a search, about two hundred per file."""
    fact = "halcyon_berth = 7741"
    lines = [f"src/part_{n // 200}/module.py:{n}: value_{n} = {n}\n" for n in range(size // 43)]
    lines.insert(len(lines) // 2, f"src/harbour.py:12: {fact}\n")
    return Sample("".join(lines), fact, "Where is halcyon_berth set?")


def _listing(size: int) -> Sample:
    """Paths, about fifty per folder."""
    fact = "assets/halcyon_berth.svg"
    lines = [f"src/part_{n // 50}/module_{n}.py\n" for n in range(size // 26)]
    lines.insert(len(lines) // 2, fact + "\n")
    return Sample("".join(lines), fact, "Where is the picture of halcyon_berth?")


_KINDS: Mapping[str, tuple[str, Callable[[int], Sample]]] = {
    "head": ("prose", planted_results.prose),
    "tail": ("prose", planted_results.prose),
    "head_tail": ("prose", planted_results.prose),
    "lines": ("prose", planted_results.prose),
    "element": ("JSON", planted_results.json_array),
    "element ": ("XML", planted_results.xml),
    "element  ": ("search", _search),
    "element   ": ("listing", _listing),
    "rows": ("CSV", planted_results.csv),
    "rows ": ("NDJSON", planted_results.ndjson),
    "log": ("log", planted_results.log),
    "code": ("Python", planted_results.source_code),
    "diff": ("diff", planted_results.diff),
}
"""The texts for every strategy; trailing spaces distinguish several kinds for one strategy."""


class _Shelf:
    """The smallest possible storage, so that its cost does not count."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def create(self, content: str, tool_name: str) -> str:
        self.kept[_ARTIFACT.artifact_id] = content
        return _ARTIFACT.artifact_id

    def get(self, artifact_id: str, *, lines: tuple[int, int] | None = None) -> str:
        return self.kept[artifact_id]


@dataclass(frozen=True)
class _Subject:
    """A function to time, and how often it runs per round."""

    run: Callable[[], object]
    times: int = 1

    def least_cpu(self) -> float:
        """CPU seconds of the fastest run."""
        least = float("inf")
        for _ in range(self.times):
            started = time.thread_time()
            self.run()
            least = min(least, time.thread_time() - started)
        return least


def truncate(setup: Setup) -> list[Row]:
    parts = (_strategies, _splitlines, _stored_rows, _json, _log, _memory)
    return [row for part in parts for row in part(setup)]


def _rounds(setup: Setup, name: str, subjects: Mapping[str, _Subject]) -> dict[str, list[float]]:
    return run_interleaved(
        f"truncate {name}", setup.rounds, {key: subject.least_cpu for key, subject in subjects.items()}
    )


def _configuration(strategy: str) -> TruncationConfiguration:
    own = ToolOverride(strategy=strategy)
    return TruncationConfiguration(inline_limit=_LIMIT, artifact_threshold=10**9, overrides={_TOOL: own})


def _limits(strategy: str, question: str = "") -> Limits:
    limits = _configuration(strategy).for_tool(_TOOL)
    return limits.replace(options=limits.options.replace(question=question))


def _process(strategy: str, text: str) -> TruncationResult:
    return TruncationProcessor(STRATEGIES, _Shelf(), _configuration(strategy)).process(text, _TOOL)


def _present(strategy: str, source: Source, question: str = "") -> TruncationResult:
    return present(source, _ARTIFACT, _limits(strategy, question), STRATEGIES)


def _check(strategy: str, shown: TruncationResult, source: Source, fact: str = "") -> None:
    """Check that the intended strategy made the cut, within the limit, covering all of the text."""
    used = shown.metadata.strategy_used
    if used != strategy or len(shown.content) > _LIMIT or not (shown.cut and shown.cut.covers(source.chars)):
        raise RuntimeError(f"{strategy}: not its cut, but {len(shown.content)} characters by {used}")
    if fact and fact not in shown.body:
        say(f"truncate: {strategy} does not keep what the question asks for")


def _strategies(setup: Setup) -> list[Row]:
    """Every strategy through the processor, then again with a question."""
    subjects: dict[str, _Subject] = {}
    floor_of: dict[str, Floor] = {}
    for key, (kind, make) in _KINDS.items():
        strategy, sample = key.strip(), make(_SMALL)
        text, question = sample.text, sample.question
        _check(strategy, _process(strategy, text), TextSource(text))
        plain, asked = f"`{strategy}`, 100 KB {kind}, processor", f"`{strategy}`, 100 KB {kind}, with a question"
        processor = TruncationProcessor(STRATEGIES, _Shelf(), _configuration(strategy))
        subjects[plain] = _Subject(lambda run=processor.process, text=text: run(text, _TOOL), 20)
        floor_of[plain] = floors.TRUNCATE_TEXT if strategy in _TEXT else floors.TRUNCATE_ANY
        if strategy not in ("head", "tail", "lines"):
            _check(strategy, _present(strategy, TextSource(text), question), TextSource(text), sample.fact)
            subjects[asked] = _Subject(
                lambda strategy=strategy, text=text, question=question: _present(strategy, TextSource(text), question),
                10,
            )
            floor_of[asked] = floors.TRUNCATE_ANY
    spent = _rounds(setup, "strategies", subjects)
    return [_milliseconds(name, spent[name], floor) for name, floor in floor_of.items()]


def _milliseconds(name: str, spent: list[float], floor: Floor) -> Row:
    values = [seconds * 1e3 for seconds in spent]
    return row_with_floor(name, f"{median(values):.3f} ms", "–", values, floor)


def _splitlines(setup: Setup) -> list[Row]:
    text, budget = planted_results.log(_MIDDLE, errors=30).text, _LIMIT
    options = StrategyOptions()

    def ours() -> str:
        source = TextSource(text)
        return render_body(head_tail(source, budget, options), source)

    if ours() != _naive(text, budget, options.head_ratio):
        raise RuntimeError("`head_tail` and the `splitlines` version keep different lines or count differently")
    processor = TruncationProcessor(STRATEGIES, _Shelf(), _configuration("head_tail"))
    naive, alone, whole = "splitlines", "`head_tail` on 1 MB", "`head_tail` on 1 MB through the processor"
    spent = _rounds(
        setup,
        "1 MB",
        {
            alone: _Subject(ours, 10),
            naive: _Subject(lambda: _naive(text, budget, options.head_ratio), 10),
            whole: _Subject(lambda: processor.process(text, _TOOL), 10),
        },
    )
    return [
        _ratio(alone, spent[alone], "a `splitlines` version", spent[naive], floors.TRUNCATE_SPLITLINES),
        _ratio(whole, spent[whole], "a `splitlines` version", spent[naive], None),
    ]


def _naive(text: str, budget: int, head_ratio: float) -> str:
    """A naive cut: whole lines of both ends, and a count of what is between them."""
    lines = text.splitlines(keepends=True)
    room = budget - len(omitted(len(lines), len(text)))
    head = _count_fitting(lines, int(room * head_ratio))
    size = sum(map(len, lines[:head]))
    tail = _count_fitting(lines[::-1], room - size)
    kept = size + sum(map(len, lines[len(lines) - tail :]))
    words = omitted(len(lines) - head - tail, len(text) - kept)
    return "".join((*lines[:head], words, *lines[len(lines) - tail :]))


def _count_fitting(lines: list[str], room: int) -> int:
    number = 0
    for line in lines:
        room -= len(line)
        if room < 0:
            break
        number += 1
    return number


def _ratio(what: str, ours: list[float], name: str, theirs: list[float], floor: Floor | None) -> Row:
    values = [one / other for one, other in zip(ours, theirs, strict=True)]
    figure, reference = f"{median(ours) * 1e3:.2f} ms", f"{name} {median(theirs) * 1e3:.2f} ms"
    if floor is None:
        return row_without_floor(what, figure, reference, values, "×")
    return row_with_floor(what, figure, reference, values, floor)


def _stored_rows(setup: Setup) -> list[Row]:
    """Stored results that are cut again, with the index and the shown blocks in memory."""
    sizes = {"100 KB": _SMALL, "1 MB": _MIDDLE, "10 MB": _LARGE}
    with keepwhole.session("bench", store=setup.path("truncate-home")) as session:
        readers: dict[str, BodyReader] = {}
        for name, size in sizes.items():
            text = planted_results.log(size, errors=30).text
            artifact = session.keep(_TOOL, None, text).artifact_id or ""
            readers[name] = session.open(artifact)
            again, fresh = _present("head_tail", readers[name]), _present("head_tail", TextSource(text))
            _check("head_tail", again, readers[name])
            if again.content != fresh.content:
                raise RuntimeError(f"{name} cut from the store is not what is cut from memory")
        limits = _limits("head_tail")
        subjects = {
            name: _Subject(lambda reader=reader: present(reader, _ARTIFACT, limits, STRATEGIES), 50)
            for name, reader in readers.items()
        }
        spent = _rounds(setup, "stored", subjects)
        for reader in readers.values():
            reader.close()
    rows = [_stored_row(name, spent[name]) for name in sizes]
    flat = [large / small for large, small in zip(spent["10 MB"], spent["100 KB"], strict=True)]
    large, small = (f"{median(spent[name]) * 1e6:.0f} µs" for name in ("10 MB", "100 KB"))
    return [
        *rows,
        row_with_floor("stored text cut again, 10 MB beside 100 KB", large, small, flat, floors.TRUNCATE_FLAT),
    ]


def _stored_row(name: str, spent: list[float]) -> Row:
    values = [seconds * 1e6 for seconds in spent]
    what = f"stored text of {name} cut again with `head_tail`, handle and index open"
    return row_with_floor(what, f"{median(values):.0f} µs", "–", values, floors.TRUNCATE_STORED)


def _json(setup: Setup) -> list[Row]:
    text = planted_results.json_array(_LARGE).text
    raw = text.encode()
    name, loads, dumps = _json_library()
    shown = _present("element", TextSource(text))
    _check("element", shown, TextSource(text))
    front, back = _check_array(shown.body, text)

    def load_cut_dump() -> object:
        found: list[object] = loads(raw)
        count = len(found) - front - back
        return dumps([*found[:front], f"... {count:,} items omitted ...", *found[len(found) - back :]])

    if [*json.loads(shown.body)] != [*json.loads(load_cut_dump())]:  # type: ignore[arg-type]
        raise RuntimeError(f"`element` and {name} give different arrays")
    what = "10 MB JSON array to 8,000 characters, valid, true count"
    spent = _rounds(
        setup,
        "JSON",
        {what: _Subject(lambda: _present("element", TextSource(text)), 3), name: _Subject(load_cut_dump, 1)},
    )
    return [_ratio(what, spent[what], f"{name} load, cut, dump", spent[name], floors.TRUNCATE_JSON)]


def _json_library() -> tuple[str, Callable[[bytes], Any], Callable[[object], Any]]:
    """`orjson` if it is installed; it is not a dependency of Keepwhole or of the benchmarks."""
    try:
        orjson: Any = importlib.import_module("orjson")
    except ImportError:
        return "the standard `json` (`orjson` is not installed; the floor is meant for it)", json.loads, json.dumps
    return "`orjson`", orjson.loads, orjson.dumps


def _check_array(body: str, text: str) -> tuple[int, int]:
    """The number of elements kept at each end; raises unless these and the count are correct."""
    original, shown = json.loads(text), json.loads(body)
    front = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(original, shown, strict=False)))
    back = len(shown) - front - 1
    if shown[front] != f"... {len(original) - front - back:,} items omitted ..." or shown[-back:] != original[-back:]:
        raise RuntimeError("`element` does not keep both ends and a true count")
    return front, back


def _log(setup: Setup) -> list[Row]:
    sample = planted_results.log(_LARGE, errors=9)
    text, raw = sample.text, sample.text.encode()
    shown = _present("log", TextSource(text))
    _check("log", shown, TextSource(text))
    if sample.fact not in shown.body or "similar lines" not in shown.body:
        raise RuntimeError("`log` does not keep the error line, or folds no repeats")
    words = [word.encode() for word in ERRORS]
    what, scans = "10 MB log with `log`, errors kept, repeats folded", "scans"
    spent = _rounds(
        setup,
        "log",
        {
            what: _Subject(lambda: _present("log", TextSource(text)), 3),
            scans: _Subject(lambda: [_scan(raw, word) for word in words], 3),
        },
    )
    name = f"{len(words)} `bytes.find` scans"
    return [_ratio(what, spent[what], name, spent[scans], floors.TRUNCATE_LOG)]


def _scan(raw: bytes, word: bytes) -> int:
    """The number of occurrences of `word`, by `find` alone."""
    count, at = 0, raw.find(word)
    while at >= 0:
        count, at = count + 1, raw.find(word, at + 1)
    return count


def _memory(setup: Setup) -> list[Row]:
    return [_memory_row(key.strip(), kind, make) for key, (kind, make) in _KINDS.items()]


def _memory_row(strategy: str, kind: str, make: Callable[[int], Sample]) -> Row:
    say(f"truncate memory: {strategy} on {kind}")
    what = f"memory while cutting 10 MB {kind} with `{strategy}`, the text itself not counted"
    text = make(_MIDDLE).text
    seconds = _Subject(lambda: _process(strategy, text)).least_cpu()
    if seconds > _TOO_SLOW:
        return Row(what, f"not measured: 1 MB takes {seconds:.1f} s", floor=str(floors.TRUNCATE_MEMORY), met=False)
    text = make(_LARGE).text
    peak, used = _peak(strategy, text)
    by = "processor" if used == strategy else f"processor, which fell back to `{used}`"
    return row_with_floor(what, f"{peak / 1e6:.1f} MB", by, [peak / len(text)], floors.TRUNCATE_MEMORY)


def _peak(strategy: str, text: str) -> tuple[int, str]:
    """The peak of memory in bytes, and the strategy that was used."""
    tracemalloc.start()
    try:
        shown = _process(strategy, text)
        return tracemalloc.get_traced_memory()[1], shown.metadata.strategy_used
    finally:
        tracemalloc.stop()
