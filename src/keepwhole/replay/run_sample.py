"""Which of the runs that were seen are replayed, and how they are read again.

Owns: draws that nobody chose (by digest), and batches of runs that one process reads.
Must not know: policies.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.logs.reader import read_runs
from keepwhole.logs.run import Run
from keepwhole.replay.survey import Logged, Where

REPLAYED = 40_000_000
"""Characters of the runs that are replayed under all policies: about a minute on two processors."""
FEWEST = 3
"""Runs of each source and length that are drawn in any case."""
MOST: Mapping[str, int] = MappingProxyType({"short": 12, "mid": 12, "long": 40})
"""Runs of each length that a sample of fixed size takes from a source."""
LARGEST = 120_000
"""Characters of a result; a run with a larger one is set apart from a sample of fixed size."""


def draw(runs: Iterable[Logged], budget: int = REPLAYED) -> list[Logged]:
    """All runs, or where they are too many the same share of each source and length, first by their digests."""
    runs = list(runs)
    total = sum(run.chars for run in runs)
    if total <= budget:
        return runs
    groups: dict[tuple[str, str], list[Logged]] = {}
    for run in sorted(runs, key=_digest):
        groups.setdefault((run.source, run.length), []).append(run)
    share = budget / total
    return [run for group in groups.values() for run in group[: max(FEWEST, round(share * len(group)))]]


def sample(runs: Iterable[Logged], most: Mapping[str, int] = MOST) -> list[Logged]:
    """A fixed number of runs of each source and length, first by their digests: for figures that are compared."""
    taken: Counter[tuple[str, str]] = Counter()
    drawn: list[Logged] = []
    for run in sorted(runs, key=_digest):
        if run.largest <= LARGEST and taken[run.source, run.length] < most[run.length]:
            taken[run.source, run.length] += 1
            drawn.append(run)
    return drawn


def tasks_of(runs: Iterable[Logged], budget: float) -> list[Logged]:
    """The runs of one source by whose results common strings are known: as many as `budget` characters allow."""
    drawn: list[Logged] = []
    for run in sorted(runs, key=_digest):
        budget -= run.chars
        if budget < 0 and drawn:
            break
        drawn.append(run)
    return drawn


def _digest(run: Logged) -> str:
    return run.digest


class Batch(NamedTuple):
    """Runs of one file that one process reads together."""

    path: Path
    ordinals: tuple[int, ...]


def batches(runs: Iterable[Logged], parts: int) -> list[Batch]:
    """The runs by file; those of a large file in several batches, so that there is work for about `parts`."""
    runs = sorted(runs, key=lambda run: run.where)
    most = sum(run.chars for run in runs) / max(1, parts)
    found: list[Batch] = []
    size = 0
    for run in runs:
        same = found and found[-1].path == run.where.path and size + run.chars <= most
        size = size + run.chars if same else run.chars
        before = found.pop().ordinals if same else ()
        found.append(Batch(run.where.path, (*before, run.where.ordinal)))
    return found


def read_again(batch: Batch) -> Iterator[Run]:
    """The runs of a batch, one at a time."""
    wanted, last = set(batch.ordinals), batch.ordinals[-1]
    runs = (found for found in read_runs(batch.path) if isinstance(found, Run))
    for ordinal, run in enumerate(runs):
        if ordinal in wanted:
            yield run
        if ordinal >= last:
            return


def longest_first(found: Iterable[Batch], runs: Sequence[Logged]) -> list[Batch]:
    """The batches with the most to do first, so that no process is left with one at the end."""
    chars = {run.where: run.chars for run in runs}
    return sorted(found, key=lambda batch: -sum(chars[Where(batch.path, at)] for at in batch.ordinals))
