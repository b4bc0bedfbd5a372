"""Reads recorded runs from files, and draws the sample that figures are given for."""

import gzip
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from holdfast.errors import UsageError
from holdfast.replay.run import Run, run_of

MOST: Mapping[str, int] = MappingProxyType({"short": 12, "mid": 12, "long": 40})
"""Runs of each length that are taken from a source."""
LARGEST = 120_000
"""Characters of a result; a run with a larger one is set apart."""


def files(paths: Iterable[Path]) -> list[Path]:
    """The files among `paths`, and those in its folders."""
    found = [one for path in paths for one in (sorted(path.glob("*.jsonl*")) if path.is_dir() else [path])]
    if not found:
        raise UsageError("There are no runs here. Give a `.jsonl` or `.jsonl.gz` file, or a folder of them.")
    return found


def read_runs(path: Path) -> Iterator[Run]:
    """The runs in a file of one JSON record a line, packed or not."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield run_of(msgspec.json.decode(line))
            except msgspec.DecodeError as error:
                raise UsageError(f"{path}, line {number}: no JSON ({error}).") from error


def sample(runs: Iterable[Run], most: Mapping[str, int] = MOST) -> list[Run]:
    """The first runs of each length in the order of their digests: a draw that nobody chose."""
    taken: Counter[str] = Counter()
    drawn: list[Run] = []
    for run in sorted(runs, key=_digest):
        if run.largest <= LARGEST and taken[run.length] < most[run.length]:
            taken[run.length] += 1
            drawn.append(run)
    return drawn


def _digest(run: Run) -> str:
    return hashlib.sha256(f"{run.source}\n{run.id}".encode()).hexdigest()
