"""`PostgresStore`: the record in a schema of a PostgreSQL database, for agents on many machines.

Owns: the order of things: body durable, then its row, then the acknowledgement; and that an entry is added once even
where the connection was lost before the server could say so.
Must not know: what an entry means beyond the columns it is found by.
"""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import psycopg

from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Entry
from keepwhole.canonical.ids import trace_of
from keepwhole.errors import NotStored, StoreError, UsageError
from keepwhole.store import columns, forks
from keepwhole.store.blobs.external import opener
from keepwhole.store.blobs.stores import MARK, Places
from keepwhole.store.feed import Feed
from keepwhole.store.files import ResultFiles
from keepwhole.store.postgres import passages, search, table
from keepwhole.store.postgres.address import address_of
from keepwhole.store.postgres.append import Append
from keepwhole.store.postgres.bodies import BlobTable
from keepwhole.store.postgres.notifications import Watching
from keepwhole.store.postgres.server import Server, said
from keepwhole.store.postgres.session_locks import Holding
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
    kinds_of,
)
from keepwhole.store.reader import BodyReader, bytes_reader

if TYPE_CHECKING:
    from keepwhole.store.passages import Passages

_T = TypeVar("_T")

INLINE_BODY = 32_768
_PAGE = 256
_OUTSIDE = f"SELECT e.blob {table.FROM} AND e.blob LIKE %s"
_IDENTITY = (
    "SELECT concat_ws('/', 'server', extract(epoch FROM pg_postmaster_start_time()), current_setting('port'), "
    "current_database(), 'sessions'::regclass::oid)"
)


