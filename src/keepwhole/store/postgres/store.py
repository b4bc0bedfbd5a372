"""`PostgresStore`: the record in a schema of a PostgreSQL database, for agents on many machines.

Owns: the order of things: body durable, then its row, then the acknowledgment; and that an entry is added once even
if the connection is lost before the server can say so (see `postgres.append`).
Must not know: what an entry means beyond the columns it is found by.
"""

import os
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, Unpack

import psycopg

from keepwhole.canonical.entry import Entry
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import NotStored, StoreError, StoreRefused, UsageError
from keepwhole.store.blobs.stores import BlobStores, external_blobs
from keepwhole.store.files import ResultFiles, remove_files
from keepwhole.store.postgres.address import address_of
from keepwhole.store.postgres.append import Append, raise_refusal
from keepwhole.store.postgres.bodies import BlobTable
from keepwhole.store.postgres.check import RecordCheck
from keepwhole.store.postgres.group_commit import GroupCommit
from keepwhole.store.postgres.lookups import PostgresLookups
from keepwhole.store.postgres.marks import MachineMarks
from keepwhole.store.postgres.notifications import Watchers
from keepwhole.store.postgres.server import CONNECTIONS, LONG, Server, one_line
from keepwhole.store.postgres.session_locks import SessionLocks
from keepwhole.store.postgres.text_index import TextIndex
from keepwhole.store.protocol import Body, Draft, Passages, Row, SessionInfo, Terms, Tombstone
from keepwhole.store.row_check import describe
from keepwhole.store.sql_store import (
    COLUMNS,
    ENTRIES,
    INLINE_BODY,
    STONE,
    Execute,
    SqlStore,
    as_bytes,
    as_row,
    as_session,
    as_tombstone,
    protect_in_fork,
    unknown_session,
)

_T = TypeVar("_T")

_SESSIONS = """
SELECT s.name, s.agent, s.workspace, s.created_at, s.ephemeral, d.at,
       coalesce(h.seq - coalesce(t.seq, 0), 0), coalesce(h.stored, 0), coalesce(h.at, s.created_at) AS last
FROM sessions s LEFT JOIN endings d ON d.session = s.id LEFT JOIN tombstones t ON t.name = s.name
LEFT JOIN LATERAL (SELECT seq, stored, at FROM entries e WHERE e.session = s.id ORDER BY e.seq DESC LIMIT 1) h ON true
"""
"""Numbers have no gap, so the entries of a session need not be counted."""
_OPEN_SESSION = "SELECT open_session(%s, %s, %s, %s, %s)"
_OF_CALL = f"""
SELECT {COLUMNS} {ENTRIES.replace("?", "%s")}
AND e.call_id IS NOT NULL AND sha256(e.call_id) = sha256(%s) AND e.call_id = %s
ORDER BY e.seq
"""
_COUNT_CALLS = """
SELECT s.name, count(DISTINCT wanted.id) FROM unnest(%s::bytea[]) AS wanted (id), LATERAL (
    SELECT DISTINCT e.session FROM entries e
    WHERE e.call_id IS NOT NULL AND sha256(e.call_id) = sha256(wanted.id) AND e.call_id = wanted.id
) e JOIN sessions s ON s.id = e.session GROUP BY s.id, s.name ORDER BY s.id
"""
_ADD_FORGOTTEN = "SELECT add_forgotten(%s, %s, %s, %s, %s, %s, %s)"
_ORPHANS = (
    "SELECT p.blob FROM pieces p WHERE p.piece = 0 AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.blob = p.blob)"
)
_STRAYS = """
WITH RECURSIVE owner (id) AS (
    (SELECT session FROM entries ORDER BY session LIMIT 1)
    UNION ALL SELECT (SELECT e.session FROM entries e WHERE e.session > owner.id ORDER BY e.session LIMIT 1)
    FROM owner WHERE owner.id IS NOT NULL
)
SELECT count(*) FROM entries e WHERE e.session IN (
    SELECT owner.id FROM owner WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = owner.id)
)
"""
"""Goes from session to session in the index instead of reading all entries."""
_IDENTITY = (
    "SELECT concat_ws('/', 'server', extract(epoch FROM pg_postmaster_start_time()), current_setting('port'), "
    "current_database(), 'sessions'::regclass::oid)"
)


