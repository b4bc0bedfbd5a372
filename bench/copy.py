"""A record into another one, into a backup and back, against a bare loop that reads rows and writes them again.

The bare loop commits as many rows at a time with the same syncs, copies the files of large bodies one after the other
and checks nothing. Copying sessions by `export` and `import` is measured too.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from bench.support.row import Row, row_without_floor
from bench.support.setup import Setup
from bench.support.timing import run_interleaved
from keepwhole import SqliteStore
from keepwhole.canonical.entry import Result
from keepwhole.canonical.ids import RANDOM_BYTES, artifact_id, trace_id
from keepwhole.store.durable import write_file
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Draft, SessionInfo
from keepwhole.transfer.archive import export_session, import_session
from keepwhole.transfer.backup import Backup, compressed
from keepwhole.transfer.copy import carry_out, compare, plan
from keepwhole.transfer.restore import restore

_TOGETHER = 256
_COLUMNS = (
    "session, seq, kind, trace_id, artifact_id, call_id, at, stored, previous, header, "
    "digest, chain, blob, blocks, body"
)


def copy(setup: Setup) -> list[Row]:
    rows: list[Row] = []
    for what, size, count in (("1 KB", 1_000, 20_000), ("100 KB", 100_000, 500)):
        count = count // 10 if setup.quick else count
        source = setup.path(f"copy-{size}")
        _fill(source, size, count)
        _back_up(source, source)
        times = run_interleaved(f"copy {what}", setup.rounds, _subjects(source, setup.path("copy-target")))
        rows += _rows(f"{count:,} results of {what}", size, count, times)
        packed = os.path.getsize(os.path.join(source, "backup")) / (size * count)
        rows.append(
            row_without_floor(f"{count:,} results of {what}: size of the backup", "–", "the bodies", [packed], "×")
        )
        shutil.rmtree(source)
    return rows


def _subjects(source: str, target: str) -> dict[str, Callable[[], float]]:
    acts = {"bare": _bare, "copy": _copy, "carry": _export_and_import, "backup": _back_up, "restore": _restore}
    return {name: partial(_time, act, source, target) for name, act in acts.items()}


def _rows(what: str, size: int, count: int, times: dict[str, list[float]]) -> list[Row]:
    def rate(values: Sequence[float]) -> str:
        seconds = median(values)
        return f"{count / seconds:,.0f}/s, {count * size / seconds / 1e6:.1f} MB/s"

    def against(name: str) -> list[float]:
        return [bare / own for bare, own in zip(times["bare"], times[name], strict=True)]

    bare = f"bare {rate(times['bare'])}"
    return [
        row_without_floor(f"{what}: `store copy`", rate(times["copy"]), bare, against("copy"), "×"),
        row_without_floor(f"{what}: `sessions export` and `import`", rate(times["carry"]), bare, against("carry"), "×"),
        row_without_floor(f"{what}: `store backup`", rate(times["backup"]), bare, against("backup"), "×"),
        row_without_floor(f"{what}: `store restore`", rate(times["restore"]), bare, against("restore"), "×"),
    ]


def _time(act: Callable[[str, str], None], source: str, target: str) -> float:
    try:
        begin = time.perf_counter()
        act(source, target)
        return time.perf_counter() - begin
    finally:
        shutil.rmtree(target, ignore_errors=True)


def _fill(folder: str, size: int, count: int) -> None:
    """Fill a session with results of one size, half of their text random digits, like hashes and numbers."""
    store = SqliteStore(folder)
    store.open_session(SessionInfo(name="s", created_at=1))
    drafts: list[Draft] = []
    for number in range(count):
        body = b"%9d " % number + os.urandom(size // 4).hex().encode() + b"the same words " * (size // 30)
        taken = store.store_body(Feed(body), 1 << 40)
        taken.reader.close()
        trace = trace_id(os.urandom(RANDOM_BYTES))
        header = Result(
            at=1, trace_id=trace, artifact_id=artifact_id(1, trace), tool="read_file", call_id=f"call_{number}"
        )
        drafts.append(Draft(header, taken.body))
        if len(drafts) == _TOGETHER:
            store.append("s", drafts)
            drafts = []
    store.append("s", drafts)
    store.close()


def _bare(source: str, target: str) -> None:
    os.makedirs(os.path.join(target, "blobs"))
    folder = os.open(os.path.join(target, "blobs"), os.O_RDONLY | os.O_DIRECTORY)
    reader, writer = sqlite3.connect(f"{source}/record.db"), sqlite3.connect(f"{target}/bare.db", isolation_level=None)
    tables = "SELECT sql FROM sqlite_master WHERE tbl_name = 'entries' AND type != 'trigger' AND sql NOT NULL"
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        writer.execute(f"PRAGMA {pragma}")
    for (statement,) in reader.execute(tables).fetchall():
        writer.execute(statement)
    rows = reader.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY seq")
    while page := rows.fetchmany(_TOGETHER):
        for name in (row[12] for row in page if row[12]):
            _copy_file(os.path.join(source, "blobs", name[0], name), os.path.join(target, "blobs", name))
            os.fsync(folder)
        writer.execute("BEGIN IMMEDIATE")
        writer.executemany(f"INSERT INTO entries ({_COLUMNS}) VALUES ({', '.join('?' * 15)})", page)
        writer.execute("COMMIT")
    reader.close()
    writer.close()
    os.close(folder)


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb") as reading, open(target + ".part", "xb") as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)
        writing.flush()
        os.fsync(writing.fileno())
    os.rename(target + ".part", target)


def _copy(source: str, target: str) -> None:
    one, other = SqliteStore(source), SqliteStore(target)
    steps = plan(one, other)
    for step in steps:
        carry_out(one, other, step)
    if compare(one, other, [step.name for step in steps], quick=True).differences:
        raise RuntimeError("the copy is not equal")
    one.close()
    other.close()


def _export_and_import(source: str, target: str) -> None:
    one, other = SqliteStore(source), SqliteStore(target)
    import_session(other, export_session(one, one.sessions()[0]))
    one.close()
    other.close()


def _back_up(source: str, target: str) -> None:
    os.makedirs(target, exist_ok=True)
    store = SqliteStore(source)
    write_file(os.path.join(target, "backup"), compressed(Backup(store).lines()), 0o600)
    store.close()


def _restore(source: str, target: str) -> None:
    store = SqliteStore(target)
    with open(os.path.join(source, "backup"), "rb") as file:
        restore(store, file)
    store.close()
