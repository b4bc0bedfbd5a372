"""Durable `keep` of small and large results, against a bare loop that does the same syncs and commits.

Judged by wall time, since waiting for the disk is most of it. Syncs are noisy and drift within seconds, so both sides
take turns, one result each, and the medians of every fifty are compared. A result over its limit is also cut while it
is kept; the rows "shown whole" leave that out, so that the costs of storing and of cutting are separate.
"""

import time
from collections.abc import Callable
from statistics import median

import keepwhole
from bench import floors
from bench.support.bare_log import BareLog
from bench.support.row import Row, row_with_floor
from bench.support.setup import Setup, say
from bench.texts.large_texts import text_file
from keepwhole.truncation.configuration import TruncationConfiguration

Keep = Callable[[bytes], object]
_BATCH = 50
_SIZES = {"1 KB": 1_000, "100 KB": 100_000}


def keep(setup: Setup) -> list[Row]:
    rows: list[Row] = []
    for size in _SIZES:
        for kind in ("str", "bytes"):
            rows.append(_keep(setup, size, kind, TruncationConfiguration()))
    whole = TruncationConfiguration(inline_limit=1_000_000, artifact_threshold=1_000_000)
    return [*rows, _keep(setup, "100 KB", "str", whole), _keep(setup, "100 KB", "bytes", whole)]


def _keep(setup: Setup, size: str, kind: str, policy: TruncationConfiguration) -> Row:
    how = ", shown whole" if policy.inline_limit > _SIZES[size] > 8_000 else ""
    place = f"{size}-{kind}{how}".replace(" ", "")
    bodies = _bodies(setup, _SIZES[size])
    bare = BareLog(setup.path(f"bare-{place}"))
    plain = bare.keep_row if size == "1 KB" else bare.keep_file
    with keepwhole.session("bench", store=setup.path(f"keep-{place}"), policy=policy) as session:
        ours = _keeper(session, kind)
        _check(session, bodies[0], ours)
        batches = setup.rounds * 2
        pairs: list[tuple[float, float]] = []
        for number in range(batches):
            say(f"keep {size} {kind}: batch {number + 1} of {batches}")
            pairs.append(_batch(ours, plain, bodies))
    bare.close()
    return _row(f"durable `keep` of {size}, {kind}{how}", pairs)


def _keeper(session: keepwhole.Session, kind: str) -> Callable[[bytes], str]:
    def keep_one(body: bytes) -> str:
        shown = session.keep("bench", None, body.decode() if kind == "str" else body)
        if shown.problem is not None:
            raise shown.problem
        return shown.trace_id or ""

    return keep_one


def _check(session: keepwhole.Session, body: bytes, kept: Callable[[bytes], str]) -> None:
    if session.recall_bytes(kept(body)) != body:
        raise RuntimeError("what was recalled is not what was kept")


def _bodies(setup: Setup, size: int) -> list[bytes]:
    """Different pieces of a log."""
    with open(text_file("ASCII", 20_000_000, setup.folder), "rb") as file:
        return [file.read(size) for _ in range(_BATCH)]


def _batch(ours: Keep, plain: Keep, bodies: list[bytes]) -> tuple[float, float]:
    """The median seconds of one `keep` on each side."""
    times: dict[Keep, list[float]] = {ours: [], plain: []}
    order = [ours, plain]
    for body in bodies:
        for side in order:
            times[side].append(_clock(side, body))
        order.reverse()  # a sync may also write data of the other side, so neither is always second
    return median(times[ours]), median(times[plain])


def _clock(keep_one: Keep, body: bytes) -> float:
    started = time.perf_counter()
    keep_one(body)
    return time.perf_counter() - started


def _row(what: str, pairs: list[tuple[float, float]]) -> Row:
    ours, bare = (median(pair[side] for pair in pairs) for side in (0, 1))
    figure, reference = (f"{1 / seconds:,.0f}/s ({seconds * 1e3:.2f} ms)" for seconds in (ours, bare))
    return row_with_floor(what, figure, f"bare loop {reference}", [b / a for a, b in pairs], floors.KEEP_RATE)
