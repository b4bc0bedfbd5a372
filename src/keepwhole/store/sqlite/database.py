"""`Database`: the SQLite file of a record, opened safely, with one connection that reads and one that writes.

Owns: the settings of a connection and what it may do, transactions, what is refused, and forks.
Must not know: the tables, except which of them are append-only and which row was stored last.

Two locks guard a write. The thread lock keeps the threads of this process apart, since they share one connection. The
turnstile (`sqlite.turnstile`) keeps processes apart, in the order in which they came. Every transaction is `IMMEDIATE`
and `synchronous = FULL`: when `writing` returns, the transaction is on the disk. Reading has a connection and a lock of
its own, so that nobody who reads waits for a sync. Whoever takes both locks takes the one for writing first.

A record is not opened where its database is missing or empty and its bodies or marks are still there: a new database
in its place would hide that everything was lost. A record that went back in time (`sqlite.marks`), or whose schema has
something in it that is not Keepwhole's, is read and not written, until it is as it should be again.

After a sync that failed the writing connection is given up, because what a sync says after a failure cannot be trusted.
Nothing is acknowledged until new connections are open, a file was written and synced in the folder, and the whole log
was moved into the database. This is tried when something is to be written, once a second at most.

Deleting is possible only through `deleting`, on a connection of its own that lives as long as the transaction does: the
writing connection has an authorizer that refuses to change or delete the record, whatever statement it is given.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from keepwhole.canonical.entry import GENESIS
from keepwhole.errors import NotStored, StoreError, StoreRefused
from keepwhole.store.durable import sync_folder, write_file
from keepwhole.store.row_check import describe
from keepwhole.store.sql_store import Execute
from keepwhole.store.sqlite.marks import LastEntry, Marks
from keepwhole.store.sqlite.record_folder import prepare_folder, refuse_lost, size_of
from keepwhole.store.sqlite.schema import (
    Transaction,
    migrate,
    refuse_newer,
    scripts,
    strange_objects,
    version_in_file,
    version_of,
)
from keepwhole.store.sqlite.turnstile import Turnstile
from keepwhole.store.wait_guard import check_may_wait, held

DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What a database may raise; the message about a damaged schema may quote bytes that are not text."""

FIXED_IN = (3, 51, 3)
"""The first SQLite without the WAL-reset bug; with an older one, the turnstile keeps the file safe."""

BUSY_MS = 30_000
PAUSE_AFTER_FAILURE = 1.0
"""Seconds between two attempts to write after the disk failed."""
_FAILED_SYNCS = frozenset((1034, 1290))
"""SQLite's codes for a sync that failed, of a file (`SQLITE_IOERR_FSYNC`) and of a folder (`…_DIR_FSYNC`)."""
_APPEND_ONLY = frozenset(("sessions", "entries", "endings", "tombstones", "record", "condemned"))
_FORBIDDEN = frozenset(
    (
        sqlite3.SQLITE_DROP_TABLE,
        sqlite3.SQLITE_DROP_TRIGGER,
        sqlite3.SQLITE_DROP_INDEX,
        sqlite3.SQLITE_ALTER_TABLE,
        sqlite3.SQLITE_ATTACH,
        sqlite3.SQLITE_DETACH,
    )
)
_TO_MARK = """
SELECT s.id, s.name, s.agent, s.workspace, s.created_at, s.ephemeral, d.at,
       (SELECT seq FROM entries e WHERE e.session = s.id ORDER BY e.seq DESC LIMIT 1),
       (SELECT chain FROM entries e WHERE e.session = s.id ORDER BY e.seq DESC LIMIT 1)
FROM sessions s LEFT JOIN endings d ON d.session = s.id
"""
_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_MS}",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA recursive_triggers = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA secure_delete = ON",
)


