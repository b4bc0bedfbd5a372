"""The first search in a session of 1 GB that nobody has searched before, and in a small one beside it.

Judged by wall time from the start of the command, since a person waits for it: until its first line, and until it ends.
Each round begins with the record as it was before any search. The reference reads every body once, unchecked, and looks
for one word; its wall time is from the same round. The CPU of the process is printed too.
"""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from bench import floors
from bench.select import made_draft
from bench.support.row import Row, row_with_floor, row_without_floor
from bench.support.setup import KEEPWHOLE, PYTHON, Setup, say
from bench.texts.selection_questions import Made, Maker
from keepwhole import Session, SqliteStore

_SIZES = (4_000, 20_000, 60_000, 150_000, 400_000)
"""Characters of the results, in turn."""
_BATCH = 100
_READ = """
import pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*"):
    if path.is_file() and b"quokka" in path.read_bytes().lower():
        print(path)
print("read")
"""


class Searched(NamedTuple):
    """Seconds until the first line and until the end, of wall time, and seconds of CPU."""

    first: float
    end: float
    cpu: float


def search(setup: Setup) -> list[Row]:
    home, size = setup.path("search-home"), setup.large
    count = _keep(home, size)
    newest, oldest, other = (f"artifact-{number:06d}" for number in (count - 2, 3, count + 1))
    words = (*KEEPWHOLE, "artifacts", "search", "--session")
    asked: dict[str, Sequence[str]] = {
        "a word in the newest result": (*words, "large", newest),
        "a word in the oldest result": (*words, "large", oldest),
        "a word in no result": (*words, "large", "quokka"),
        "a word in a session of 1 MB beside it": (*words, "small", other),
        "a question": (*KEEPWHOLE, "search", "--session", "large", f"where does {newest} begin?"),
    }
    nowhere = "a word in no result"
    to_the_end = ("a word in the oldest result", nowhere)
    found: dict[str, list[Searched]] = {name: [] for name in asked}
    reference: list[Searched] = []
    for number in range(setup.rounds):
        say(f"search: round {number + 1} of {setup.rounds}")
        reference.append(_run((PYTHON, "-c", _READ, os.path.join(home, "blobs")), setup, home, 0))
        for name, command in asked.items():
            _restore(home)
            code = None if name == "a question" else int(name == nowhere)
            found[name].append(_run(command, setup, home, code))
    what = f"first search of {size / 1e9:.2g} GB"
    read = f"every body read once {median(one.end for one in reference):.1f} s"
    rows: list[Row] = []
    for name, spent in found.items():
        figure = f"{median(one.first for one in spent):.2f} s, {median(one.cpu for one in spent):.2f} s CPU"
        if name in to_the_end:
            ratios = [one.end / other.end for one, other in zip(spent, reference, strict=True)]
            rows.append(row_without_floor(f"{what}: {name}", figure, read, ratios, "×"))
        else:
            first = [one.first for one in spent]
            rows.append(row_with_floor(f"{what}: {name}, first line", figure, read, first, floors.SEARCH_FIRST))
    return rows


def _keep(home: str, size: int) -> int:
    """Keep results of this many bytes in a session, and 1 MB in another one; return how many the first one has."""
    say(f"search: keeping {size / 1e6:,.0f} MB")
    maker, chance = Maker(), random.Random(5)
    pool = "\n".join(maker.result(number).text for number in range(3_000))
    store = SqliteStore(home)
    number, counts = 0, list[int]()
    for name, whole in (("large", size), ("small", 1_000_000)):
        Session(name, store=store).keep("first", None, "the first one")
        while whole > 0:
            texts: list[str] = []
            while whole > 0 and len(texts) < _BATCH:
                length = _SIZES[len(texts) % len(_SIZES)]
                start = chance.randrange(len(pool) - length)
                texts.append(f"artifact-{number + len(texts):06d}\n{pool[start : start + length]}")
                whole -= length
            drafts = [made_draft(store, number + at, Made("bash", "{}", text)) for at, text in enumerate(texts)]
            store.append(name, drafts)
            number += len(texts)
        counts.append(number)
    store.close()
    shutil.copy(os.path.join(home, "record.db"), os.path.join(home, "before"))
    return counts[0]


def _restore(home: str) -> None:
    """Put the record back as it was before any search."""
    path = os.path.join(home, "record.db")
    for end in ("-wal", "-shm"):
        if os.path.exists(path + end):
            os.unlink(path + end)
    shutil.copy(os.path.join(home, "before"), path)


def _run(command: Sequence[str], setup: Setup, home: str, code: int | None) -> Searched:
    """Run a command until it ends with this code; or, without one, until its first line: an answer that needs the index
    takes minutes."""
    begun, cpu = time.perf_counter(), os.times().children_user + os.times().children_system
    environ = setup.environment(home)
    with subprocess.Popen(command, env=environ, cwd=setup.folder, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        if not running.stdout.readline():
            raise RuntimeError(f"{' '.join(command)} printed nothing")
        first = time.perf_counter() - begun
        if code is None:
            running.terminate()
        running.stdout.read()
    end = time.perf_counter() - begun
    if code not in (None, running.returncode):
        raise RuntimeError(f"{' '.join(command)} failed")
    return Searched(first, end, os.times().children_user + os.times().children_system - cpu)
