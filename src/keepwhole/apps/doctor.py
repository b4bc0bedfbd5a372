"""Whether a record is safe where it is: each check says what it found and what to do.

Owns: the checks, for the command `keepwhole doctor` and for the page of the inspector.
Must not know: how they are printed.
"""

import os
import shlex
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from keepwhole.apps.earlier_name import steps_to_move
from keepwhole.canonical.entry import Entry
from keepwhole.canonical.utf8 import stringzilla
from keepwhole.canonical.value import Value
from keepwhole.config import Settings
from keepwhole.errors import KeepwholeError
from keepwhole.install import install_hint, newer_schema
from keepwhole.store.blobs.stores import BlobStores
from keepwhole.store.postgres.address import redacted
from keepwhole.store.protocol import ChecksStorage, Store
from keepwhole.store.sqlite import record_folder
from keepwhole.store.sqlite.database import FIXED_IN, connect_read_only, needs_turnstile
from keepwhole.store.sqlite.schema import needed_version, scripts, version_of
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.store.verify import verify

_T = TypeVar("_T")
Grade: TypeAlias = Literal["ok", "note", "bad"]
_FREE_SHARE = 0.05


class Diagnosis(Value):
    """What one check found."""

    grade: Grade
    what: str


class LocalRecord(NamedTuple):
    """A record in a folder, with its settings."""

    settings: Settings
    store: SqliteStore


Named: TypeAlias = tuple[str, Diagnosis]
Check: TypeAlias = Callable[[LocalRecord], Iterator[Diagnosis]]


def examine_record(settings: Settings, store: Store) -> list[Named]:
    """Run all checks. Nothing in the record is changed."""
    if isinstance(store, SqliteStore):
        checks = (_folder, _earlier_name, _sqlite, _database, _files, _hooks, _space, _speed)
        found = _run(checks, LocalRecord(settings, store))
    else:
        found = [("server", one) for one in _guarded(partial(_server, settings.store), store)]
    return found + [("blobs", one) for one in _guarded(partial(_external_blobs, settings.blobs), store)]


def look_at_record(settings: Settings, store: Store, sessions: int) -> list[Named]:
    """Run the checks that take little time, on a record with this number of sessions."""
    if isinstance(store, SqliteStore):
        checks = (_folder, _earlier_name, _sqlite, _database, _space, _speed)
        return _run(checks, LocalRecord(settings, store))
    return [("server", one) for one in _on_server(settings.store, sessions)] if settings.store else []


def verify_sessions(store: Store, on_entry: Callable[[Entry], None]) -> list[Diagnosis]:
    """Verify every byte of every session; `on_entry` is called after each entry."""
    return _guarded(partial(_sessions, on_entry), store)


def any_bad(found: Sequence[Diagnosis]) -> bool:
    """Whether something must be repaired."""
    return any(one.grade == "bad" for one in found)


def _run(checks: Sequence[Check], record: LocalRecord) -> list[Named]:
    found: list[Named] = []
    for check in checks:
        known = [one for _, one in found]  # several checks may be refused for the same reason
        found += [(check.__name__.strip("_"), one) for one in _guarded(check, record) if one not in known]
        if found and found[-1][1].grade == "bad" and check is _folder:
            break
    return found


def _guarded(check: Callable[[_T], Iterator[Diagnosis]], subject: _T) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    try:
        for one in check(subject):
            found.append(one)
    except (KeepwholeError, OSError, sqlite3.Error) as error:
        found.append(Diagnosis("bad", str(error)))
    return found


def _server(address: str, store: Store) -> Iterator[Diagnosis]:
    from keepwhole.store.postgres.store import PostgresStore  # installed wherever this check runs

    strays = store.count_strays() if isinstance(store, PostgresStore) else 0
    if strays:
        yield Diagnosis("bad", f"entries without a session, which no command finds: {strays}; restore a backup")
    if isinstance(store, ChecksStorage):
        for what in store.record_findings():
            yield Diagnosis("bad", what)
    yield from _on_server(address, len(store.sessions()))


def _on_server(address: str, count: int) -> Iterator[Diagnosis]:
    yield Diagnosis("ok", f"the record is at {redacted(address)}, {count} session{'' if count == 1 else 's'}")
    yield Diagnosis("ok", "what it says is stored is on its disk (`synchronous_commit` and `fsync` are on)")


def _folder(record: LocalRecord) -> Iterator[Diagnosis]:
    folder = record.settings.home
    if os.path.isdir(folder):
        record_folder.refuse_foreign(folder)
    if not os.path.exists(os.path.join(folder, "record.db")):
        record_folder.refuse_lost(folder, lambda: True, with_log=True)
        yield Diagnosis("note", f"there is no record in {folder} yet; the first `keepwhole run` makes one")
        return
    record_folder.prepare_folder(folder)
    record_folder.refuse_network(folder)
    yield Diagnosis("ok", f"the record is {folder}, private, on {record_folder.file_system(folder) or 'a local disk'}")
    paths = [os.path.join(folder, name) for name in ("record.db", "record.db-wal", "record.lock")]
    loose = [path for path in paths if os.path.exists(path) and os.stat(path).st_mode & 0o077]
    if loose:
        names = ", ".join(map(os.path.basename, loose))
        yield Diagnosis("bad", f"others can read {names}; run `chmod 600 {shlex.join(loose)}`")


