"""`SqliteStore`: the record in one SQLite file.

Owns: the order of things: body durable, then its row, then the acknowledgement.
Must not know: what an entry means beyond the columns it is found by.
"""

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Entry
from keepwhole.canonical.ids import trace_of
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import NotStored, StoreError, StoreRefused
from keepwhole.store import columns, forks
from keepwhole.store.blobs.external import opener
from keepwhole.store.blobs.folder import BlobFolder, Unread
from keepwhole.store.blobs.stores import Places
from keepwhole.store.durable import sync_folder
from keepwhole.store.feed import Feed
from keepwhole.store.files import ResultFiles
from keepwhole.store.protocol import (
    Body,
    Draft,
    Match,
    Row,
    SessionInfo,
    Taken,
    Terms,
    Tombstone,
    as_asked,
    chained,
    check_quota,
    check_terms,
    entry_of,
    in_turn,
    kinds_of,
)
from keepwhole.store.reader import BodyReader, bytes_reader
from keepwhole.store.sqlite import home, purge, search, table
from keepwhole.store.sqlite.connection import DATABASE_ERRORS, Transaction, connect, reading, restrict
from keepwhole.store.sqlite.schema import migrate, refuse_newer, scripts, version_in_file, version_of
from keepwhole.store.sqlite.session_locks import Holding
from keepwhole.store.turnstile import Turnstile

if TYPE_CHECKING:
    from keepwhole.store.passages import Passages

INLINE_BODY = 32_768


