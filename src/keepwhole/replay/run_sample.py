"""Which of the runs in the logs are replayed, and how they are read again.

Owns: samples by digest, so that nobody chooses the runs, and batches of runs that one process reads.
Must not know: policies.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.logs.reader import read_runs
from keepwhole.logs.run import Run
from keepwhole.replay.survey import LoggedRun, RunLocation

REPLAYED = 40_000_000
"""The most characters of all runs in a sample: about a minute on two processors."""
FEWEST = 3
"""The fewest runs of each source and length in a sample, if there are that many."""
MOST: Mapping[str, int] = MappingProxyType({"short": 12, "mid": 12, "long": 40})
"""Runs of each length and source in a sample of fixed size."""
LARGEST = 120_000
"""A run with a result of more characters is not in a sample of fixed size."""


def sample_within(runs: Iterable[LoggedRun], budget: int = REPLAYED) -> list[LoggedRun]:
    """Return all runs, or if they are too large the same share of each source and length, in order of digests."""
    runs = list(runs)
    total = sum(run.chars for run in runs)
    if total <= budget:
        return runs
    groups: dict[tuple[str, str], list[LoggedRun]] = {}
    for run in sorted(runs, key=_digest):
        groups.setdefault((run.source, run.length), []).append(run)
    share = budget / total
    return [run for group in groups.values() for run in group[: max(FEWEST, round(share * len(group)))]]


def sample_fixed(runs: Iterable[LoggedRun], most: Mapping[str, int] = MOST) -> list[LoggedRun]:
    """Return a fixed number of runs of each source and length, in order of digests: for figures that are compared."""
    taken: Counter[tuple[str, str]] = Counter()
    drawn: list[LoggedRun] = []
    for run in sorted(runs, key=_digest):
        if run.largest <= LARGEST and taken[run.source, run.length] < most[run.length]:
            taken[run.source, run.length] += 1
            drawn.append(run)
    return drawn


def first_within(runs: Iterable[LoggedRun], budget: float) -> list[LoggedRun]:
    """Return the first runs in order of digests, as many as `budget` characters allow, but at least one."""
    drawn: list[LoggedRun] = []
    for run in sorted(runs, key=_digest):
        budget -= run.chars
        if budget < 0 and drawn:
            break
        drawn.append(run)
    return drawn


def _digest(run: LoggedRun) -> str:
    return run.digest


class Batch(NamedTuple):
    """Runs of one file that one process reads in one pass."""

    path: Path
    ordinals: tuple[int, ...]


def batches(runs: Iterable[LoggedRun], parts: int) -> list[Batch]:
    """Return the runs by file, those of a large file in several batches, so that there are about `parts` batches."""
    runs = sorted(runs, key=lambda run: run.location)
    most = sum(run.chars for run in runs) / max(1, parts)
    found: list[Batch] = []
    size = 0
    for run in runs:
        joins_last = found and found[-1].path == run.location.path and size + run.chars <= most
        size = size + run.chars if joins_last else run.chars
        before = found.pop().ordinals if joins_last else ()
        found.append(Batch(run.location.path, (*before, run.location.ordinal)))
    return found


def read_batch(batch: Batch) -> Iterator[Run]:
    """Yield the runs of a batch, one at a time."""
    wanted, last = set(batch.ordinals), batch.ordinals[-1]
    runs = (found for found in read_runs(batch.path) if isinstance(found, Run))
    for ordinal, run in enumerate(runs):
        if ordinal in wanted:
            yield run
        if ordinal >= last:
            return


def longest_first(found: Iterable[Batch], runs: Sequence[LoggedRun]) -> list[Batch]:
    """Return the largest batches first, so that no process is left with one at the end."""
    chars = {run.location: run.chars for run in runs}
    return sorted(found, key=lambda batch: -sum(chars[RunLocation(batch.path, at)] for at in batch.ordinals))
