"""`keepwhole doctor`: is the record safe here? Each check says what it found and what to do."""

import argparse
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from keepwhole import config
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.place import Place, add_options
from keepwhole.canonical.utf8 import stringzilla
from keepwhole.canonical.value import Value
from keepwhole.errors import KeepwholeError
from keepwhole.install import install_hint
from keepwhole.store.blobs.stores import Places
from keepwhole.store.postgres.address import redacted
from keepwhole.store.protocol import Store
from keepwhole.store.sqlite import home
from keepwhole.store.sqlite.connection import FIXED_IN, needs_turnstile, reading
from keepwhole.store.sqlite.schema import scripts, version_of
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.store.verify import verify

_T = TypeVar("_T")
Grade: TypeAlias = Literal["ok", "note", "bad"]
_SIGNS: dict[Grade, str] = {"ok": "✓", "note": "•", "bad": "✗"}
_FREE_SHARE = 0.05


class Finding(Value):
    """What one check found."""

    grade: Grade
    what: str


class Where(NamedTuple):
    """The record that is looked at."""

    settings: config.Settings
    store: SqliteStore


Check: TypeAlias = Callable[[Where], Iterator[Finding]]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser, session=False)
    parser.add_argument("--full", action="store_true", help="also verify every byte of every session")
    parser.set_defaults(act=doctor)


def doctor(args: argparse.Namespace) -> int:
    """Run all checks; exit code 1 if anything is bad."""
    place = Place(args)
    if isinstance(place.store, SqliteStore):
        where = Where(place.settings, place.store)
        findings = [finding for _, finding in _found(where, (_folder, _sqlite, _database, _files, _space, _speed))]
    else:
        findings = _guarded(partial(_server, place.settings.store), place.store)
    findings += _guarded(partial(_outside, place.settings.blobs), place.store)
    if args.full and not _any_bad(findings):
        findings += _guarded(_sessions, place.store)
    place.close()
    if args.json:
        screen.as_json([{"grade": finding.grade, "what": finding.what} for finding in findings])
    else:
        for finding in findings:
            screen.say(f"{_SIGNS[finding.grade]} {screen.line(finding.what, 300)}")
    return 1 if _any_bad(findings) else 0


def looked(where: Where) -> list[tuple[str, Finding]]:
    """What the checks find that change nothing, each with its check's name."""
    return _found(where, (_folder, _sqlite, _database, _space, _speed))


def _found(where: Where, checks: Sequence[Check]) -> list[tuple[str, Finding]]:
    found: list[tuple[str, Finding]] = []
    for check in checks:
        found += [(check.__name__.strip("_"), finding) for finding in _guarded(check, where)]
        if found and found[-1][1].grade == "bad" and check is _folder:
            break
    return found


def _any_bad(findings: list[Finding]) -> bool:
    return any(finding.grade == "bad" for finding in findings)


def _guarded(check: Callable[[_T], Iterator[Finding]], where: _T) -> list[Finding]:
    found: list[Finding] = []
    try:
        for finding in check(where):
            found.append(finding)
    except (KeepwholeError, OSError, sqlite3.Error) as error:
        found.append(Finding("bad", str(error)))
    return found


def _server(address: str, store: Store) -> Iterator[Finding]:
    from keepwhole.store.postgres.store import PostgresStore  # nobody comes here without it

    count = len(store.sessions())
    dropped = store.collect_orphans() if isinstance(store, PostgresStore) else 0
    if dropped:
        yield Finding("note", _removed(dropped))
    yield from on_server(address, count)


def on_server(address: str, count: int) -> Iterator[Finding]:
    """What there is to say of a record that was reached on its server, with so many sessions."""
    yield Finding("ok", f"the record is at {redacted(address)}, {count} session{'' if count == 1 else 's'}")
    yield Finding("ok", "what it says is stored is on its disk (`synchronous_commit` and `fsync` are on)")


