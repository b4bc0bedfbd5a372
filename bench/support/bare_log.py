"""The reference for durable appends: a log with the same columns, syncs and commits, and without any check."""

import os
import sqlite3

_TABLE = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
    trace_id TEXT NOT NULL, artifact_id TEXT, at INTEGER NOT NULL, stored INTEGER NOT NULL, previous BLOB NOT NULL,
    header BLOB NOT NULL, digest BLOB NOT NULL, chain BLOB NOT NULL, blob TEXT, blocks BLOB NOT NULL, body BLOB,
    UNIQUE (session, seq)
) STRICT
"""
_INSERT = "INSERT INTO entries VALUES (NULL, 1, ?, 'result', ?, ?, 1, 1, ?, ?, ?, ?, ?, ?, ?)"
_HASH = b"\x55" * 32
_HEADER = b"h" * 360
_NEXT = "SELECT coalesce(max(seq), 0) + 1 FROM entries WHERE session = 1"


class BareLog:
    """A SQLite file in WAL mode with full syncs and a folder of files, written by one plain loop."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._folder = folder
        self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._connection = sqlite3.connect(os.path.join(folder, "bare.db"), isolation_level=None)
        for pragma in ("busy_timeout = 30000", "journal_mode = WAL", "synchronous = FULL"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute(_TABLE)

    def keep_row(self, body: bytes) -> None:
        """Write one row with its body, in one commit."""
        self._commit([(None, b"", body)])

    def keep_file(self, body: bytes) -> None:
        """Write a file, synced and renamed, and sync its folder; then its row and the decision's in one commit."""
        name = os.urandom(16).hex()
        path = os.path.join(self._folder, name)
        fd = os.open(path + ".part", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(fd, body)
        os.fsync(fd)
        os.close(fd)
        os.rename(path + ".part", path)
        os.fsync(self._fd)
        self._commit([(name, b"b" * 80, None), (None, b"", b"d" * 300)])

    def close(self) -> None:
        self._connection.close()
        os.close(self._fd)

    def _commit(self, rows: list[tuple[str | None, bytes, bytes | None]]) -> None:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        seq: int = execute(_NEXT).fetchone()[0]
        for number, (blob, blocks, body) in enumerate(rows):
            ids = (os.urandom(11).hex(), os.urandom(11).hex())
            execute(_INSERT, (seq + number, *ids, _HASH, _HEADER, _HASH, _HASH, blob, blocks, body))
        execute("COMMIT")