class PostgresStore(SqlStore):
    """The record at `postgresql://…`. Opened on first use. `folder` holds bodies on their way, and result files."""

    placeholder = "%s"
    sessions_query = _SESSIONS
    artifact_filter = "e.artifact_id = ? AND right(e.artifact_id, 22) <> right(e.trace_id, 22)"

    def __init__(
        self,
        url: str,
        folder: str,
        *,
        blobs: str = "",
        inline_body: int = INLINE_BODY,
        patience: float | None = None,
        connections: int = CONNECTIONS,
    ) -> None:
        """Large bodies go to `blobs`, a bucket or a folder, if it is given; at most `connections` are open at once.

        With `patience`, what cannot be written within this many seconds is not stored.
        """
        self.address = address_of(url)
        self.server = Server(self.address, patience, connections)
        self._spool = os.path.join(folder, "spool")
        self._appends = GroupCommit(self.server, connections)
        self._own = BlobTable(self.server, self._spool)
        places = BlobStores(self._own, external_blobs(blobs, self._record_id, self._spool, patience))
        super().__init__(places, ResultFiles(os.path.join(folder, "results")), inline_body)
        self.lookups = PostgresLookups(self.server, self.as_text)
        self._index = TextIndex(self.server, self.open)
        self._locks = SessionLocks(self.server)
        self._marks = MachineMarks(os.path.join(folder, "postgres.marks"), self._record_id)
        self._check = RecordCheck(self.server, self._marks, self.blobs)
        self._id = ""
        self.server.on_lost = self._locks.renew
        self._watchers = Watchers(self.server)
        protect_in_fork(self)

    def select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query."""
        return self.server.select(query, values)

    def as_text(self, text: str) -> str:
        """Return text that the server accepts: no lone surrogate, no NUL."""
        return showable(text).replace("\0", "\ufffd")

    def open_session(self, info: SessionInfo) -> SessionInfo:
        """Return the session called `info.name`; create it as `info` describes it if it does not exist."""
        found = self.session(info.name)
        if found is not None:
            return found
        agent, workspace = (None if text is None else self.as_text(text) for text in (info.agent, info.workspace))
        self._write_once(_OPEN_SESSION, info.name, agent, workspace, info.created_at, info.ephemeral)
        made = self.session(info.name)
        if made is None:
            return info
        about = (made.name, made.agent, made.workspace, made.created_at, made.ephemeral)
        self._marks.note_description(made.name, describe(about))
        return made

    def sessions(self, newest: int | None = None) -> list[SessionInfo]:
        """Return all sessions, the one written to last first; or the `newest` ones."""
        order = " ORDER BY last DESC, s.id DESC"
        if newest is None:
            rows = self.select(_SESSIONS + order)
        else:
            query = f"{_SESSIONS} WHERE s.id = ANY (ARRAY(SELECT newest(%s))){order} LIMIT %s"
            rows = self.select(query, (newest, newest))
        return [as_session(row) for row in rows]

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        """Add entries, all or none; on return they are on the server's disk."""
        append = Append(self.server, session, drafts, terms)
        entries = self._write(lambda: self._appends.send(append))
        if entries:
            last = max(entries, key=lambda entry: entry.seq)
            self._marks.note_entry(session, last.seq, last.chain)
        return entries

    def discard(self, body: Body) -> None:
        """Drop a stored body that will not be appended."""
        if body.blob is not None and body.inline is None:
            try:
                self.blobs.remove(self._condemn([body.blob]))
            except StoreError:
                pass  # left for the collection of orphans

    def collect_orphans(self) -> int:
        """Delete bodies that no entry has and that are older than an hour; return how many.

        Nothing is deleted if the record is not as it was left: entries that it lost may come back with a backup.
        """
        for what in self._check.changes():
            raise StoreRefused(f"{what} No body was deleted.")
        return self.blobs.collect(self._condemn)

    def _condemn(self, blobs: list[str]) -> list[str]:
        """Make sure that no entry ever refers to these bodies; return those that none refers to."""
        return [blob for (blob,) in self.select("SELECT condemn(%s)", (blobs,))]

    def _record_id(self) -> str:
        self._id = self._id or self.select("SELECT id FROM record")[0][0]
        return self._id

    def record_findings(self) -> Iterator[str]:
        """Yield in what the record as a whole is not as it was left, without reading its entries."""
        return self._check.record_findings()

    def session_findings(self, session: str) -> Iterator[tuple[int, str]]:
        """Yield the numbers of entries that are not as they were written, and in what; 0 for the session itself."""
        return self._check.session_findings(session)

    def accept(self) -> None:
        """Take the record, which went back in time, for what it should be, without what is missing."""
        self._check.accept()

    def find_call(self, session: str, call_id: str) -> list[Row]:
        """Return the results of this call in this session, in order."""
        call = as_bytes(call_id)
        return [as_row(values) for values in self.select(_OF_CALL, (session, call, call))]

    def count_calls(self, call_ids: Collection[str]) -> dict[str, int]:
        """Return by session how many of these calls it has results of, where it has any; the oldest session first."""
        return dict(self.select(_COUNT_CALLS, ([as_bytes(call_id) for call_id in call_ids],)))

    def passages(
        self,
        session: str,
        *,
        task_id: str | None = None,
        query_id: str | None = None,
        until: float | None = None,
    ) -> Passages:
        """Return the passages of a session, or of one task or query of it; the index is brought up to date first."""
        return self._index.passages(self.number_of(session) or 0, task_id, query_id, until)

    def end(self, session: str, at: int) -> None:
        """Record that a session has ended."""
        if not self._write_once("SELECT end_session(%s, %s)", session, at)[0][0]:
            raise unknown_session(session)
        ended = self.session(session)
        if ended is not None and ended.ended_at is not None:
            self._marks.note_ending(session, ended.ended_at)

    def purge(self, session: str, at: int) -> Tombstone:
        """Remove everything of a session but a tombstone."""
        self._locks.release(session)
        with self._changing() as execute:
            row = execute(f"SELECT {STONE}, outside FROM purge(%s, %s)", (session, at)).fetchone()
            if row is None:
                raise unknown_session(session)
            *stone, outside = row
            self.blobs.check_reachable(outside)
        self._marks.drop(session)
        self.blobs.remove(outside)
        self.files.remove(session)
        return as_tombstone(stone)

    def forget(self, session: str, seqs: Sequence[int]) -> int:
        """Remove header, body and index of these entries; return how many. Their numbers and hashes stay.

        Only the owner of the schema may. Raises `StoreError` if a body outside could not be deleted; the entries are
        removed all the same.
        """
        if self.select("SELECT has_function_privilege('forget(text, bigint[])', 'EXECUTE')") != [(True,)]:
            raise StoreRefused(
                f"The role of `{self.address.shown}` may add to the record and not forget anything of it. Nothing was "
                "changed. Set `KEEPWHOLE_STORE` to the address of the schema's owner, and try again."
            )
        self._remove_copies(session, seqs)
        with self._changing() as execute:
            row = execute("SELECT entries, outside FROM forget(%s, %s)", (session, list(seqs))).fetchone()
            if row is None:
                raise unknown_session(session)
            count, outside = row
            self.blobs.check_reachable(outside)
        self.blobs.remove_for_good(outside)
        return count

    def add_forgotten(self, session: str, row: Row) -> None:
        """Add what is left of an entry of another record, after the session's last entry; durable on return."""
        left = (session, row.previous, row.kind, row.trace_id, row.artifact_id, row.header, row.digest)

        def add() -> None:
            try:
                self.server.ask(_ADD_FORGOTTEN, left)
            except psycopg.Error as error:
                raise_refusal(error, session)
                raise

        self._write(add)

    def remove_leftovers(self, is_wanted: Callable[[bytes], bool]) -> int:
        """Delete what no entry needs and whose bytes are wanted gone; return how many.

        These are bodies in the database that no entry has, and copies of results for reading on this machine.
        """
        orphans = [blob for (blob,) in self.select(_ORPHANS) if is_wanted(self._own.read_all(blob))]
        if orphans:
            self._own.remove(self._condemn(orphans))
        return len(orphans) + remove_files([self.files.path, self._spool], is_wanted)

    def restart(self, session: str, seq: int, chain: bytes) -> None:
        """Let a session without entries begin after this number and hash."""
        if self.number_of(session) is None:
            raise unknown_session(session)
        with self._changing() as execute:
            if not execute("SELECT restart(%s, %s, %s)", (session, seq, chain)).fetchone()[0]:
                raise UsageError(f"Session `{session}` has entries already; only an empty one can begin elsewhere.")
        self._marks.drop(session)

    def count_strays(self) -> int:
        """Return how many entries belong to no session: nobody would find them, and no purge removes them."""
        return self.select(_STRAYS)[0][0]

    def secret(self, name: str) -> str:
        """Return the secret of this name that all users of this record share; the server draws it."""
        return self._write_once("SELECT secret(%s)", name)[0][0]

    def is_held(self, session: str) -> bool:
        """Return whether any process holds an ephemeral session open."""
        number = self.number_of(session)
        return number is not None and self._locks.is_held(number)

    def hold(self, session: str) -> None:
        """Hold an ephemeral session open; the server releases it with the connection."""
        number = self.number_of(session)
        if number is not None:
            self._locks.hold(session, number)

    def watch(self, on_change: Callable[[], None]) -> Callable[[], None]:
        """Call `on_change`, from another thread, when there may be something new; return a function that ends it."""
        return self._watchers.add(on_change)

    def trouble(self) -> str | None:
        """Return why nothing can be stored now, without asking the server; None as far as is known."""
        return f"the server of `{self.address.shown}` does not answer" if self.server.is_away else None

    def identity(self) -> str:
        """Return a text that identifies this record: the server's start, the database and the schema in it."""
        return self.select(_IDENTITY)[0][0]

    def close(self) -> None:
        """Release connections and descriptors."""
        self._watchers.close()
        self._locks.close()
        self._marks.close()
        self.server.close()
        self.blobs.close()

    def before_fork(self) -> None:
        """Do nothing: the child never uses what it inherits."""

    def after_fork_in_parent(self) -> None:
        """Do nothing."""

    def after_fork_in_child(self) -> None:
        """Drop what was inherited; the next use opens anew."""
        self.server.leave()
        self._appends.renew()
        self._locks.leave()
        self._watchers.leave()

    def _write_once(self, query: str, *values: Any) -> list[Any]:
        """Return the rows of a call that writes, and that changes nothing when it comes again."""
        return self._write(lambda: self.server.ask(query, values))

    def _write(self, work: Callable[[], _T]) -> _T:
        """Return the outcome of `work`, tried again while the connection is lost. `NotStored` if it fails."""
        try:
            return self.server.retry(work)
        except psycopg.Error as error:
            raise NotStored(
                f"The record could not be written ({one_line(error)}). What was not stored is shown in full; check the "
                f"server of `{self.address.shown}`."
            ) from error

    @contextmanager
    def _changing(self) -> Generator[Execute]:
        """Run the block in a transaction that may take long. It is not tried again."""
        try:
            with self.server.transaction(LONG) as execute:
                yield execute
        except psycopg.Error as error:
            raise StoreError(f"`{self.address.shown}` could not be changed ({one_line(error)}). Try again.") from error
