"""A large output through a pipe into the store, against `cat file | tee copy | wc -l` to the same disk.

Judged by the CPU of all processes of the pipeline: wall time depends on the disk, and unlike `tee` the store waits for
it. Measured as the whole `keepwhole keep` process and as the store alone, with the `speed` extra and without it.
"""

import filecmp
import os
import shutil
from collections.abc import Callable
from statistics import median

from bench import floors
from bench.support.row import Row, row_with_floor
from bench.support.setup import KEEPWHOLE, PYTHON, ROOT, Setup, say
from bench.support.store_check import read_largest
from bench.support.timing import Run, pipeline, run_interleaved
from bench.texts.large_texts import KINDS, text_file
from keepwhole.store.protocol import SessionInfo
from keepwhole.store.sqlite.store import SqliteStore

_DRIVER = os.path.join(ROOT, "bench", "support", "store_process.py")
_TEE = "tee | wc -l"
_BARE = "python -c pass"
_WAYS: dict[str, tuple[tuple[str, ...], bool]] = {
    "`keep`, speed extra": ((*KEEPWHOLE, "keep", "--tool", "bench"), True),
    "`keep`, no extra": ((*KEEPWHOLE, "keep", "--tool", "bench"), False),
    "store alone, speed extra": ((PYTHON, _DRIVER), True),
    "store alone, no extra": ((PYTHON, _DRIVER), False),
}


def ingest(setup: Setup) -> list[Row]:
    return [row for kind in KINDS for row in _ingest(setup, kind)]


def _ingest(setup: Setup, kind: str) -> list[Row]:
    say(f"ingest: {kind} text of {setup.large / 1e6:,.0f} MB")
    source = text_file(kind, setup.large, setup.folder)
    for way in _WAYS:
        _check(setup, source, way)
    subjects: dict[str, Callable[[], Run]] = {_TEE: lambda: _tee(setup, source), _BARE: lambda: _bare(setup)}
    subjects |= {way: lambda way=way: _store_run(setup, source, way) for way in _WAYS}
    runs = run_interleaved(f"ingest {kind}", setup.rounds, subjects)
    size = f"{os.path.getsize(source) / 1e9:.2g} GB {kind}"
    return [*(_cpu_row(size, way, runs) for way in _WAYS), *(_memory_row(size, way, runs) for way in _WAYS)]


def _cpu_row(size: str, way: str, runs: dict[str, list[Run]]) -> Row:
    ratios = [run.cpu / tee.cpu for run, tee in zip(runs[way], runs[_TEE], strict=True)]
    return row_with_floor(
        f"{size} through a pipe, {way}: CPU",
        _times(runs[way]),
        f"`{_TEE}` {_times(runs[_TEE])}",
        ratios,
        floors.INGEST_CPU,
    )


def _memory_row(size: str, way: str, runs: dict[str, list[Run]]) -> Row:
    over = [(run.last.peak - bare.last.peak) / 1e6 for run, bare in zip(runs[way], runs[_BARE], strict=True)]
    peak, bare = (median(run.last.peak for run in runs[name]) / 1e6 for name in (way, _BARE))
    return row_with_floor(
        f"{size} through a pipe, {way}: memory over the interpreter",
        f"{peak:.1f} MB",
        f"`{_BARE}` {bare:.1f} MB",
        over,
        floors.INGEST_MEMORY,
    )


def _times(runs: list[Run]) -> str:
    return f"{median(run.cpu for run in runs):.2f} s CPU, {median(run.wall for run in runs):.2f} s wall"


def _tee(setup: Setup, source: str) -> Run:
    copy = setup.path("copy")
    try:
        env = setup.environment(setup.folder)
        return pipeline(("cat", source), ("tee", copy), ("wc", "-l"), env=env, folder=setup.folder)
    finally:
        os.unlink(copy)


def _bare(setup: Setup) -> Run:
    return pipeline((PYTHON, "-c", "pass"), env=setup.environment(setup.folder), folder=setup.folder)


def _store_run(setup: Setup, source: str, way: str, look: Callable[[str], None] = lambda home: None) -> Run:
    """One run into a new store, which is created before the clock starts; `look` is called before it is removed."""
    command, speed = _WAYS[way]
    home = setup.path("ingest-home")
    _make_store(home)
    try:
        env = setup.environment(home, speed=speed)
        run = pipeline(("cat", source), command, env=env, folder=setup.folder)
        look(home)
        return run
    finally:
        shutil.rmtree(home)


def _make_store(home: str) -> None:
    store = SqliteStore(home)
    store.open_session(SessionInfo(name="bench"))
    store.close()


def _check(setup: Setup, source: str, way: str) -> None:
    """Check that the stored bytes are those of the file, and that bytes, lines and characters are counted correctly."""
    say(f"ingest: {way} stores the same bytes, lines and characters?")
    counted = _count(source)

    def look(home: str) -> None:
        facts, blob = read_largest(home)
        if not filecmp.cmp(source, blob, shallow=False):
            raise RuntimeError(f"{way} stored other bytes than it was given")
        if (facts.size, facts.lines, facts.chars) != counted:
            raise RuntimeError(f"{way} counted {facts.size, facts.lines, facts.chars}, in truth {counted}")

    _store_run(setup, source, way, look)


def _count(path: str) -> tuple[int, int, int]:
    """The bytes, lines and characters of a file, counted by reading it as text."""
    lines = chars = 0
    with open(path, encoding="utf-8", newline="") as file:
        while piece := file.read(1 << 20):
            lines += piece.count("\n")
            chars += len(piece)
    return os.path.getsize(path), lines, chars
