"""The SQLite file of opencode, opened for reading only.

Owns: how it is opened and in which order its rows come. No file is made beside it: a database that nobody writes to
now is taken as one that does not change.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from keepwhole.logs.lines import Lines
from keepwhole.logs.opencode import Session
from keepwhole.logs.run import Run

MAGIC = b"SQLite format 3\0"
_SESSIONS = "SELECT id, parent_id, directory FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT data FROM part WHERE message_id = ? ORDER BY id"
_DECODER = msgspec.json.Decoder(dict[str, Any])


def runs(lines: Lines) -> Iterator[Run]:
    """The sessions, oldest first, one held at a time."""
    try:
        with closing(_connected(lines.path)) as database:
            for id, parent, directory in database.execute(_SESSIONS):
                session = Session({"id": id, "parent_id": parent, "directory": directory}, lines.path)
                for message, data in database.execute(_MESSAGES, (id,)):
                    for info in lines.decode(_bytes(data), _DECODER, "a message of opencode"):
                        session.add(info, list(_parts(database, message, lines)))
                if run := session.run():
                    yield run
    except sqlite3.Error as error:
        lines.unreadable(f"no database of opencode ({error})")


def _connected(path: Path) -> sqlite3.Connection:
    """The newest rows are in the log beside the file; without one, SQLite need not be told of other writers."""
    has_log = path.with_name(f"{path.name}-wal").exists()
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}", uri=True)
    database.text_factory = _text
    return database


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")


def _parts(database: sqlite3.Connection, message: str, lines: Lines) -> Iterator[dict[str, Any]]:
    for (data,) in database.execute(_PARTS, (message,)):
        yield from lines.decode(_bytes(data), _DECODER, "a part of opencode")


def _bytes(data: object) -> bytes:
    return data if isinstance(data, bytes) else str(data).encode()
