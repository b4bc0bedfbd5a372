"""`SqliteStore`: the record in one SQLite file.

Owns: the order of things: body durable, then its row, then the acknowledgement.
Must not know: what an entry means beyond the columns it is found by.
"""

import errno
import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.canonical.body import measure
from holdfast.canonical.entry import GENESIS, Entry, Result
from holdfast.canonical.utf8 import showable
from holdfast.errors import NotFound, NotStored, StoreError, StoreRefused
from holdfast.store.blobs import BlobFolder
from holdfast.store.feed import Feed
from holdfast.store.protocol import Body, Draft, Match, Row, SessionInfo, Tombstone, chained
from holdfast.store.reader import BodyReader
from holdfast.store.sqlite import home, purge, search
from holdfast.store.sqlite.connection import Transaction, connect, reading, restrict
from holdfast.store.sqlite.schema import migrate, scripts, version_of
from holdfast.store.turnstile import Turnstile

INLINE_BODY = 32_768
_COLUMNS = (
    "s.name, e.seq, e.kind, e.trace_id, e.artifact_id, e.previous, e.header, e.digest, e.chain, e.blocks, "
    "e.body, e.blob"
)
_FROM = "FROM entries e JOIN sessions s ON s.id = e.session WHERE s.name = ?"
_INSERT = (
    "INSERT INTO entries (session, seq, kind, trace_id, artifact_id, call_id, at, stored, previous, header, "
    "digest, chain, blob, blocks, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class SqliteStore:
    """The record in a folder: `record.db`, `record.lock`, `blobs/`. Opened on first use."""

    def __init__(self, folder: str, *, inline_body: int = INLINE_BODY) -> None:
        self.folder = os.path.abspath(folder)
        self.path = os.path.join(self.folder, "record.db")
        self.blobs = BlobFolder(os.path.join(self.folder, "blobs"))
        self.turnstile = Turnstile(os.path.join(self.folder, "record.lock"))
        self._inline_body = inline_body
        self._lock = threading.RLock()
        self._pid = 0
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._held: dict[str, int] = {}
        self._broken: OSError | None = None

    def open_session(self, info: SessionInfo) -> SessionInfo:
        """The session called `info.name`, made as `info` says where there is none."""
        found = self._session(info.name)
        if found is not None:
            return found
        values = (info.name, _text(info.agent), _text(info.workspace), info.created_at, int(info.ephemeral))
        with self._writing() as execute:
            execute(
                "INSERT INTO sessions (name, agent, workspace, created_at, ephemeral) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (name) DO NOTHING",
                values,
            )
        return self._session(info.name) or info

    def sessions(self) -> list[SessionInfo]:
        """All sessions, the one written to last first."""
        return [_session_info(row) for row in self._select(search.SESSIONS + " ORDER BY last DESC, s.id DESC")]

    def tombstones(self) -> list[Tombstone]:
        """What stays of purged sessions."""
        rows = self._select("SELECT name, seq, chain, at, entries, stored FROM tombstones ORDER BY at, name")
        return [Tombstone(name=n, seq=s, chain=c, at=a, entries=e, stored=b) for n, s, c, a, e, b in rows]

    def stored(self, session: str) -> int:
        """Bytes of all bodies of a session."""
        query = "SELECT e.stored FROM entries e JOIN sessions s ON s.id = e.session WHERE s.name = ?"
        return self._one_value(query + " ORDER BY e.seq DESC LIMIT 1", (session,)) or 0

    def take(self, feed: Feed, room: int) -> Body:
        """A body for `append`: small ones go into the row, larger ones into a file that is durable on return."""
        buffer = bytearray(self._inline_body + 1)
        filled = feed.fill(memoryview(buffer))
        data = bytes(memoryview(buffer)[:filled])
        if filled <= self._inline_body and filled <= room:
            return Body(measure(data, feed.encoding), inline=data)
        self._open()
        if self._broken is not None:
            raise NotStored(
                f"The disk failed earlier ({self._broken.strerror}), so nothing more is written. Check the disk, "
                "then start again; `holdfast doctor` says what is whole.",
                rescue=_Unread(data, feed),
            )
        name = os.urandom(16).hex()
        try:
            return Body(self.blobs.write(name, feed, data, room), blob=name)
        except NotStored as error:
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno == errno.EIO:
                self._broken = cause
            raise
        except OSError as error:
            raise NotStored(
                f"The result could not be written ({error.strerror}). It is shown whole; see `holdfast doctor`.",
                rescue=_Unread(data, feed),
            ) from error

    def append(self, session: str, drafts: Sequence[Draft]) -> list[Entry]:
        """Add entries, all or none; on return they are on the disk."""
        entries: list[Entry] = []
        with self._writing() as execute:
            number, seq, previous, stored = _head(execute, session)
            for draft in drafts:
                seq += 1
                row, entry = chained(session, seq, previous, draft)
                previous = row.chain
                stored += entry.facts.size
                execute(_INSERT, _insert_values(number, row, draft, stored))
                entries.append(entry)
        return entries

    def discard(self, body: Body) -> None:
        """Drop a body that was taken and will not be appended."""
        if body.blob is not None:
            self.blobs.remove([body.blob])

    def rows(self, session: str, *, after: int = 0, kind: str | None = None) -> Iterator[Row]:
        """The entries of a session in order, as stored, a page at a time."""
        only = "" if kind is None else " AND e.kind = ?"
        extra = () if kind is None else (kind,)
        while True:
            page = self._select(
                f"SELECT {_COLUMNS} {_FROM} AND e.seq > ?{only} ORDER BY e.seq LIMIT 256",
                (session, after, *extra),
            )
            for values in page:
                yield _row(values)
            if len(page) < 256:
                return
            after = page[-1][1]

    def find(self, session: str, any_id: str) -> Row | None:
        """The result with this trace id or artifact id in this session."""
        column = "artifact_id" if any_id.startswith("art_") else "trace_id"
        query = f"SELECT {_COLUMNS} {_FROM} AND e.kind = 'result' AND e.{column} = ?"
        return self._one(query, (session, showable(any_id)))

    def find_call(self, session: str, call_id: str) -> list[Row]:
        """The results of this call in this session, in order."""
        query = f"SELECT {_COLUMNS} {_FROM} AND e.call_id = ? ORDER BY e.seq"
        return [_row(values) for values in self._select(query, (session, _bytes(call_id)))]

    def decision(self, session: str, trace_id: str) -> Row | None:
        """The newest decision about this result."""
        query = f"SELECT {_COLUMNS} {_FROM} AND e.kind = 'decision' AND e.trace_id = ? ORDER BY e.seq DESC LIMIT 1"
        return self._one(query, (session, trace_id))

    def open(self, body: Body) -> BodyReader:
        """Open a body for reading."""
        if body.blob is None:
            data = body.inline or b""
            return BodyReader(body.facts, lambda offset, length: data[offset : offset + length])
        fd = self.blobs.open(body.blob)
        return BodyReader(body.facts, lambda offset, length: os.pread(fd, length, offset), lambda: os.close(fd))

    def search(self, session: str, words: str, limit: int = 20) -> list[Match]:
        """Results in which all these words occur; the index is caught up first."""
        return search.search(self, session, words, limit)

    def end(self, session: str, at: int) -> None:
        """Note that a session is over."""
        with self._writing() as execute:
            number = _number(execute, session)
            execute("INSERT INTO endings (session, at) VALUES (?, ?) ON CONFLICT DO NOTHING", (number, at))

    def purge(self, session: str, at: int) -> Tombstone:
        """Remove everything of a session but a tombstone."""
        self._drop_hold(session)
        return purge.purge(self, session, at)

    def in_use(self, session: str) -> bool:
        """Whether a process holds an ephemeral session open."""
        path = self._hold_path(session)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(fd)
        return False

    def hold(self, session: str) -> None:
        """Say that this process has an ephemeral session open; the kernel forgets it with the process."""
        self._open()
        if session not in self._held:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            fd = os.open(self._hold_path(session), flags, 0o600)
            fcntl.flock(fd, fcntl.LOCK_SH)
            self._held[session] = fd

    def close(self) -> None:
        """Give back connections and descriptors."""
        with self._lock:
            for connection in (self._reader, self._writer):
                if connection is not None and self._pid == os.getpid():
                    with self.turnstile.held():
                        connection.close()
            self._reader = self._writer = None
            for session in list(self._held):
                self._drop_hold(session)
            self.blobs.close()
            self.turnstile.close()

    def select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Read rows for the other files of this back end."""
        return self._select(query, values)

    def writing(self) -> "_Write":
        """A write transaction for the other files of this back end."""
        return self._writing()

    def _hold_path(self, session: str) -> str:
        number = self._one_value("SELECT id FROM sessions WHERE name = ?", (session,))
        return os.path.join(self.folder, f"session-{number or 0}.lock")

    def _drop_hold(self, session: str) -> None:
        fd = self._held.pop(session, None)
        if fd is not None:
            path = self._hold_path(session)
            os.close(fd)
            if not self.in_use(session) and os.path.exists(path):
                os.unlink(path)

    def _session(self, name: str) -> SessionInfo | None:
        rows = self._select(search.SESSIONS + " WHERE s.name = ?", (name,))
        return _session_info(rows[0]) if rows else None

    def _writing(self) -> "_Write":
        self._open()
        assert self._writer is not None
        return _Write(self._lock, self.turnstile, self._writer)

    def _select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        self._open()
        with self._lock:
            assert self._reader is not None
            try:
                return self._reader.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise _store_error(error, self.path) from error

    def _one(self, query: str, values: Sequence[Any]) -> Row | None:
        rows = self._select(query, values)
        return _row(rows[0]) if rows else None

    def _one_value(self, query: str, values: Sequence[Any]) -> Any:
        rows = self._select(query, values)
        return rows[0][0] if rows else None

    def _open(self) -> None:
        """Open on first use, and again after a fork: a connection must not cross one."""
        if self._pid == os.getpid() and self._reader is not None:
            return
        with self._lock:
            if self._pid == os.getpid() and self._reader is not None:
                return
            home.prepare(self.folder)
            if self._pid not in (0, os.getpid()):
                self.turnstile = Turnstile(os.path.join(self.folder, "record.lock"))
            self._connect()
            self._pid = os.getpid()

    def _connect(self) -> None:
        mask = os.umask(0o077)
        try:
            writer = connect(self.path)
            migrations = scripts()
            if version_of(writer) != len(migrations):
                with self.turnstile.held():
                    migrate(writer, self.path, migrations)
            self._writer, self._reader = restrict(writer), reading(self.path)
        except sqlite3.Error as error:
            raise StoreRefused(
                f"`{self.path}` cannot be opened ({error}). Check the folder with `holdfast doctor`."
            ) from error
        except OSError as error:
            raise StoreRefused(
                f"`{self.folder}` cannot be written ({error.strerror}). Set `HOLDFAST_HOME` to another folder."
            ) from error
        finally:
            os.umask(mask)


class _Write:
    """One write transaction behind the turnstile; SQLite's errors come out as ours."""

    def __init__(self, lock: threading.RLock, turnstile: Turnstile, connection: sqlite3.Connection) -> None:
        self._lock = lock
        self._held = turnstile.held()
        self._transaction = Transaction(connection)

    def __enter__(self) -> Any:
        self._lock.acquire()
        try:
            self._held.__enter__()
            try:
                return self._transaction.__enter__()
            except sqlite3.Error as error:
                self._held.__exit__(None, None, None)
                raise _not_stored(error) from error
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        try:
            self._transaction.__exit__(kind)
            if isinstance(error, sqlite3.Error):
                raise _not_stored(error) from error
        except sqlite3.Error as failure:
            raise _not_stored(failure) from failure
        finally:
            self._held.__exit__(None, None, None)
            self._lock.release()


class _Unread:
    """An original of which only the first bytes were read."""

    def __init__(self, first: bytes, feed: Feed) -> None:
        self._first, self._feed = first, feed

    def chunks(self) -> Iterator[bytes]:
        yield self._first
        yield from self._feed.remaining()


def _not_stored(error: sqlite3.Error) -> NotStored:
    return NotStored(f"The record could not be written ({error}). It is shown whole; see `holdfast doctor`.")


def _store_error(error: sqlite3.Error, path: str) -> StoreError:
    return StoreError(f"`{path}` could not be read ({error}). Run `holdfast doctor`.")


def _number(execute: Any, session: str) -> int:
    row = execute("SELECT id FROM sessions WHERE name = ?", (session,)).fetchone()
    if row is None:
        raise NotFound(f"There is no session `{session}`. `holdfast sessions list` shows those there are.")
    return row[0]


def _head(execute: Any, session: str) -> tuple[int, int, bytes, int]:
    """Where a session's chain stands: its number, last seq, last hash and bytes stored."""
    number = _number(execute, session)
    row = execute(
        "SELECT seq, chain, stored FROM entries WHERE session = ? ORDER BY seq DESC LIMIT 1", (number,)
    ).fetchone()
    if row is None:
        row = execute("SELECT seq, chain, 0 FROM tombstones WHERE name = ?", (session,)).fetchone()
    seq, chain, stored = row or (0, GENESIS, 0)
    return number, seq, chain, stored


def _insert_values(number: int, row: Row, draft: Draft, stored: int) -> tuple[Any, ...]:
    header = draft.header
    call_id = header.call_id if isinstance(header, Result) else None
    return (
        number,
        row.seq,
        row.kind,
        row.trace_id,
        row.artifact_id,
        None if call_id is None else _bytes(call_id),
        header.at,
        stored,
        row.previous,
        row.header,
        row.digest,
        row.chain,
        row.blob,
        row.blocks,
        row.inline,
    )


def _row(values: Any) -> Row:
    name, seq, kind, trace_id, artifact_id, previous, header, digest, chain, blocks, body, blob = values
    return Row(
        session=name,
        seq=seq,
        kind=kind,
        trace_id=trace_id,
        artifact_id=artifact_id,
        previous=previous,
        header=header,
        digest=digest,
        chain=chain,
        blocks=blocks,
        inline=body,
        blob=blob,
    )


def _session_info(values: Any) -> SessionInfo:
    name, agent, workspace, created_at, ephemeral, ended_at, entries, stored, last = values
    return SessionInfo(
        name=name,
        agent=agent,
        workspace=workspace,
        created_at=created_at,
        ephemeral=bool(ephemeral),
        ended_at=ended_at,
        entries=entries or 0,
        stored=stored or 0,
        last_at=last or created_at,
    )


def _text(value: str | None) -> str | None:
    return None if value is None else showable(value)


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
