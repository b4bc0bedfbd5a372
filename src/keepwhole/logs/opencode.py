"""opencode: sessions, messages and parts in `opencode.db`, or as `opencode export` writes them.

Owns: its parts, and how its SQLite file is read. The part of a tool has the call and the result. The database is opened
read-only, without creating files beside it. Left out: reasoning, snapshots, marks of steps.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from keepwhole.canonical.base64_text import is_data_url, split_data_url
from keepwhole.clients.opencode import OPENCODE
from keepwhole.logs.lines import LogLines
from keepwhole.logs.message_order import Timed, build_run, epoch_seconds
from keepwhole.logs.run import Run
from keepwhole.logs.saved_outputs import SavedOutputs
from keepwhole.logs.unnamed_results import decode_logged
from keepwhole.wire.content import fields_of, kind_of_part, parts_of, text_of

NAME = OPENCODE.name
DATABASE_MAGIC = b"SQLite format 3\0"
_SESSIONS = "SELECT id, parent_id, directory FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT data FROM part WHERE message_id = ? ORDER BY id"
_DECODER = msgspec.json.Decoder(dict[str, Any])


def recognizes(value: object) -> bool:
    """Return whether a decoded document is an exported session."""
    fields = fields_of(value)
    first = next(iter(parts_of(fields.get("messages"))), None)
    return isinstance(fields.get("info"), dict) and (first is None or "parts" in fields_of(first))


def read_log(lines: LogLines) -> Iterator[Run]:
    """Yield the run of each exported session."""
    for record in lines.decode_all(_DECODER, "a session of opencode"):
        session = _Session(fields_of(record.get("info")), lines.path)
        for message in map(fields_of, parts_of(record.get("messages"))):
            session.add(fields_of(message.get("info")), [fields_of(part) for part in parts_of(message.get("parts"))])
        if run := session.run():
            yield run


class _Session:
    """The messages of one session."""

    def __init__(self, info: Mapping[str, Any], path: Path) -> None:
        self._info, self._path = info, path
        self._messages: list[Timed] = []
        self._model = ""
        self._compactions = 0
        self._outputs = SavedOutputs(path.parent / "tool-output")

    def add(self, info: Mapping[str, Any], parts: list[dict[str, Any]]) -> None:
        """Append the next message and the results of its calls."""
        at = epoch_seconds(fields_of(info.get("time")).get("created"))
        self._model = text_of(info.get("modelID")) or self._model
        self._compactions += any(kind_of_part(part) == "compaction" for part in parts)
        # From here on the summary is what the model gets instead of the history.
        role = "user" if info.get("summary") is True else info.get("role")
        content = [block for part in parts for block in _BLOCKS.get(kind_of_part(part), _no_blocks)(part)]
        self._messages.append(Timed(decode_logged({"role": role, "content": content}), at))
        for part in parts:
            if kind_of_part(part) == "tool" and _is_done(part):
                ended = fields_of(fields_of(part.get("state")).get("time")).get("end")
                self._messages.append(
                    Timed(decode_logged({"role": "user", "content": [self._result(part)]}), epoch_seconds(ended))
                )

    def _result(self, part: Mapping[str, Any]) -> dict[str, Any]:
        state = fields_of(part.get("state"))
        failed = state.get("status") == "error"
        text = text_of(state.get("error" if failed else "output"))
        more = fields_of(state.get("metadata"))
        if more.get("truncated") is True and not failed:
            text = self._outputs.restore(text_of(part.get("callID")), text, more.get("outputPath"))
        media = [_media(fields_of(part)) for part in parts_of(state.get("attachments"))]
        content = [{"type": "text", "text": text}, *media]
        return {"type": "tool_result", "tool_use_id": part.get("callID"), "content": content, "is_error": failed}

    def run(self) -> Run | None:
        """Return the run of the session."""
        info = self._info
        meta = {"format": NAME, "path": str(self._path), "model": self._model, "compactions": self._compactions}
        meta |= {
            "project": info.get("directory"),
            "parent": info.get("parentID") or info.get("parent_id"),
            **self._outputs.as_meta(),
        }
        return build_run(NAME, text_of(info.get("id")) or self._path.stem, self._messages, meta)


def _is_done(part: Mapping[str, Any]) -> bool:
    return fields_of(part.get("state")).get("status") in ("completed", "error")


def _no_blocks(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    return []


def _text(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [] if part.get("ignored") is True else [{"type": "text", "text": text_of(part.get("text"))}]


def _file(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an image block; a text file is repeated as a text part, so it gives none here."""
    return [] if text_of(part.get("mime")).startswith(("text/", "application/x-directory")) else [_media(part)]


def _media(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the block of an attachment, whose `url` has its bytes or names it."""
    url = text_of(part.get("url"))
    kind, data = split_data_url(url) or ("", "")
    is_inside = is_data_url(url)
    source = {"type": "base64", "media_type": kind, "data": data} if is_inside else {"type": "url", "url": url}
    is_document = text_of(part.get("mime")) == "application/pdf"
    return {"type": "document" if is_document else "image", "source": source}


def _call(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = fields_of(part.get("state")).get("input")
    return [{"type": "tool_use", "id": part.get("callID"), "name": part.get("tool"), "input": given}]


_BLOCKS: Mapping[str, Callable[[Mapping[str, Any]], list[dict[str, Any]]]] = {
    "text": _text,
    "file": _file,
    "tool": _call,
}


def read_database(lines: LogLines) -> Iterator[Run]:
    """Yield the run of each session in a database, oldest first, one in memory at a time."""
    try:
        with closing(_connect(lines.path)) as database:
            _refuse_views(database)
            for id, parent, directory in database.execute(_SESSIONS):
                session = _Session({"id": id, "parent_id": parent, "directory": directory}, lines.path)
                for message, data in database.execute(_MESSAGES, (id,)):
                    for info in lines.decode(_bytes(data), _DECODER, "a message of opencode"):
                        session.add(info, list(_read_parts(database, message, lines)))
                if run := session.run():
                    yield run
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the words of an error may quote a damaged schema
        lines.note_unreadable(f"not a database of opencode ({error})")


def _connect(path: Path) -> sqlite3.Connection:
    """Open the database read-only.

    The newest rows are in the write-ahead log beside the file. Without such a log nobody writes now, and `immutable`
    stops SQLite from creating files.
    """
    has_log = path.with_name(f"{path.name}-wal").exists()
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}", uri=True)
    database.text_factory = _decode_text
    return database


def _refuse_views(database: sqlite3.Connection) -> None:
    """Raise where what is read is no table: reading a view may take for ever."""
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type != 'table'")]
    if {"session", "message", "part"} & set(names):
        raise sqlite3.DatabaseError("it has views where tables are expected")


def _decode_text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")


def _read_parts(database: sqlite3.Connection, message: str, lines: LogLines) -> Iterator[dict[str, Any]]:
    for (data,) in database.execute(_PARTS, (message,)):
        yield from lines.decode(_bytes(data), _DECODER, "a part of opencode")


def _bytes(data: object) -> bytes:
    return data if isinstance(data, bytes) else str(data).encode()