def _folder(where: Where) -> Iterator[Finding]:
    folder = where.settings.home
    if not os.path.exists(os.path.join(folder, "record.db")):
        yield Finding("note", f"there is no record in {folder} yet; the first `keepwhole run` makes one")
        return
    home.prepare(folder)
    home.refuse_network(folder)
    yield Finding("ok", f"the record is {folder}, private, on {home.file_system(folder) or 'a local disk'}")
    loose = [
        name
        for name in ("record.db", "record.db-wal", "record.lock")
        if os.path.exists(os.path.join(folder, name)) and os.stat(os.path.join(folder, name)).st_mode & 0o077
    ]
    if loose:
        yield Finding("bad", f"others can read {', '.join(loose)}; run `chmod 600` on them")


def _sqlite(where: Where) -> Iterator[Finding]:
    version = sqlite3.sqlite_version
    if needs_turnstile(sqlite3.sqlite_version_info):
        fixed = ".".join(map(str, FIXED_IN))
        yield Finding("note", f"SQLite {version} is older than {fixed}; the writer lock guards against its WAL bug")
    else:
        yield Finding("ok", f"SQLite {version}")


def _database(where: Where) -> Iterator[Finding]:
    if not os.path.exists(where.store.path):
        return
    connection = reading(where.store.path)
    try:
        found, known = version_of(connection), len(scripts())
        if found > known:
            yield Finding("bad", f"the schema is {found}, newer than this Keepwhole's {known}; upgrade Keepwhole")
            return
        problems = [row[0] for row in connection.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
        problems += [f"foreign key in {row[0]}" for row in connection.execute("PRAGMA foreign_key_check")]
    finally:
        connection.close()
    for problem in problems:
        yield Finding("bad", f"the database is damaged: {problem}; export what verifies and start a new record")
    if not problems:
        count = len(where.store.sessions())
        yield Finding("ok", f"schema {found}, {count} session{'' if count == 1 else 's'}, database structure whole")


def _files(where: Where) -> Iterator[Finding]:
    if not os.path.exists(where.store.path):
        return
    dropped = where.store.collect_orphans()
    if dropped:
        yield Finding("note", _removed(dropped))
    count = where.store.select("SELECT count(*) FROM entries WHERE blob IS NOT NULL")[0][0]
    yield Finding("ok", f"{count} large {'body' if count == 1 else 'bodies'} in files")


def _removed(count: int) -> str:
    return f"removed {count} {'body' if count == 1 else 'bodies'} that no entry has: a killed process left them"


def _outside(address: str, store: Store) -> Iterator[Finding]:
    """Whether large bodies can be put where `blobs` says, and read and deleted there."""
    places = getattr(store, "blobs", None)
    if not address or not isinstance(places, Places):
        return
    for lack in places.outside().check():
        yield Finding("note", f"{redacted(address)}: {lack}")
    yield Finding("ok", f"large bodies are in {redacted(address)}: written, read in part and deleted one")


def _space(where: Where) -> Iterator[Finding]:
    folder = where.settings.home
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    usage = shutil.disk_usage(folder)
    grade: Grade = "ok" if usage.free > usage.total * _FREE_SHARE else "note"
    yield Finding(grade, f"{usage.free / 2**30:.1f} GB free of {usage.total / 2**30:.1f} GB")


def _speed(where: Where) -> Iterator[Finding]:
    if stringzilla() is None:
        yield Finding("note", f"large outputs are kept faster with {install_hint('speed')}")
    else:
        yield Finding("ok", "stringzilla speeds up large outputs")


def _sessions(store: Store) -> Iterator[Finding]:
    sessions = store.sessions()
    with screen.Progress("verifying entries", sum(info.entries for info in sessions)) as progress:
        for info in sessions:
            report = verify(store, info.name, lambda _: progress.step())
            for finding in report.findings:
                yield Finding("bad", f"session {info.name}, entry {finding.seq}: {finding.what}")
    yield Finding("ok", f"verified every byte of {len(sessions)} session{'' if len(sessions) == 1 else 's'}")
