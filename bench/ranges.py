"""100 lines anywhere in a large artifact, against a bare read and split at a known offset.

Judged by wall time, per call: one call is far shorter than the resolution of CPU clocks, and callers wait for it.
Every place is checked against an independent reading of the file first. Each block that is served is also hashed,
which the bare read does not do. "Cold" asks the kernel to drop both files from its cache before every call; a cache
below the kernel may still serve them.
"""

import os
import random
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from statistics import median

import keepwhole
from bench import floors
from bench.support.row import Row, row_with_floor, row_without_floor
from bench.support.setup import Setup, say
from bench.support.store_check import read_largest
from bench.support.timing import percentile
from bench.texts.large_texts import KINDS, text_file
from keepwhole.store.reader import BodyReader

_LINES = 100
_PLACES = 300
_SHARES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class Place:
    """100 lines: the number of the first, and where they are in the file."""

    first: int
    start: int
    stop: int

    @property
    def last(self) -> int:
        return self.first + _LINES - 1


@dataclass(frozen=True)
class Times:
    """Milliseconds of one round, per place."""

    ours: list[float]
    bare: list[float]


Read = Callable[[Place], object]


def ranges(setup: Setup) -> list[Row]:
    return [row for kind in KINDS for row in _ranges(setup, kind)]


def _ranges(setup: Setup, kind: str) -> list[Row]:
    source, home = text_file(kind, setup.large, setup.folder), setup.path(f"ranges-{kind}")
    say(f"ranges: keeping {kind} text of {setup.large / 1e6:,.0f} MB")
    places = _places(source)
    fd = os.open(source, os.O_RDONLY)
    with keepwhole.session("bench", store=home) as session:
        with open(source, "rb") as file:
            artifact = session.keep("bench", None, file).artifact_id or ""
        blob = os.open(read_largest(home)[1], os.O_RDONLY)

        def open_and_read(place: Place) -> str:
            with session.open(artifact) as reader:
                return reader.line_range(place.first, place.last)

        with session.open(artifact) as reader:
            _check(reader, fd, places)
            hot = _rounds(setup, f"{kind}, open", places, lambda at: reader.line_range(at.first, at.last), fd)
        opened = _rounds(setup, f"{kind}, opened for it", places, open_and_read, fd)
        cold = _rounds(setup, f"{kind}, cold", places, open_and_read, fd, drop=(blob, fd))
    for each in (fd, blob):
        os.close(each)
    what = f"100 lines of {os.path.getsize(source) / 1e9:.2g} GB {kind}"
    rows = [_row(f"{what}, handle open: {name}", hot, share, judge=name == "p50") for name, share in _SHARES.items()]
    rows += [_row(f"{what}, opened for it: p50", opened, 0.50), _row(f"{what}, opened for it, cold: p50", cold, 0.50)]
    return rows


def _places(source: str) -> list[Place]:
    """Random places, computed by reading every line of the file."""
    with open(source, "rb") as file:
        ends = array("Q", accumulate(map(len, file), initial=0))
    chance = random.Random(7)
    firsts = [chance.randrange(len(ends) - 1 - _LINES) for _ in range(_PLACES)]
    return [Place(first + 1, ends[first], ends[first + _LINES]) for first in firsts]


def _check(reader: BodyReader, fd: int, places: list[Place]) -> None:
    for place in places:
        if reader.line_range(place.first, place.last) != "\n".join(_bare(fd, place)):
            raise RuntimeError(f"lines {place.first}-{place.last} are not those of the file")


def _bare(fd: int, place: Place) -> list[str]:
    return os.pread(fd, place.stop - place.start, place.start).decode().split("\n")


def _rounds(
    setup: Setup, name: str, places: list[Place], read: Read, fd: int, drop: tuple[int, ...] = ()
) -> list[Times]:
    """The times of both sides, alternating at every place, for each round."""
    rounds: list[Times] = []
    for number in range(setup.rounds):
        say(f"ranges {name}: round {number + 1} of {setup.rounds}")
        times = Times([], [])
        for place in places:
            times.ours.append(_clock(read, place, drop))
            times.bare.append(_clock(lambda place: _bare(fd, place), place, drop))
        rounds.append(times)
    return rounds


def _clock(read: Read, place: Place, drop: tuple[int, ...]) -> float:
    for fd in drop:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    started = time.perf_counter()
    read(place)
    return (time.perf_counter() - started) * 1e3


def _row(what: str, rounds: list[Times], share: float, judge: bool = False) -> Row:
    ours = [percentile(times.ours, share) for times in rounds]
    bare = median(percentile(times.bare, share) for times in rounds)
    figure, reference = f"{median(ours):.3f} ms", f"bare read and split {bare:.3f} ms"
    if judge:
        return row_with_floor(what, figure, reference, ours, floors.RANGE_P50)
    return row_without_floor(what, figure, reference, ours, " ms", 3)
