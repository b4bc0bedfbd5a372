"""Durable appends to a record in PostgreSQL, against a bare loop that inserts the same columns and commits.

Judged by wall time: what is waited for is the server and its disk. Clients are threads of one process or processes,
each with a session of its own; the bare ones have a connection each. Both sides take turns, a second or two each, and
the rates of each pair are compared.
"""

import json
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median
from typing import IO, cast

import psycopg

from bench import floors
from bench.database import database
from bench.postgres_client import BARE_TABLE
from bench.row import Row, judged, reported
from bench.setup import PYTHON, ROOT, Setup
from bench.timing import interleaved

_SIZES = {"1 KB": 1_000, "100 KB": 100_000}
_CLIENTS = ((1, "process"), (8, "threads"), (8, "processes"), (32, "threads"), (32, "processes"))


class Group:
    """Processes of clients that wait for the word to begin."""

    def __init__(self, setup: Setup, kind: str, url: str, clients: int, how: str, size: int) -> None:
        env = {**setup.environment(setup.path("pg-home")), "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
        processes, threads = (1, clients) if how == "threads" else (clients, 1)
        command = (PYTHON, "-m", "bench.postgres_client", kind, url, str(threads), str(size))
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
        """Additions a second, all clients together."""
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
        rows = [_compared(setup, url, size, *clients) for size in _SIZES for clients in _CLIENTS]
        return rows + [_kept(setup, url, size) for size in _SIZES]


def _compared(setup: Setup, url: str, size: str, clients: int, how: str) -> Row:
    what = f"PostgreSQL: durable append of {size}, {clients} {how}"
    ours, plain = _rates(setup, what, url, ("store", "bare"), size, clients, how)
    return judged(what, *_written(ours, plain), _ratios(ours, plain), floors.POSTGRES_APPEND)


def _kept(setup: Setup, url: str, size: str) -> Row:
    what = f"PostgreSQL: `keep` of {size}, 1 process"
    ours, plain = _rates(setup, what, url, ("session", "bare"), size, 1, "process")
    return reported(what, *_written(ours, plain), _ratios(ours, plain), "×")


def _rates(
    setup: Setup, what: str, url: str, kinds: Sequence[str], size: str, clients: int, how: str
) -> Sequence[list[float]]:
    seconds = 0.5 if setup.quick else 1.5
    with ExitStack() as stack:
        groups = {kind: stack.enter_context(Group(setup, kind, url, clients, how, _SIZES[size])) for kind in kinds}
        subjects = {kind: (lambda group=group: group.rate(seconds)) for kind, group in groups.items()}
        found = interleaved(what, setup.rounds, subjects)
    return [found[kind] for kind in kinds]


def _written(ours: list[float], plain: list[float]) -> tuple[str, str]:
    return f"{median(ours):,.0f}/s", f"bare loop {median(plain):,.0f}/s"


def _ratios(ours: list[float], plain: list[float]) -> list[float]:
    return [a / b for a, b in zip(ours, plain, strict=True)]
