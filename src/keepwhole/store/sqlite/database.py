"""`Database`: the SQLite file of a record, opened safely, with one connection that reads and one that writes.

Owns: the settings of a connection and what it may do, transactions, the folder being a safe one, and forks.
Must not know: the tables, except which of them are append-only.

Two locks guard a write. The thread lock keeps the threads of this process apart, since they share one connection. The
turnstile (`sqlite.turnstile`) keeps processes apart, in the order in which they came. Every transaction is `IMMEDIATE`
and `synchronous = FULL`: when `writing` returns, the transaction is on the disk.

Deleting is possible only through `deleting`, on a connection of its own that lives as long as the transaction does: the
writing connection has an authorizer that refuses to change or delete the record, whatever statement it is given.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from keepwhole.errors import NotStored, StoreError, StoreRefused
from keepwhole.store.durable import make_folder, sync_folder
from keepwhole.store.sql_store import Execute
from keepwhole.store.sqlite.schema import Transaction, migrate, refuse_newer, scripts, version_in_file, version_of
from keepwhole.store.sqlite.turnstile import Turnstile

DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What a database may raise; the message about a damaged schema may quote bytes that are not text."""

FIXED_IN = (3, 51, 3)
"""The first SQLite without the WAL-reset bug; with an older one, the turnstile keeps the file safe."""

BUSY_MS = 30_000
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
_UNSAFE = frozenset(("nfs", "nfs4", "cifs", "smb", "smb3", "smbfs", "9p", "afs", "fuse.sshfs"))
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
        self._patience, self._busy_until = patience, 0.0
        self._lock = threading.RLock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the file unless it is open; create it or bring its schema up to date if need be."""
        if self._reader is not None:
            return
        with self._lock:
            if self._reader is None:
                prepare_folder(self.folder)
                self._connect()

    def select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query, on a connection that cannot write."""
        self.open()
        with self._lock:
            assert self._reader is not None
            try:
                return self._reader.execute(query, values).fetchall()
            except DATABASE_ERRORS as error:
                raise StoreError(f"`{self.path}` could not be read ({error}). Run `keepwhole doctor`.") from error

    @contextmanager
    def writing(self) -> Generator[Execute]:
        """Run the block in one write transaction; it is on the disk when the block is left."""
        self.open()
        assert self._writer is not None
        try:
            with self._lock:
                if time.monotonic() < self._busy_until:
                    raise TimeoutError("others are writing to it")
                with self.turnstile.held(), Transaction(self._writer) as execute:
                    yield execute
        except (*DATABASE_ERRORS, OSError) as error:
            if self._patience is not None and (isinstance(error, TimeoutError) or "locked" in str(error)):
                self._busy_until = max(self._busy_until, time.monotonic() + self._patience)
            raise NotStored(
                f"The record could not be written ({error}). It is shown whole instead. Run `keepwhole doctor`."
            ) from error

    @contextmanager
    def deleting(self) -> Generator[Execute]:
        """Run the block in one transaction that may delete; everything is as before if it fails."""
        self.open()
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

    def close(self) -> None:
        """Close the connections and the lock file."""
        with self._lock:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    self._close(connection)
            self._reader = self._writer = None
            self.turnstile.close()

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

    def after_fork_in_parent(self) -> None:
        """Let work go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Close what was inherited; the next use opens anew. The parent's own lock still guards the file."""
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self._reader = self._writer = None
        self.turnstile.leave()
        self._lock = threading.RLock()
        self.turnstile = Turnstile(os.path.join(self.folder, "record.lock"), self._patience)

    def _connect(self) -> None:
        mask = os.umask(0o077)
        try:
            migrations = scripts()
            refuse_newer(self.path, version_in_file(self.path), len(migrations))
            writer = connect(self.path)
            try:
                if self._patience is not None:
                    writer.execute(f"PRAGMA busy_timeout = {int(self._patience * 1000)}")
                self._make_current(writer, migrations)
                self._reader = connect_read_only(self.path)
                self._writer = restrict(writer)
            except BaseException:
                writer.close()
                raise
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


def prepare_folder(path: str) -> None:
    """Create the folder, or make an existing one private. `StoreRefused` if it cannot be used."""
    try:
        fresh = not os.path.isdir(path)
        make_folder(path)
        status = os.stat(path)
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.chmod(path, 0o700)
    except OSError as error:
        raise StoreRefused(
            f"`{path}` cannot be used for the record ({error.strerror}). Set `KEEPWHOLE_HOME` to a folder you can "
            "write to."
        ) from error
    if status.st_uid != os.geteuid():
        raise StoreRefused(f"`{path}` belongs to another user. Set `KEEPWHOLE_HOME` to a folder of your own.")
    if fresh:
        refuse_network(path)


def refuse_network(path: str) -> None:
    """Raise `StoreRefused` for a network file system: SQLite's WAL works on one machine only."""
    kind = file_system(path)
    if kind in _UNSAFE:
        raise StoreRefused(
            f"`{path}` is on a network file system ({kind}), where SQLite can be damaged. "
            "Set `KEEPWHOLE_HOME` to a folder on a local disk."
        )


def file_system(path: str) -> str:
    """Return the type of the file system that `path` is on; an empty string if it is unknown."""
    best, kind = "", ""
    path = os.path.realpath(path)
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                left, _, right = line.partition(" - ")
                mount = left.split(" ")[4].replace("\\040", " ")
                inside = path == mount or path.startswith(mount.rstrip("/") + "/")
                if inside and len(mount) >= len(best):
                    best, kind = mount, right.split(" ")[0]
    except OSError:
        return ""
    return kind