class Database:
    """The file `record.db` in a folder, opened on first use and again after a fork."""

    def __init__(self, folder: str, patience: float | None = None) -> None:
        """With `patience`, a write that has to wait for more seconds fails, and so does any other for as long again."""
        self.folder = folder
        self.path = os.path.join(folder, "record.db")
        self.turnstile = Turnstile(os.path.join(folder, "record.lock"), patience)
        self.marks = Marks(os.path.join(folder, "record.marks"))
        self.lacked_marks = False
        """Whether a record with entries had no marks when it was opened."""
        self._patience, self._busy_until = patience, 0.0
        self._record = b""
        self._pending: list[tuple[int, int, int, bytes]] = []
        self._alarm: str | None = None
        self._failure: Exception | None = None
        self._retry_at = 0.0
        self._lock = threading.RLock()
        self._reading = threading.RLock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the file unless it is open; create it or bring its schema up to date if need be."""
        if self._reader is not None:
            return
        check_may_wait()
        with self._lock:
            if self._reader is None:
                prepare_folder(self.folder)
                self._connect()

    def select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query, on a connection that cannot write."""
        while True:
            self.open()
            with held(self._reading):
                if self._reader is None:
                    continue  # it was closed just now, to try the disk again
                try:
                    return self._reader.execute(query, values).fetchall()
                except DATABASE_ERRORS as error:
                    raise StoreError(f"`{self.path}` could not be read ({error}). Run `keepwhole doctor`.") from error

    @contextmanager
    def writing(self) -> Generator[Execute]:
        """Run the block in one write transaction; it is on the disk when the block is left."""
        check_may_wait()
        with self._lock:
            self.check_writable()
            assert self._writer is not None
            try:
                if time.monotonic() < self._busy_until:
                    raise TimeoutError("others are writing to it")
                with self.turnstile.held():
                    self._pending.clear()
                    with Transaction(self._writer) as execute:
                        yield execute
                    for row, session, seq, chain in self._pending:
                        self.marks.note_entry(self._record, row, session, seq, chain)
            except (*DATABASE_ERRORS, OSError) as error:
                if self._patience is not None and (isinstance(error, TimeoutError) or "locked" in str(error)):
                    self._busy_until = max(self._busy_until, time.monotonic() + self._patience)
                if getattr(error, "sqlite_errorcode", 0) in _FAILED_SYNCS:
                    self.give_up(error)
                raise NotStored(
                    f"The record could not be written ({error}). It is shown in full instead. Run `keepwhole doctor`."
                ) from error

    def note_entry(self, row: int, session: int, seq: int, chain: bytes) -> None:
        """Mark an entry as the last of its session when the transaction that is under way is committed."""
        self._pending[:] = [one for one in self._pending if one[1] != session]
        self._pending.append((row, session, seq, chain))

    def check_writable(self) -> None:
        """Open the file. Raise `NotStored` if the disk failed and did not recover, or if the record is not as left."""
        with self._lock:
            if self._failure is not None:
                self._recover(self._failure)
            self.open()
            problem = self.problem()
            if problem is not None:
                raise NotStored(f"{problem} Nothing is written until then; results are shown in full.")

    def give_up(self, error: Exception) -> None:
        """Write no more through the open connection: the disk failed. What is stored can still be read."""
        with self._lock:
            self._failure, self._retry_at = error, time.monotonic() + PAUSE_AFTER_FAILURE
            if self._writer is not None:
                with suppress(sqlite3.Error):
                    self._close(self._writer)
            self._writer = None

    @property
    def failure(self) -> str | None:
        """Why nothing is written now; None if the disk has not failed since it last worked."""
        return None if self._failure is None else str(self._failure)

    def _recover(self, failure: Exception) -> None:
        """Try the disk again, on new descriptors. Raise `NotStored` if it still fails, or was tried just now."""
        try:
            if time.monotonic() < self._retry_at:
                raise failure
            self._retry_at = time.monotonic() + PAUSE_AFTER_FAILURE
            self._try_disk()
        except (*DATABASE_ERRORS, OSError, StoreError) as error:
            raise NotStored(
                f"The disk failed ({error}), so nothing is written until a test of it succeeds. Check the disk; "
                "`keepwhole doctor` says what is whole."
            ) from error
        self._failure = None

    def _try_disk(self) -> None:
        probe = os.path.join(self.folder, ".probe")
        write_file(probe, [b"written to see whether the disk works again"], 0o600)
        os.unlink(probe)
        self.close()
        self.open()
        assert self._writer is not None
        with self.turnstile.held():
            is_busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if is_busy:
            raise OSError("others use the database, so its log could not be emptied")

    def problem(self) -> str | None:
        """Return in what the record is not as it was left, and what to do; None if it is."""
        self.open()
        with self._lock:
            if self._alarm is not None:
                self._compare_marks(scripts())  # somebody may have repaired it
            return self._alarm

    @contextmanager
    def deleting(self) -> Generator[Execute]:
        """Run the block in one transaction that may delete; everything is as before if it fails."""
        self.check_writable()
        try:
            with self.turnstile.held():
                connection = connect(self.path)
                try:
                    with Transaction(connection) as execute:
                        yield execute
                    connection.execute("PRAGMA incremental_vacuum").fetchall()
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                finally:
                    connection.close()
        except (*DATABASE_ERRORS, OSError) as error:
            raise StoreError(f"`{self.path}` could not be changed ({error}). Run `keepwhole doctor`.") from error

    def empty_log(self) -> None:
        """Move the log into the database and empty it. Raises `StoreError` if another process keeps that from being."""
        self.check_writable()
        assert self._writer is not None
        try:
            with self._lock, self.turnstile.held():
                if not self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    return
        except (*DATABASE_ERRORS, OSError) as error:
            raise StoreError(f"The log of `{self.path}` could not be emptied ({error}).") from error
        raise StoreError(
            f"What was asked is removed, but another process reads the log of `{self.path}`, which may still have it. "
            "The log is emptied when all processes that use the record have ended."
        )

    def close(self) -> None:
        """Close the connections and the lock file."""
        with self._lock, self._reading:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    self._close(connection)
            self._reader = self._writer = None
            self.turnstile.close()
            self.marks.close()

    def _close(self, connection: sqlite3.Connection) -> None:
        """Close behind the turnstile: the last connection to be closed moves the log into the file."""
        try:
            with self.turnstile.held():
                connection.close()
        except OSError:
            connection.close()  # the lock cannot be had; SQLite's own still guards the file

    def before_fork(self) -> None:
        """Wait for what is under way, and let nothing new begin."""
        self._lock.acquire()
        self._reading.acquire()

    def after_fork_in_parent(self) -> None:
        """Let work go on."""
        self._reading.release()
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Close what was inherited; the next use opens anew. The parent's own lock still guards the file."""
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self._reader = self._writer = None
        self.turnstile.leave()
        self._lock, self._reading = threading.RLock(), threading.RLock()
        self.turnstile = Turnstile(os.path.join(self.folder, "record.lock"), self._patience)

    def _connect(self) -> None:
        mask = os.umask(0o077)
        try:
            migrations = scripts()
            refuse_newer(self.path, version_in_file(self.path), len(migrations))
            refuse_lost(self.folder, lambda: not size_of(self.path), with_log=True)
            writer = connect(self.path)
            try:
                if self._patience is not None:
                    writer.execute(f"PRAGMA busy_timeout = {int(self._patience * 1000)}")
                refuse_lost(self.folder, lambda: not version_of(writer))
                self._make_current(writer, migrations)
                self._reader = connect_read_only(self.path)
                self._writer = restrict(writer)
            except BaseException:
                writer.close()
                raise
            self._compare_marks(migrations)
        except DATABASE_ERRORS as error:
            raise StoreRefused(
                f"`{self.path}` cannot be opened ({error}). Check the folder with `keepwhole doctor`."
            ) from error
        except OSError as error:
            raise StoreRefused(
                f"`{self.folder}` cannot be written ({error.strerror}). Set `KEEPWHOLE_HOME` to another folder."
            ) from error
        finally:
            os.umask(mask)

    def _make_current(self, writer: sqlite3.Connection, migrations: list[str]) -> None:
        """Bring the schema up to date, and make sure that the file's name is durable."""
        if version_of(writer) != len(migrations):
            with self.turnstile.held():
                migrate(writer, self.path, migrations)
            sync_folder(self.folder)

    def _compare_marks(self, migrations: list[str]) -> None:
        """Find out whether the record is as it was left; write its marks if it has none yet."""
        try:
            self._record = bytes.fromhex(self._read("SELECT id FROM record")[0][0])
            self._alarm = self._look(migrations)
            if not self.marks.exists():
                with self.turnstile.held():
                    self.lacked_marks = not self.marks.exists() and bool(self._read("SELECT 1 FROM entries LIMIT 1"))
                    self._write_marks()
        except (*DATABASE_ERRORS, IndexError, TypeError, ValueError) as error:
            self._alarm = f"`{self.path}` cannot be read ({error}). Run `keepwhole doctor`."
        except OSError:
            pass  # the lock or the file could not be had; the next process that opens the record tries again

    def _look(self, migrations: list[str]) -> str | None:
        """Return in what the record is not as it was left, and what to do; None if it is."""
        with self._reading:
            assert self._reader is not None
            is_newer = version_of(self._reader) > len(migrations)  # upgraded since this process opened it
            strange = [] if is_newer else strange_objects(self._reader, migrations)
        if strange:
            return (
                f"The schema of `{self.path}` is not Keepwhole's own: {'; '.join(strange[:3])}. Find out who changed "
                "it; then copy the record into a new folder with `keepwhole store copy`, which checks every entry."
            )
        if self._is_as_marked():
            return None
        with self.turnstile.held():  # a purge may have been under way
            if self._is_as_marked():
                return None
        return (
            f"`{self.path}` went back in time: entries that were stored are missing, because its log "
            "`record.db-wal` was lost or cut, or because another file was put in its place. Put the right files back, "
            "or restore a backup with `keepwhole store restore`. To go on without what is missing, run "
            "`keepwhole doctor --accept`."
        )

    def _is_as_marked(self) -> bool:
        last = self.marks.last()
        if last is None:
            return True
        is_there = not last.row or self._read("SELECT chain FROM entries WHERE id = ?", (last.row,)) == [(last.chain,)]
        return last.record == self._record and is_there

    def _write_marks(self) -> None:
        """Write the marks of the record as it is."""
        for number, *about, ended, seq, chain in self._read(_TO_MARK):
            self.marks.note_description(number, describe(about))
            if ended is not None:
                self.marks.note_ending(number, ended, is_committed=True)
            if seq is not None:
                self.marks.note_entry(self._record, 0, number, seq, chain)
        self.marks.note_last(self.last_entry(self._read))

    def last_entry(self, read: Callable[[str], list[Any]]) -> LastEntry:
        """Return the last entry of the record, as `read` sees it."""
        found = read("SELECT id, chain FROM entries ORDER BY id DESC LIMIT 1")
        row, chain = found[0] if found else (0, GENESIS)
        return LastEntry(self._record, row, chain)

    def accept(self) -> None:
        """Take the record as it is now for what it should be."""
        self.open()
        with self._lock, self.turnstile.held():
            self.marks.clear()
            self._write_marks()
            self.marks.sync()
            self._compare_marks(scripts())

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._reading:
            assert self._reader is not None
            return self._reader.execute(query, values).fetchall()


def connect(path: str) -> sqlite3.Connection:
    """Open a connection with every safety switched on, allowed to do anything."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=64)
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def restrict(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Forbid a connection to change or delete what is stored, or to alter the schema."""
    connection.set_authorizer(_authorize)
    return connection


def connect_read_only(path: str) -> sqlite3.Connection:
    """Open a connection that can only read."""
    connection = connect(path)
    connection.execute("PRAGMA query_only = ON")
    return restrict(connection)


def _authorize(action: int, table: str | None, *_: object) -> int:
    if action in (sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE) and table in _APPEND_ONLY:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY if action in _FORBIDDEN else sqlite3.SQLITE_OK


def needs_turnstile(version: tuple[int, int, int]) -> bool:
    """Return whether this SQLite still has the WAL-reset bug, so that writers must never overlap a checkpoint."""
    return version < FIXED_IN
