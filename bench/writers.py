"""Many processes on one session of one store, against the same load on bare SQLite without the turnstile.

Judged by wall time and by counting: a writer waits for those before it, and that wait is the figure. `BUSY`, gaps and
duplicates are counted over all rounds, the worst commit is the worst of all.
"""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench import floors
from bench.floors import Floor
from bench.support.row import Row, row_without_floor
from bench.support.setup import PYTHON, ROOT, Setup
from bench.support.timing import percentile, run_interleaved

_FILES = {"keepwhole": "record.db", "bare": "bare.db"}
_SECONDS = 6.0


@dataclass(frozen=True)
class Load:
    """What all writers of one round saw, and what the file contains afterwards."""

    times: list[float]
    errors: list[str]
    seconds: float
    gaps: int
    duplicates: int
    lost: int
    """Entries that were acknowledged and are not in the file."""


def writers(setup: Setup) -> list[Row]:
    count = 8 if setup.quick else 32
    seconds = _SECONDS / 2 if setup.quick else _SECONDS
    subjects = {kind: (lambda kind=kind: _load(setup, kind, count, seconds)) for kind in _FILES}
    loads = run_interleaved(f"writers ({count} processes)", setup.rounds, subjects)
    return _rows(f"{count} writers on one store", loads["keepwhole"], loads["bare"])


def _load(setup: Setup, kind: str, count: int, seconds: float) -> Load:
    folder = setup.path(f"writers-{kind}")
    env = {**setup.environment(folder), "PYTHONPATH": ROOT}
    command = (PYTHON, "-m", "bench.support.writer_process", kind, folder, str(seconds))
    try:
        _first(command, env, setup.folder)
        processes = [_start(command, env, setup.folder) for _ in range(count)]
        for process in processes:
            _wait_ready(process)
        answers = [json.loads(answer) for answer in _start_all(processes)]
        return _count_load(answers, os.path.join(folder, _FILES[kind]), seconds, before=count + 1)
    finally:
        shutil.rmtree(folder)


def _start(command: Sequence[str], env: Any, folder: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(command, env=env, cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _first(command: Sequence[str], env: Any, folder: str) -> None:
    """Create the store before the writers start."""
    process = _start((*command[:-1], "0"), env, folder)
    _wait_ready(process)
    process.communicate("\n")


def _wait_ready(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise RuntimeError("a writer could not start")


def _start_all(processes: "list[subprocess.Popen[str]]") -> list[str]:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return [process.communicate()[0] for process in processes]


def _count_load(answers: list[dict[str, Any]], path: str, seconds: float, before: int) -> Load:
    times = [one for answer in answers for one in answer["times"]]
    errors = [one for answer in answers for one in answer["errors"]]
    connection = sqlite3.connect(path)
    total, distinct, highest = connection.execute(
        "SELECT count(*), count(DISTINCT seq), max(seq) FROM entries"
    ).fetchone()
    connection.close()
    acknowledged = before + len(times) - len(errors)
    return Load(times, errors, seconds, highest - distinct, total - distinct, max(0, acknowledged - total))


def _rows(what: str, ours: list[Load], bare: list[Load]) -> list[Row]:
    def counts(loads: list[Load]) -> tuple[int, int]:
        return sum(len(load.errors) for load in loads), sum(load.gaps + load.duplicates + load.lost for load in loads)

    (errors, seq), (bare_errors, bare_seq) = counts(ours), counts(bare)
    worst, bare_worst = ([max(load.times) for load in loads] for loads in (ours, bare))
    high, bare_high = ([percentile(load.times, 0.99) for load in loads] for loads in (ours, bare))
    rate, bare_rate = ([len(load.times) / load.seconds for load in loads] for loads in (ours, bare))
    return [
        _greatest(f"{what}: errors (BUSY or any other)", [errors], f"bare {bare_errors}", floors.WRITERS_ERRORS),
        _greatest(f"{what}: worst commit", worst, f"bare {max(bare_worst):.2f} s", floors.WRITERS_WORST),
        _greatest(f"{what}: gaps, duplicates and losses in `seq`", [seq], f"bare {bare_seq}", floors.WRITERS_SEQ),
        row_without_floor(
            f"{what}: p99 commit", f"{median(high):.3f} s", f"bare {median(bare_high):.3f} s", high, " s", 3
        ),
        row_without_floor(
            f"{what}: commits a second",
            f"{median(rate):,.0f}/s",
            f"bare {median(bare_rate):,.0f}/s",
            [a / b for a, b in zip(rate, bare_rate, strict=True)],
            "×",
        ),
    ]


def _greatest(what: str, values: Sequence[float], reference: str, floor: Floor) -> Row:
    """A row judged by its greatest value."""
    greatest = max(values)
    value = f"{greatest:.{floor.digits}f}{floor.unit}"
    spread = f"{min(values):.{floor.digits}f}–{value}" if len(values) > 1 else "–"
    return Row(what, value, reference, value, spread, str(floor), floor.holds(greatest), greatest)
