"""A record of ten million entries against one of a hundred thousand, both in one PostgreSQL server.

Judged by wall time. Both records have sessions of the same length; each query is about a random one of the newest
thousand sessions, so that the session is new to the store each time. Both records take turns, one query each, and the
medians of every batch are compared. Takes minutes to load and about 15 GB of disk: it runs only if it is named.
"""

import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from statistics import median

import psycopg

from bench import floors
from bench.support.bulk_load import LENGTH, SIZE, START, load, name_of
from bench.support.postgres_server import Database, database
from bench.support.row import Row, row_with_floor
from bench.support.setup import Setup, say
from keepwhole import Session
from keepwhole.canonical import ids
from keepwhole.canonical.entry import Result
from keepwhole.store.feed import Feed
from keepwhole.store.postgres.store import PostgresStore
from keepwhole.store.protocol import Draft
from keepwhole.store.verify import verify

_NEWEST = 1_000
_BATCH = 25
Ask = Callable[["Filled"], object]


class Filled:
    """A record with many entries, and a random choice among its newest sessions."""

    def __init__(self, setup: Setup, server: Database, count: int) -> None:
        self.count, self.sessions = count, count // LENGTH
        began, url = time.monotonic(), server.record()
        _set_syncs(server, "off")
        load(url, count)
        _set_syncs(server, "on")
        say(f"{count:,} entries are there after {time.monotonic() - began:.0f} s")
        self.store = PostgresStore(url, setup.path("scale-home"))
        self._chance = random.Random(count)
        if not verify(self.store, self.any_session()).whole:
            raise RuntimeError("what was loaded is not what would have been appended")

    def any_session(self) -> str:
        return name_of(self._chance.randint(self.sessions - min(_NEWEST, self.sessions) + 1, self.sessions))

    def __enter__(self) -> "Filled":
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()


def _append(filled: Filled) -> object:
    trace_id = ids.trace_id(os.urandom(ids.RANDOM_BYTES))
    at = START + filled.sessions * 7_000
    result = Result(at=at, trace_id=trace_id, artifact_id=ids.artifact_id(1, trace_id), tool="bench", call_id=trace_id)
    taken = filled.store.store_body(Feed(os.urandom(SIZE)), 1 << 30)
    return filled.store.append(filled.any_session(), [Draft(result, taken.body)], once=True)


def _view(filled: Filled) -> object:
    return list(filled.store.rows(filled.any_session(), light=True))


def _list(filled: Filled) -> object:
    return filled.store.sessions(newest=50)


def _search(filled: Filled) -> object:
    return filled.store.search(filled.any_session(), "parser ledger")


def _select(filled: Filled) -> object:
    return Session(filled.any_session(), store=filled.store).select("which parser of the ledger went through")


_ASKED: Mapping[str, Ask] = {
    "append": _append,
    f"view of a session of {LENGTH}": _view,
    "list of the newest 50 sessions": _list,
    "search in a session": _search,
    "select from a session": _select,
}


def postgres_scale(setup: Setup) -> list[Row]:
    sizes = (20_000, 200_000) if setup.quick else (100_000, 10_000_000)
    with database(setup) as server, ExitStack() as stack:
        small, large = (stack.enter_context(Filled(setup, server, size)) for size in sizes)
        return [_row(setup, what, ask, small, large) for what, ask in _ASKED.items()]


def _set_syncs(server: Database, syncs: str) -> None:
    """Switch syncs off for loading and on for measuring."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET fsync = {syncs}".encode())
        connection.execute("ALTER SYSTEM SET max_wal_size = '8GB'")
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(1)


def _row(setup: Setup, what: str, ask: Ask, small: Filled, large: Filled) -> Row:
    _batch(ask, small, large)  # warm up: connections, plans and pages as in a store in use
    pairs: list[tuple[float, float]] = []
    for number in range(setup.rounds):
        say(f"{what}: batch {number + 1} of {setup.rounds}")
        pairs.append(_batch(ask, small, large))
    figure, reference = (f"{median(pair[side] for pair in pairs) * 1e3:.2f} ms" for side in (1, 0))
    return row_with_floor(
        f"PostgreSQL, {large.count:,} entries in {large.sessions:,} sessions: {what}",
        figure,
        f"{small.count:,} in {small.sessions:,}: {reference}",
        [of_large / of_small for of_small, of_large in pairs],
        floors.POSTGRES_SCALE,
    )


def _batch(ask: Ask, small: Filled, large: Filled) -> tuple[float, float]:
    """The median seconds of one query to each record."""
    times: dict[Filled, list[float]] = {small: [], large: []}
    order = [small, large]
    for _ in range(_BATCH):
        for filled in order:
            began = time.perf_counter()
            ask(filled)
            times[filled].append(time.perf_counter() - began)
        order.reverse()
    return median(times[small]), median(times[large])
