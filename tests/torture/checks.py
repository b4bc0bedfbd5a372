"""What must hold of a store after any crash, checked against the oracle with plain hashes of our own."""

import contextlib
import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from typing import NamedTuple

from keepwhole import Session, SqliteStore
from keepwhole.store.protocol import Row, entry_of, result_of
from tests.torture import bodies, oracle

_STRANGE = re.compile(r"(?!record\.db(-wal|-shm)?$|record\.(lock|marks)$|blobs$|session-\d+\.lock$)")
_HOURS = 7_200


class Census(NamedTuple):
    """How much was checked."""

    acked: int
    entries: int
    unacked: int
    blobs: int
    orphans: int

    def __str__(self) -> str:
        return ", ".join(f"{value:,} {name}" for name, value in self._asdict().items())


@contextlib.contextmanager
def opened(folder: str) -> Iterator[SqliteStore]:
    """The store in `folder`, closed afterwards."""
    store = SqliteStore(folder)
    try:
        yield store
    finally:
        store.close()


def check_store(folder: str, promises: oracle.Promises) -> Census:
    """Check everything; `AssertionError` or an error of Keepwhole's own where something is not as promised."""
    with opened(folder) as store:
        names = [info.name for info in store.sessions()]
        digests = {trace_id: digest for name in names for trace_id, digest in _results(store, name)}
        referenced = _check_files(store, names)
        orphans = _check_orphans(store, referenced)
        _check_acks(promises, names, digests)
        _check_purges(store, promises, names)
        entries = _check_sqlite(store.path)
    acked = {ack.trace_id for ack in promises.acks}
    strange = [name for name in os.listdir(folder) if _STRANGE.match(name)]
    assert not strange, f"files left behind: {strange}"
    return Census(len(acked), entries, len(digests.keys() - acked), len(referenced), orphans)


def _results(store: SqliteStore, name: str) -> Iterator[tuple[str, str]]:
    """Every result of a session with the plain digest of its bytes; each whole, acknowledged or not."""
    session = Session(name, store=store)
    found = session.verify()
    assert found.whole, found.findings
    for row in store.rows(name, kind="result"):
        data = session.recall_bytes(row.trace_id)
        digest = hashlib.sha256(data).hexdigest()
        arguments = result_of(row).arguments
        if arguments is not None:
            assert digest == bodies.make(json.loads(arguments)["seed"]).sha256, f"{row.trace_id} has other bytes"
        yield row.trace_id, digest


def _check_acks(promises: oracle.Promises, names: list[str], digests: dict[str, str]) -> None:
    gone = promises.purging - set(names)
    lost = [ack for ack in promises.acks if ack.session not in gone and digests.get(ack.trace_id) != ack.sha256]
    assert not lost, f"{len(lost)} of {len(promises.acks)} acknowledged results are lost or changed: {lost[:3]}"


def _check_purges(store: SqliteStore, promises: oracle.Promises, names: list[str]) -> None:
    stones = {stone.name for stone in store.tombstones()}
    assert not promises.purged & set(names), "a purged session came back"
    assert promises.purged <= stones, "a purged session left no tombstone"
    promised = {ack.session for ack in promises.acks}
    assert promised & promises.purging <= stones | set(names), "a session went without a tombstone"


def _check_files(store: SqliteStore, names: list[str]) -> set[str]:
    """Every file that a row refers to is there and has the right size; their names."""
    rows: list[Row] = [row for name in names for row in store.rows(name) if row.blob is not None]
    for row in rows:
        path = os.path.join(store.folder, "blobs", str(row.blob)[0], str(row.blob))
        assert os.path.getsize(path) == entry_of(row).facts.size, f"{path} is not whole"
    return {str(row.blob) for row in rows}


def _check_orphans(store: SqliteStore, referenced: set[str]) -> int:
    """What nothing refers to is what the collector will take, and it takes nothing yet."""
    blobs = os.path.join(store.folder, "blobs")
    there = {name for _, _, files in os.walk(blobs) for name in files}
    collectable = store.blobs.own.orphans(referenced, time.time() + _HOURS)
    assert sorted(collectable) == sorted(there - referenced)
    assert not store.blobs.own.orphans(referenced), "an orphan is collected before its hour"
    return len(collectable)


def _check_sqlite(path: str) -> int:
    """The file is sound and the numbers of each session run from 1 without a gap; how many entries there are."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        uneven = connection.execute(
            "SELECT session FROM entries GROUP BY session "
            "HAVING min(seq) != 1 OR max(seq) != count(*) OR count(DISTINCT seq) != count(*)"
        ).fetchall()
        assert not uneven, f"gaps or duplicates in the numbers of sessions {uneven}"
        return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])
