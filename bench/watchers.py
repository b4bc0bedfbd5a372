"""Appends to a PostgreSQL record with the trigger that notifies watchers, against no trigger at all.

Judged by wall time. The clients are connections of two processes that insert rows as an append does, so that they wait
for the server and not for Python. `plain` is a trigger that notifies of every append.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from statistics import median

import psycopg

from bench.support.postgres_server import database
from bench.support.row import Row, row_without_floor
from bench.support.setup import Setup
from bench.support.timing import run_interleaved
from keepwhole.store.postgres.address import Address, address_of
from keepwhole.store.postgres.store import PostgresStore

_PROCESSES = 2
_PLAIN = (
    "CREATE OR REPLACE FUNCTION {0}.notify_watchers() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN PERFORM pg_notify((SELECT salt FROM {0}.record), ''); RETURN NULL; END $$"
)
_OURS = "SELECT pg_get_functiondef('{0}.notify_watchers'::regproc)"
_INSERT = (
    "INSERT INTO entries (session, seq, kind, trace_id, at, stored, previous, header, digest, chain, blocks, body) "
    "VALUES (%s, %s, 'result', %s, 0, 0, '', '', '', '', '', %s)"
)


def watchers(setup: Setup) -> list[Row]:
    with database(setup) as server:
        url = server.record()
        return [row for clients in (8, 32) for row in _compare(setup, url, clients)]


def _compare(setup: Setup, url: str, clients: int) -> list[Row]:
    seconds = 1.0 if setup.quick else 2.0
    words = {"unwatched": False, "watched": True, "plain, watched": True, "no trigger": False}
    subjects: dict[str, Callable[[], float]] = {
        name: (lambda name=name, watches=watches: _rate(url, setup, name, watches, clients, seconds))
        for name, watches in words.items()
    }
    found = run_interleaved(f"PostgreSQL: {clients} clients, watched or not", setup.rounds, subjects)
    bare = found.pop("no trigger")
    return [
        row_without_floor(
            f"PostgreSQL: appends of {clients} clients, {name}",
            f"{median(rates):,.0f}/s",
            f"no trigger {median(bare):,.0f}/s",
            [ours / plain for ours, plain in zip(rates, bare, strict=True)],
            "×",
        )
        for name, rates in found.items()
    ]


def _rate(url: str, setup: Setup, name: str, watches: bool, clients: int, seconds: float) -> float:
    address = address_of(url)
    with _trigger(address, name), _watch(url, setup.path("watching"), watches):
        begins = multiprocessing.Barrier(_PROCESSES)
        told: Queue[int] = multiprocessing.Queue()
        given = (address, clients // _PROCESSES, seconds, begins, told)
        processes = [multiprocessing.Process(target=_work, args=given) for _ in range(_PROCESSES)]
        for process in processes:
            process.start()
        count = sum(told.get() for _ in processes)
        for process in processes:
            process.join()
    return count / seconds


@contextmanager
def _trigger(address: Address, name: str) -> Generator[None]:
    """Set the trigger of a subject; afterwards restore the trigger and empty the record."""
    with psycopg.connect(address.url, autocommit=True) as admin:
        row = admin.execute(_OURS.format(address.schema).encode()).fetchone()
        assert row is not None
        if name.startswith("plain"):
            admin.execute(_PLAIN.format(address.schema).encode())
        state = "DISABLE" if name == "no trigger" else "ENABLE"
        admin.execute(f"ALTER TABLE {address.schema}.entries {state} TRIGGER seen_by_watchers".encode())
        yield
        admin.execute(row[0].encode())
        admin.execute("SET session_replication_role = replica")  # so that no trigger refuses it
        admin.execute(f"TRUNCATE {address.schema}.entries, {address.schema}.sessions CASCADE".encode())


@contextmanager
def _watch(url: str, folder: str, watches: bool) -> Generator[None]:
    if not watches:
        yield
        return
    store, is_listening = PostgresStore(url, folder), threading.Event()
    store.watch(is_listening.set)
    is_listening.wait(10)
    yield
    store.close()


def _work(address: Address, clients: int, seconds: float, begins: Barrier, told: "Queue[int]") -> None:
    counts: list[int] = []
    ready = threading.Barrier(clients + 1)
    threads = [
        threading.Thread(target=_client, args=(address, number, seconds, ready, counts)) for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    begins.wait()
    ready.wait()
    for thread in threads:
        thread.join()
    told.put(sum(counts))


def _client(address: Address, number: int, seconds: float, ready: threading.Barrier, counts: list[int]) -> None:
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {address.schema}".encode())
        made = "INSERT INTO sessions (name, created_at, ephemeral) VALUES (%s, 0, false) RETURNING id"
        row = connection.execute(made, (f"{os.getpid()}/{number}",)).fetchone()
        assert row is not None
        ready.wait()
        seq, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            seq += 1
            with connection.pipeline(), connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", (f"{row[0]}",))
                connection.execute(_INSERT, (row[0], seq, f"t{seq}", bytes(1_000)))
        counts.append(seq)
