"""Opening a connection the safe way, and what a connection may do."""

import sqlite3
from collections.abc import Callable

DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What a database may raise; a damaged schema is quoted in bytes that are no text."""

FIXED_IN = (3, 51, 3)
"""The first SQLite without the WAL-reset bug; before it the turnstile is what keeps the file safe."""

APPLICATION_ID = 0x486F6C64
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


def connect(path: str) -> sqlite3.Connection:
    """A connection with every safety switched on, allowed to do anything."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=64)
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def restrict(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Forbid a connection to change or delete what is on record, or to alter the schema."""
    connection.set_authorizer(_authorise)
    return connection


def reading(path: str) -> sqlite3.Connection:
    """A connection that can only read."""
    connection = connect(path)
    connection.execute("PRAGMA query_only = ON")
    return restrict(connection)


def _authorise(action: int, table: str | None, *_: object) -> int:
    if action in (sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE) and table in _APPEND_ONLY:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY if action in _FORBIDDEN else sqlite3.SQLITE_OK


def needs_turnstile(version: tuple[int, int, int]) -> bool:
    """Whether this SQLite still has the WAL-reset bug, so that writers must never overlap a checkpoint."""
    return version < FIXED_IN


class Transaction:
    """`BEGIN IMMEDIATE … COMMIT` as a context manager; rolls back on any error."""

    def __init__(self, connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> None:
        self._connection = connection
        self._begin = begin

    def __enter__(self) -> Callable[..., sqlite3.Cursor]:
        """Begin; gives the connection's `execute`."""
        self._connection.execute(self._begin)
        return self._connection.execute

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit, or roll back."""
        if kind is None:
            try:
                self._connection.execute("COMMIT")
                return
            except sqlite3.Error:
                self._roll_back()
                raise
        self._roll_back()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
