"""Clients of a PostgreSQL server in one process: several threads, each adding to a session of its own.

Prints `ready`. For each line with a number of seconds it adds results for that time, and prints the seconds of each.
The bare client has a connection for each thread and does the least that is durable: one prepared INSERT and its commit.
The plain one follows the rules of an append with plain statements: lock, head, whether the call is known, row.
"""

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable

import psycopg

from bench.support.object_store import bare_put
from keepwhole.canonical import ids
from keepwhole.canonical.entry import Result
from keepwhole.store.feed import Feed
from keepwhole.store.postgres.store import PostgresStore
from keepwhole.store.protocol import Draft, SessionInfo

Add = Callable[[], None]
BARE_TABLE = """
CREATE TABLE IF NOT EXISTS bare (
    session bigint NOT NULL, seq bigint NOT NULL, kind text NOT NULL, trace_id text NOT NULL, artifact_id text,
    call_id bytea, at bigint NOT NULL, stored bigint NOT NULL, previous bytea NOT NULL, header bytea NOT NULL,
    digest bytea NOT NULL, chain bytea NOT NULL, blob text, blocks bytea NOT NULL, body bytea,
    PRIMARY KEY (session, seq)
);
ALTER TABLE bare ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS plain (LIKE bare INCLUDING ALL);
CREATE INDEX IF NOT EXISTS plain_by_call ON plain (session, call_id)
"""
_INSERT = b"INSERT INTO bare VALUES (%s, %s, 'result', %s, %s, %s, 1, 1, %s, %s, %s, %s, NULL, %s, %s)"
_KNOWN = b"SELECT seq FROM plain WHERE session = %s AND call_id = %s"
_HEAD = b"SELECT seq, chain FROM plain WHERE session = %s ORDER BY seq DESC LIMIT 1"
_HASH = b"\x55" * 32
_HEADER = b"h" * 360
_LINE = b"2026-03-01T12:00:00Z INFO request %d served in 12 ms to 10.0.0.7\n"


def main() -> None:
    kind, url, threads, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    adders = CLIENTS[kind](url, threads, body_of(size))
    for add in adders:
        add()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(_together(adders, float(line))), flush=True)


def body_of(size: int) -> bytes:
    """Lines of a log."""
    return b"".join(_LINE % number for number in range(size // 60 + 1))[:size]


def _together(adders: list[Add], seconds: float) -> list[float]:
    """The seconds that each addition took, all threads together."""
    times: list[list[float]] = [[] for _ in adders]
    stop = time.monotonic() + seconds
    pairs = zip(adders, times, strict=True)
    threads = [threading.Thread(target=_until, args=(stop, add, into)) for add, into in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [one for of in times for one in of]


def _until(stop: float, add: Add, times: list[float]) -> None:
    now = time.monotonic()
    while now < stop:
        add()
        after = time.monotonic()
        times.append(after - now)
        now = after


def bare(url: str, threads: int, body: bytes) -> list[Add]:
    """A connection for each thread."""
    return [_bare(url, body) for _ in range(threads)]


def _bare(url: str, body: bytes) -> Add:
    connection = psycopg.connect(url.partition("&schema")[0], autocommit=True)
    session, seq = int.from_bytes(os.urandom(6), "big"), 0
    blocks = b"b" * 80

    def add() -> None:
        nonlocal seq
        seq += 1
        names = (os.urandom(11).hex(), os.urandom(11).hex(), os.urandom(11))
        values = (session, seq, *names, _HASH, _HEADER, _HASH, _HASH, blocks, body)
        connection.execute(_INSERT, values, prepare=True, binary=True)

    return add


def plain(url: str, threads: int, body: bytes) -> list[Add]:
    """A connection for each thread, and several statements for each addition."""
    return [_plain(url, body) for _ in range(threads)]


def _plain(url: str, body: bytes) -> Add:
    connection = psycopg.connect(url.partition("&schema")[0], autocommit=True)
    session, blocks = int.from_bytes(os.urandom(6), "big"), b"b" * 80

    def add() -> None:
        names = (os.urandom(11).hex(), os.urandom(11).hex(), os.urandom(11))
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (session,))
            seq, last = connection.execute(_HEAD, (session,)).fetchone() or (0, _HASH)
            if connection.execute(_KNOWN, (session, names[2])).fetchone() is None:
                chain = hashlib.sha256(last + _HEADER + hashlib.sha256(body).digest()).digest()
                values = (session, seq + 1, *names, last, _HEADER, _HASH, chain, blocks, body)
                connection.execute(_INSERT.replace(b"bare", b"plain"), values, binary=True)

    return add


def store(url: str, threads: int, body: bytes) -> list[Add]:
    """One store for all threads: the body is stored, and appended unless the call is recorded already."""
    shared = PostgresStore(url, os.environ["KEEPWHOLE_HOME"])
    return [_store(shared, body) for _ in range(threads)]


def _store(shared: PostgresStore, body: bytes) -> Add:
    now = int(time.time() * 1000)
    session = shared.open_session(SessionInfo(name=f"bench-{os.urandom(8).hex()}", created_at=now)).name

    def add() -> None:
        trace_id = ids.trace_id(os.urandom(ids.RANDOM_BYTES))
        taken = shared.store_body(Feed(body), 1 << 40)
        artifact_id = ids.artifact_id(now // 1000, trace_id)
        result = Result(at=now, tool="bench", call_id=trace_id, trace_id=trace_id, artifact_id=artifact_id)
        shared.append(session, [Draft(result, taken.body)], once=True, quota=1 << 50)
        taken.reader.close()

    return add


def objects(url: str, threads: int, body: bytes) -> list[Add]:
    """The same with large bodies in a bucket."""
    shared = PostgresStore(url, os.environ["KEEPWHOLE_HOME"], blobs=os.environ["KEEPWHOLE_BLOBS"])
    return [_store(shared, body) for _ in range(threads)]


def put(url: str, threads: int, body: bytes) -> list[Add]:
    """A bare put and a bare row for each addition."""
    adders = bare(url, threads, body[:100])
    upload = bare_put(os.environ)

    def both(add: Add) -> Add:
        return lambda: (upload(body), add())[1]

    return [both(add) for add in adders]


def session(url: str, threads: int, body: bytes) -> list[Add]:
    """`keep` of a session for each thread."""
    shared = PostgresStore(url, os.environ["KEEPWHOLE_HOME"])
    return [_session(shared, body.decode()) for _ in range(threads)]


def _session(shared: PostgresStore, body: str) -> Add:
    import keepwhole

    kept = keepwhole.Session(store=shared)

    def add() -> None:
        shown = kept.keep("bench", None, body, call_id=os.urandom(11).hex())
        if shown.problem is not None:
            raise shown.problem

    return add


CLIENTS = {"bare": bare, "plain": plain, "store": store, "objects": objects, "put": put, "session": session}

if __name__ == "__main__":
    main()