class SqliteStore:
    """The record in a folder: `record.db`, `record.lock`, `blobs/`, `results/`. Opened on first use."""

    def __init__(
        self, folder: str, *, blobs: str = "", inline_body: int = INLINE_BODY, patience: float | None = None
    ) -> None:
        """Large bodies go to `blobs`, a bucket or a folder, if it is given.

        With `patience`, what cannot be written within so many seconds is not stored, nor is anything for as long
        again: for who has others waiting.
        """
        self.folder = os.path.abspath(folder)
        self.path = os.path.join(self.folder, "record.db")
        own = BlobFolder(os.path.join(self.folder, "blobs"))
        self.blobs = Places(own, opener(blobs, self._id, os.path.join(self.folder, "spool"), patience))
        self.files = ResultFiles(os.path.join(self.folder, "results"))
        self._patience, self._busy_until = patience, 0.0
        self.turnstile = Turnstile(os.path.join(self.folder, "record.lock"), patience)
        self._inline_body = inline_body
        self._lock = threading.RLock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._holding = Holding(self.folder)
        self._broken: OSError | None = None

    def open_session(self, info: SessionInfo) -> SessionInfo:
        """The session called `info.name`, made as `info` says where there is none."""
        found = self.session(info.name)
        if found is not None:
            return found
        with self.writing() as execute:
            table.insert_session(execute, info)
        return self.session(info.name) or info

    def sessions(self, newest: int | None = None) -> list[SessionInfo]:
        """All sessions, the one written to last first, or so many of them."""
        if newest is None:
            rows = self.select(table.SESSIONS + table.BY_LAST)
        else:
            rows = self.select(table.SESSIONS + table.AMONG_NEWEST + table.BY_LAST, (newest,))
        return [columns.as_session(row) for row in rows]

    def session(self, name: str) -> SessionInfo | None:
        """The session of this name, if there is one."""
        rows = self.select(table.SESSIONS + " WHERE s.name = ?", (showable(name),))
        return columns.as_session(rows[0]) if rows else None

    def tombstones(self) -> list[Tombstone]:
        """What stays of purged sessions."""
        return [columns.as_tombstone(row) for row in self.select(columns.TOMBSTONES)]

    def stored(self, session: str) -> int:
        """Bytes of all bodies of a session."""
        return self._one_value(f"SELECT e.stored {table.FROM} ORDER BY e.seq DESC LIMIT 1", (session,)) or 0

    def take(self, feed: Feed, room: int) -> Taken:
        """A body for `append`: small ones go into the row, larger ones elsewhere, durable on return."""
        buffer = bytearray(self._inline_body + 1)
        filled = feed.fill(memoryview(buffer))
        data = bytes(memoryview(buffer)[:filled])
        if filled <= self._inline_body and filled <= room:
            body = Body(measure(data, feed.encoding), inline=data)
            return Taken(body, self.open(body).remember(data))
        self._open()
        if self._broken is not None:
            raise NotStored(
                f"The disk failed earlier ({self._broken.strerror}), so nothing more is written. Check the disk, "
                "then start again; `keepwhole doctor` says what is whole.",
                rescue=Unread(data, feed),
            )
        try:
            return self.blobs.write(feed, data, room)
        except NotStored as error:
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno == errno.EIO:
                self._broken = cause
            raise

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        """Add entries, all or none; on return they are on the disk."""
        entries: list[Entry] = []
        with self.writing() as execute:
            number, seq, previous, stored = table.number_and_head(execute, session)
            check_terms(terms, session, previous, partial(table.is_overtaken, execute, number))
            known = partial(table.known_call, execute, session) if terms.get("once") else _never
            for draft, again in in_turn(drafts, known):
                if again is not None:
                    entries.append(entry_of(again))
                    continue
                seq += 1
                row, entry = chained(session, seq, previous, draft)
                previous = row.chain
                stored += entry.facts.size
                check_quota(stored, terms)
                table.insert_entry(execute, number, row, draft, stored)
                entries.append(entry)
        return entries

    def discard(self, body: Body) -> None:
        """Drop a body that was taken and will not be appended."""
        if body.blob is not None:
            self.blobs.remove([body.blob])

    def collect_orphans(self) -> int:
        """Drop bodies that nothing has referred to for an hour; how many."""
        return self.blobs.collect(self._condemn)

    def _condemn(self, blobs: list[str]) -> list[str]:
        """Make sure that no entry ever refers to these bodies; those of them that none refers to."""
        with self.writing() as execute:
            return [blob for blob in blobs if table.condemn(execute, blob)]

    def _id(self) -> str:
        """What the record's own bodies are known by outside it."""
        return self._one_value("SELECT id FROM record", ())

    def rows(
        self, session: str, *, after: int = 0, kind: str | tuple[str, ...] = (), light: bool = False
    ) -> Iterator[Row]:
        """The entries of a session in order, as stored, a page at a time; `light` has bodies of decisions alone."""
        wanted = columns.LIGHT if light else columns.COLUMNS
        extra = kinds_of(kind)
        only = f" AND e.kind IN ({', '.join('?' * len(extra))})" if extra else ""
        while True:
            page = self.select(
                f"SELECT {wanted} {table.FROM} AND e.seq > ?{only} ORDER BY e.seq LIMIT 256",
                (session, after, *extra),
            )
            for values in page:
                yield columns.as_row(values)
            if len(page) < 256:
                return
            after = page[-1][1]

    def entry(self, session: str, seq: int) -> Row | None:
        """The entry with this number."""
        return self._one("AND e.seq = ?", (session, seq))

    def last(self, session: str) -> Row | None:
        """The last entry of a session, light."""
        return self._one("ORDER BY e.seq DESC LIMIT 1", (session,), columns.LIGHT)

    def newest(self, session: str, kind: str, trace_id: str) -> Row | None:
        """The newest entry of a kind with this trace id."""
        if kind not in columns.OF_KIND:
            return None
        which = f"AND {columns.OF_KIND[kind]} AND e.trace_id = ? ORDER BY e.seq DESC LIMIT 1"
        row = self._one(which, (session, showable(trace_id)))
        return None if row is None else as_asked(row, session, trace_id)

    def find(self, session: str, any_id: str) -> Row | None:
        """The result with this trace id or artifact id in this session."""
        any_id, trace_id = showable(any_id), trace_of(showable(any_id))
        row = self._one("AND e.kind = 'result' AND e.trace_id = ?", (session, trace_id))
        if row is not None and any_id in (as_asked(row, session, trace_id).trace_id, row.artifact_id):
            return row
        which = "AND e.kind = 'result' AND e.artifact_id = ?"
        return self._one(which, (session, any_id))  # its letters may be its own, in an archive

    def find_call(self, session: str, call_id: str) -> list[Row]:
        """The results of this call in this session, in order."""
        query = f"SELECT {columns.COLUMNS} {table.FROM} AND e.call_id = ? ORDER BY +e.seq"
        return [columns.as_row(values) for values in self.select(query, (session, columns.as_bytes(call_id)))]

    def decision(self, session: str, trace_id: str) -> Row | None:
        """The newest decision about this result."""
        return self.newest(session, "decision", trace_id)

    def decided(self, session: str, most: int) -> list[str]:
        """The trace ids of the results that the newest decisions are about."""
        query = f"SELECT e.trace_id {table.FROM} AND e.kind = 'decision' GROUP BY e.trace_id ORDER BY max(e.seq) DESC"
        return [trace_id for (trace_id,) in self.select(query + " LIMIT ?", (session, most))]

    def open(self, body: Body) -> BodyReader:
        """Open a body for reading."""
        if body.blob is None:
            data = body.inline or b""
            return bytes_reader(data, body.facts)
        return self.blobs.open(body.blob, body.facts)

    def search(self, session: str, words: str, limit: int = 20, *, until: float | None = None) -> list[Match]:
        """Results in which all these words occur; the index is caught up first."""
        return search.search(self, session, words, limit, until)

    def passages(
        self,
        session: str,
        *,
        task_id: str | None = None,
        query_id: str | None = None,
        until: float | None = None,
    ) -> "Passages":
        """The passages of a session, or of one task or query of it; the index is caught up first."""
        from keepwhole.store.sqlite import passages  # most commands never ask

        is_all = passages.catch_up(self, until)
        found = passages.SqlitePassages(self, session, task_id, query_id)
        if not is_all:
            found.add_unindexed(until)
        return found

    def end(self, session: str, at: int) -> None:
        """Note that a session is over."""
        with self.writing() as execute:
            number = table.number_of(execute, session)
            execute("INSERT INTO endings (session, at) VALUES (?, ?) ON CONFLICT DO NOTHING", (number, at))

    def purge(self, session: str, at: int) -> Tombstone:
        """Remove everything of a session but a tombstone."""
        self._open()
        self._holding.drop(session)
        stone = purge.purge(self, session, at)
        self.files.remove(session)
        return stone

    def restart(self, session: str, seq: int, chain: bytes) -> None:
        """Let a session that has no entries begin after this number and hash."""
        self._open()
        purge.restart(self, session, seq, chain)

    def in_use(self, session: str) -> bool:
        """Whether a process holds an ephemeral session open."""
        return self._holding.is_held(self._number(session))

    def hold(self, session: str) -> None:
        """Say that this process has an ephemeral session open; the kernel forgets it with the process."""
        self._holding.hold(session, self._number(session))

    def identity(self) -> str:
        """What tells this record from any other: the file itself, by whichever name."""
        self._open()
        status = os.stat(self.path)
        return f"file/{status.st_dev}/{status.st_ino}"

    def close(self) -> None:
        """Give back connections and descriptors."""
        with self._lock:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    self._close(connection)
            self._reader = self._writer = None
            self._holding.close()
            self.blobs.close()
            self.turnstile.close()

    def _close(self, connection: sqlite3.Connection) -> None:
        """Close behind the turnstile: the last one to close moves the log into the file."""
        try:
            with self.turnstile.held():
                connection.close()
        except OSError:
            connection.close()  # the lock cannot be had; SQLite's own still guards the file

    def select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Rows read by a connection that cannot write."""
        self._open()
        with self._lock:
            assert self._reader is not None
            try:
                return self._reader.execute(query, values).fetchall()
            except DATABASE_ERRORS as error:
                raise _store_error(error, self.path) from error

    @contextmanager
    def writing(self) -> Generator[table.Execute]:
        """One write transaction behind the turnstile; on return it is on the disk."""
        self._open()
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

    def _number(self, session: str) -> int:
        return self._one_value("SELECT id FROM sessions WHERE name = ?", (session,)) or 0

    def _one(self, which: str, values: Sequence[Any], wanted: str = columns.COLUMNS) -> Row | None:
        rows = self.select(f"SELECT {wanted} {table.FROM} {which}", values)
        return columns.as_row(rows[0]) if rows else None

    def _one_value(self, query: str, values: Sequence[Any]) -> Any:
        rows = self.select(query, values)
        return rows[0][0] if rows else None

    def _open(self) -> None:
        """Open on first use, and again after a fork."""
        if self._reader is not None:
            return
        with self._lock:
            if self._reader is not None:
                return
            home.prepare(self.folder)
            self._connect()
            forks.watch(self)

    def before_fork(self) -> None:
        """Finish what is under way, and let nothing new begin."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Close what was inherited; the next use opens anew. The parent's own lock still keeps the file as it is."""
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self._reader = self._writer = None
        self._holding.leave()
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
                self._reader = reading(self.path)
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


def _never(draft: Draft) -> None:
    """No row is asked for."""


def _store_error(error: Exception, path: str) -> StoreError:
    return StoreError(f"`{path}` could not be read ({error}). Run `keepwhole doctor`.")