def _earlier_name(record: LocalRecord) -> Iterator[Diagnosis]:
    for sentence in steps_to_move(record.settings.home, os.environ, os.getcwd()):
        yield Diagnosis("note", sentence)


def _sqlite(record: LocalRecord) -> Iterator[Diagnosis]:
    version = sqlite3.sqlite_version
    if needs_turnstile(sqlite3.sqlite_version_info):
        fixed = ".".join(map(str, FIXED_IN))
        yield Diagnosis("note", f"SQLite {version} is older than {fixed}; the writer lock guards against its WAL bug")
    else:
        yield Diagnosis("ok", f"SQLite {version}")


def _database(record: LocalRecord) -> Iterator[Diagnosis]:
    if not os.path.exists(record.store.path):
        return
    record.store.database.open()  # refuses an empty file, which SQLite would take for a new database
    connection = connect_read_only(record.store.path)
    try:
        found, known = version_of(connection), len(scripts())
        if found > known:
            needs = needed_version(connection)
            yield Diagnosis("bad", newer_schema("the record", found, known, needs))
            return
        problems = [row[0] for row in connection.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
        problems += [f"foreign key in {row[0]}" for row in connection.execute("PRAGMA foreign_key_check")]
    finally:
        connection.close()
    for what in record.store.record_findings():
        yield Diagnosis("bad", what)
    if record.store.database.lacked_marks:
        yield Diagnosis("note", "`record.marks` was missing and was written again; earlier losses cannot be noticed")
    for problem in problems:
        yield Diagnosis("bad", f"the database is damaged: {problem}; export what verifies and start a new record")
    if not problems:
        count = len(record.store.sessions())
        yield Diagnosis("ok", f"schema {found}, {count} session{'' if count == 1 else 's'}, database structure intact")


def _files(record: LocalRecord) -> Iterator[Diagnosis]:
    if not os.path.exists(record.store.path):
        return
    orphans = len(record.store.orphans())
    if orphans:
        found = f"{orphans} {'body has' if orphans == 1 else 'bodies have'} no entry, as killed processes leave them"
        yield Diagnosis("note", f"{found}; `keepwhole artifacts collect` moves them to `trash/`")
    for what in record.store.missing_bodies():
        yield Diagnosis("bad", what)
    count = record.store.select("SELECT count(*) FROM entries WHERE blob IS NOT NULL")[0][0]
    yield Diagnosis("ok", f"{count} large {'body' if count == 1 else 'bodies'} in files or where `blobs` says")


def _hooks(record: LocalRecord) -> Iterator[Diagnosis]:
    from keepwhole.apps.hooks.install import all_unfinished

    count = len(all_unfinished(os.environ, os.getcwd()))
    if count:
        what = f"{count} unfinished {'copy' if count == 1 else 'copies'} of client settings"
        cause = "left by a killed `keepwhole hook`; the next `keepwhole hook install` removes what is left"
        yield Diagnosis("note", f"{what}, {cause}")


def _external_blobs(address: str, store: Store) -> Iterator[Diagnosis]:
    """Whether large bodies can be written to the place that `blobs` names, read there and deleted."""
    places = getattr(store, "blobs", None)
    if not address or not isinstance(places, BlobStores):
        return
    for lack in places.outside().check():
        yield Diagnosis("note", f"{redacted(address)}: {lack}")
    yield Diagnosis("ok", f"large bodies are in {redacted(address)}: written, read in part and deleted one")


def _space(record: LocalRecord) -> Iterator[Diagnosis]:
    folder = record.settings.home
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    usage = shutil.disk_usage(folder)
    grade: Grade = "ok" if usage.free > usage.total * _FREE_SHARE else "note"
    yield Diagnosis(grade, f"{usage.free / 2**30:.1f} GB free of {usage.total / 2**30:.1f} GB")


def _speed(record: LocalRecord) -> Iterator[Diagnosis]:
    if stringzilla() is None:
        yield Diagnosis("note", f"large outputs are kept faster with {install_hint('speed')}")
    else:
        yield Diagnosis("ok", "stringzilla speeds up large outputs")


def _sessions(on_entry: Callable[[Entry], None], store: Store) -> Iterator[Diagnosis]:
    sessions, damaged = store.sessions(), 0
    for info in sessions:
        findings = verify(store, info.name, on_entry).findings
        damaged += bool(findings)
        for finding in findings:
            entry = f", entry {finding.seq}" if finding.seq else ""
            yield Diagnosis("bad", f"session {info.name}{entry}: {finding.what}")
    verified = f"verified every byte of {len(sessions)} session{'' if len(sessions) == 1 else 's'}"
    if damaged:
        yield Diagnosis("note", f"{verified}: {_are(damaged)} damaged, {_are(len(sessions) - damaged)} whole")
    else:
        yield Diagnosis("ok", verified)


def _are(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'}"