class PostgresStore:
    """The record at `postgresql://…`. Opened on first use. `folder` is for what is on its way, and for result files."""

    def __init__(
        self,
        url: str,
        folder: str,
        *,
        blobs: str = "",
        inline_body: int = INLINE_BODY,
        patience: float | None = None,
    ) -> None:
        """Large bodies go to `blobs`, a bucket or a folder, if it is given.

        With `patience`, what cannot be written within so many seconds is not stored.
        """
        self.address = address_of(url)
        self.server = Server(self.address, patience)
        self.files = ResultFiles(os.path.join(folder, "results"))
        spool = os.path.join(folder, "spool")
        self.blobs = Places(BlobTable(self.server, spool), opener(blobs, self._id, spool, patience))
        self._holding = Holding(self.server)
        self.server.on_lost = self._holding.renew
        self._watching = Watching(self.server)
        self._inline_body = inline_body
        forks.watch(self)

    def open_session(self, info: SessionInfo) -> SessionInfo:
        """The session called `info.name`, made as `info` says where there is none."""
        found = self.session(info.name)
        if found is not None:
            return found
        self._write(lambda: self._insert_session(info))
        return self.session(info.name) or info

    def _insert_session(self, info: SessionInfo) -> None:
        with self.server.transaction() as execute:
            table.insert_session(execute, info)

    def sessions(self, newest: int | None = None) -> list[SessionInfo]:
        """All sessions, the one written to last first, or so many of them."""
        order = " ORDER BY last DESC, s.id DESC"
        if newest is None:
            rows = self.select(table.SESSIONS + order)
        else:
            rows = self.select(
                f"{table.SESSIONS} WHERE s.id = ANY (ARRAY(SELECT newest(%s))){order} LIMIT %s", (newest, newest)
            )
        return [columns.as_session(row) for row in rows]

    def session(self, name: str) -> SessionInfo | None:
        """The session of this name, if there is one."""
        rows = self.select(table.SESSIONS + " WHERE s.name = %s", (table.as_text(name),))
        return columns.as_session(rows[0]) if rows else None

    def tombstones(self) -> list[Tombstone]:
        """What stays of purged sessions."""
        return [columns.as_tombstone(row) for row in self.select(columns.TOMBSTONES)]

    def stored(self, session: str) -> int:
        """Bytes of all bodies of a session."""
        rows = self.select(f"SELECT e.stored {table.FROM} ORDER BY e.seq DESC LIMIT 1", (session,))
        return rows[0][0] if rows else 0

    def take(self, feed: Feed, room: int) -> Taken:
        """A body for `append`: small ones go into the row, larger ones elsewhere, durable on return."""
        buffer = bytearray(self._inline_body + 1)
        filled = feed.fill(memoryview(buffer))
        data = bytes(memoryview(buffer)[:filled])
        if filled <= self._inline_body and filled <= room:
            body = Body(measure(data, feed.encoding), inline=data)
            return Taken(body, self.open(body).remember(data))
        return self.blobs.write(feed, data, room)

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        """Add entries, all or none; on return they are on the server's disk."""
        return self._write(Append(self.server, session, drafts, terms))

    def discard(self, body: Body) -> None:
        """Drop a body that was taken and will not be appended."""
        if body.blob is not None and body.inline is None:
            try:
                self.blobs.remove(self._condemn([body.blob]))
            except StoreError:
                pass  # left for the collection of orphans

    def collect_orphans(self) -> int:
        """Drop bodies that nothing has referred to for an hour; how many."""
        return self.blobs.collect(self._condemn)

    def _condemn(self, blobs: list[str]) -> list[str]:
        """Make sure that no entry ever refers to these bodies; those of them that none refers to."""
        return [blob for (blob,) in self.select("SELECT condemn(%s)", (blobs,))]

    def _id(self) -> str:
        """What the record's own bodies are known by outside it."""
        return self.select("SELECT id FROM record")[0][0]

    def rows(
        self, session: str, *, after: int = 0, kind: str | tuple[str, ...] = (), light: bool = False
    ) -> Iterator[Row]:
        """The entries of a session in order, as stored, a page at a time; `light` has bodies of decisions alone."""
        wanted = columns.LIGHT if light else columns.COLUMNS
        kinds = kinds_of(kind)
        only = " AND e.kind = ANY(%s)" if kinds else ""
        while True:
            page = self.select(
                f"SELECT {wanted} {table.FROM} AND e.seq > %s{only} ORDER BY e.seq LIMIT {_PAGE}",
                (session, after, *([list(kinds)] if kinds else [])),
            )
            for values in page:
                yield columns.as_row(values)
            if len(page) < _PAGE:
                return
            after = page[-1][1]

    def entry(self, session: str, seq: int) -> Row | None:
        """The entry with this number."""
        return self._one("AND e.seq = %s", (session, seq))

    def last(self, session: str) -> Row | None:
        """The last entry of a session, light."""
        return self._one("ORDER BY e.seq DESC LIMIT 1", (session,), columns.LIGHT)

    def newest(self, session: str, kind: str, trace_id: str) -> Row | None:
        """The newest entry of a kind with this trace id."""
        if kind not in columns.OF_KIND:
            return None
        wanted = table.as_text(trace_id)
        row = self._one(
            f"AND {columns.OF_KIND[kind]} AND e.trace_id = %s ORDER BY e.seq DESC LIMIT 1", (session, wanted)
        )
        return None if row is None else as_asked(row, session, trace_id)

    def find(self, session: str, any_id: str) -> Row | None:
        """The result with this trace id or artifact id in this session."""
        any_id = table.as_text(any_id)
        trace_id = trace_of(any_id)
        row = self._one("AND e.kind = 'result' AND e.trace_id = %s", (session, trace_id))
        if row is not None and any_id in (as_asked(row, session, trace_id).trace_id, row.artifact_id):
            return row
        return self._one(f"AND e.kind = 'result' AND e.artifact_id = %s AND {table.OTHER_LETTERS}", (session, any_id))

    def find_call(self, session: str, call_id: str) -> list[Row]:
        """The results of this call in this session, in order."""
        query = f"SELECT {columns.COLUMNS} {table.FROM} AND {table.OF_CALL} ORDER BY e.seq"
        call = columns.as_bytes(call_id)
        return [columns.as_row(values) for values in self.select(query, (session, call, call))]

    def decision(self, session: str, trace_id: str) -> Row | None:
        """The newest decision about this result."""
        return self.newest(session, "decision", trace_id)

    def decided(self, session: str, most: int) -> list[str]:
        """The trace ids of the results that the newest decisions are about."""
        query = f"SELECT e.trace_id {table.FROM} AND e.kind = 'decision' GROUP BY e.trace_id ORDER BY max(e.seq) DESC"
        return [trace_id for (trace_id,) in self.select(query + " LIMIT %s", (session, most))]

    def open(self, body: Body) -> BodyReader:
        """Open a body for reading."""
        if body.blob is None or body.inline is not None:
            return bytes_reader(body.inline or b"", body.facts)
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
        return passages.passages_of(self, session, task_id, query_id, until)

    def end(self, session: str, at: int) -> None:
        """Note that a session is over."""
        number = self.number_of(session)
        if number is None:
            raise columns.no_session(session)
        self._write(lambda: self._insert_ending(number, at))

    def _insert_ending(self, number: int, at: int) -> None:
        with self.server.transaction() as execute:
            execute("INSERT INTO endings (session, at) VALUES (%s, %s) ON CONFLICT DO NOTHING", (number, at))

    def purge(self, session: str, at: int) -> Tombstone:
        """Remove everything of a session but a tombstone."""
        self._holding.drop(session)
        with self._changing(session) as execute:
            outside = [blob for (blob,) in execute(_OUTSIDE, (session, MARK + "%")).fetchall()]
            self.blobs.reach(outside)
            row = execute(f"SELECT {columns.STONE} FROM purge(%s, %s)", (session, at)).fetchone()
        if row is None:
            raise columns.no_session(session)
        self.blobs.remove(outside)
        self.files.remove(session)
        return columns.as_tombstone(row)

    def restart(self, session: str, seq: int, chain: bytes) -> None:
        """Let a session that has no entries begin after this number and hash."""
        if self.number_of(session) is None:
            raise columns.no_session(session)
        with self._changing(session) as execute:
            if not execute("SELECT restart(%s, %s, %s)", (session, seq, chain)).fetchone()[0]:
                raise UsageError(f"Session `{session}` has entries already; only an empty one can begin elsewhere.")

    def secret(self, name: str, drawn: str) -> str:
        """What all who share this record know under this name: `drawn` from now on, where nobody knows anything yet."""
        self._write(lambda: self._insert_secret(name, drawn))
        return self.select("SELECT value FROM secrets WHERE name = %s", (name,))[0][0]

    def _insert_secret(self, name: str, drawn: str) -> None:
        with self.server.transaction() as execute:
            execute("INSERT INTO secrets (name, value) VALUES (%s, %s) ON CONFLICT DO NOTHING", (name, drawn))

    def in_use(self, session: str) -> bool:
        """Whether a process holds an ephemeral session open."""
        number = self.number_of(session)
        return number is not None and self._holding.is_held(number)

    def hold(self, session: str) -> None:
        """Say that this process has an ephemeral session open; the server forgets it with the connection."""
        number = self.number_of(session)
        if number is not None:
            self._holding.hold(session, number)

    def watch(self, on_change: Callable[[], None]) -> Callable[[], None]:
        """Call `on_change`, from another thread, when there may be something new; what is returned ends it."""
        return self._watching.add(on_change)

    def identity(self) -> str:
        """What tells this record from any other: the server's start, the database and the schema in it."""
        return self.select(_IDENTITY)[0][0]

    def close(self) -> None:
        """Give back connections and descriptors."""
        self._watching.close()
        self._holding.close()
        self.server.close()
        self.blobs.close()

    def select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Rows of one query."""
        return self.server.select(query, values)

    def number_of(self, session: str) -> int | None:
        """The number of a session in this record."""
        rows = self.select("SELECT id FROM sessions WHERE name = %s", (table.as_text(session),))
        return rows[0][0] if rows else None

    def before_fork(self) -> None:
        """Nothing need wait: the child never uses what it inherits."""

    def after_fork_in_parent(self) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Let go of what was inherited; the next use opens anew."""
        self.server.leave()
        self._holding.leave()
        self._watching.leave()

    def _write(self, work: Callable[[], _T]) -> _T:
        """What `work` gives, tried again while the connection is lost. `NotStored` if it cannot be done."""
        try:
            return self.server.again(work)
        except psycopg.Error as error:
            raise NotStored(
                f"The record could not be written ({said(error)}). What was not stored is shown whole; check the "
                f"server of `{self.address.shown}`."
            ) from error

    @contextmanager
    def _changing(self, session: str) -> Generator[table.Execute]:
        """A transaction in which nobody else adds to a session. It is not tried again: whoever asked may do so."""
        try:
            with self.server.transaction(f"session/{session}") as execute:
                yield execute
        except psycopg.Error as error:
            raise StoreError(f"`{self.address.shown}` could not be changed ({said(error)}). Try again.") from error

    def _one(self, which: str, values: Sequence[Any], wanted: str = columns.COLUMNS) -> Row | None:
        rows = self.select(f"SELECT {wanted} {table.FROM} {which}", values)
        return columns.as_row(rows[0]) if rows else None
