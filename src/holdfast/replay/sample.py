"""Draws the runs that figures are given for."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from holdfast.replay.run import Run

MOST: Mapping[str, int] = MappingProxyType({"short": 12, "mid": 12, "long": 40})
"""Runs of each length that are taken from a source."""
LARGEST = 120_000
"""Characters of a result; a run with a larger one is set apart."""


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
