"""`SqliteStore`: the record in one SQLite file, with a folder of large bodies beside it.

Owns: the order of things: body durable, then its row, then the acknowledgment.
Must not know: what an entry means beyond the columns it is found by.

Theory of operation
-------------------
Storing a result takes two steps, so that a crash at any moment leaves a whole record:

1. `store_body` reads the output. Up to `inline_body` bytes stay in memory and go into the row. A larger body becomes a
   file: written, synced, renamed, its folder synced. Nothing refers to it yet; if the process dies here, the file is an
   orphan, which `collect_orphans` may move away after an hour.
2. `append` adds rows in one transaction behind the turnstile. It reads the session's head, gives each draft the next
   number and the hash that chains it to the row before, and inserts it. When the transaction is committed, the rows are
   on the disk, and only then does the caller learn their numbers.

For example, two drafts appended to a session whose last entry is number 7 with hash h7:

    seq  previous  chain
    8    h7        h8 = sha256("hf1", h7, sha256(header 8), digest 8)
    9    h8        h9 = sha256("hf1", h8, sha256(header 9), digest 9)

Invariants:

- A row that exists refers to a body that exists. A blob is deleted only when no row has it and, by the table
  `condemned`, none can get it any more.
- Numbers of a session have no gap, and each row's `previous` is the `chain` of the row before it; after a purge the
  tombstone takes the place of the row before the first.
- `stored` of a row is the total of the session's bytes with it, so the quota is checked without adding up.
- The writing connection can neither update nor delete; a purge uses a connection of its own (`sqlite.database`).
- After the disk reports an input/output error nothing more is acknowledged until it was tried successfully, on new
  connections: what fsync says after a failure cannot be trusted (`sqlite.database`).
"""

import errno
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Unpack

from keepwhole.canonical.entry import Entry
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import NotStored, StoreError, StoreRefused
from keepwhole.store.blobs.folder import BlobFolder, Unread
from keepwhole.store.blobs.stores import BlobStores, external_blobs
from keepwhole.store.feed import Feed
from keepwhole.store.files import ResultFiles, remove_file, remove_files
from keepwhole.store.protocol import (
    Body,
    Draft,
    Passages,
    Row,
    SessionInfo,
    StoredBody,
    Terms,
    Tombstone,
    check_terms,
    nothing_known,
    number_drafts,
)
from keepwhole.store.sql_store import (
    COLUMNS,
    ENTRIES,
    INLINE_BODY,
    SqlStore,
    as_bytes,
    as_row,
    as_session,
    protect_in_fork,
)
from keepwhole.store.sqlite import check, table
from keepwhole.store.sqlite.database import Database
from keepwhole.store.sqlite.lookups import SqliteLookups
from keepwhole.store.sqlite.session_locks import SessionLocks

if TYPE_CHECKING:
    from keepwhole.store.sqlite.text_index import TextIndex

TRASH = "trash"
"""The folder for bodies that no entry has."""
_COUNT_CALLS = """
SELECT s.name, count(DISTINCT e.call_id) FROM entries e JOIN sessions s ON s.id = e.session
WHERE e.call_id IN ({wanted}) GROUP BY s.id ORDER BY s.id
"""
_FEW_ORPHANS, _ORPHAN_SHARE = 3, 0.05


class SqliteStore(SqlStore):
    """The record in a folder: `record.db`, `record.lock`, `record.marks`, `blobs/`, `results/`. Opened on first use."""

    sessions_query = table.SESSIONS
    answers_at_once = True
    artifact_filter = "e.artifact_id = ? AND substr(e.artifact_id, -22) <> substr(e.trace_id, -22)"

    def __init__(
        self, folder: str, *, blobs: str = "", inline_body: int = INLINE_BODY, patience: float | None = None
    ) -> None:
        """Large bodies go to `blobs`, a bucket or a folder, if it is given.

        With `patience`, what cannot be written within this many seconds is not stored, nor is anything for as long
        again: for a process that has others waiting.
        """
        self.folder = os.path.abspath(folder)
        self.database = Database(self.folder, patience)
        self._own = own = BlobFolder(os.path.join(self.folder, "blobs"))
        outside = external_blobs(blobs, self._record_id, os.path.join(self.folder, "spool"), patience)
        super().__init__(BlobStores(own, outside), ResultFiles(os.path.join(self.folder, "results")), inline_body)
        self.lookups = SqliteLookups(self.database)
        self._locks = SessionLocks(self.folder)
        protect_in_fork(self)

    @cached_property
    def _index(self) -> "TextIndex":
        """The text index. Most short commands neither search nor remove anything."""
        from keepwhole.store.sqlite.text_index import TextIndex

        return TextIndex(self.database, self.open)

    @property
    def path(self) -> str:
        """The database file."""
        return self.database.path

    def select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query."""
        return self.database.select(query, values)

    def as_text(self, text: str) -> str:
        """Return text that SQLite accepts: no lone surrogate."""
        return showable(text)

    def open_session(self, info: SessionInfo) -> SessionInfo:
        """Return the session called `info.name`; create it as `info` describes it if it does not exist."""
        found = self.session(info.name)
        if found is not None:
            return found
        with self.database.writing() as execute:
            if added := table.insert_session(execute, info):
                self.database.marks.note_description(*added)
        return self.session(info.name) or info

    def sessions(self, newest: int | None = None) -> list[SessionInfo]:
        """Return all sessions, the one written to last first; or the `newest` ones."""
        if newest is None:
            rows = self.select(table.SESSIONS + table.BY_LAST)
        else:
            rows = self.select(table.SESSIONS + table.AMONG_NEWEST + table.BY_LAST, (newest,))
        return [as_session(row) for row in rows]

    def _store_blob(self, feed: Feed, first: bytes, room: int) -> StoredBody:
        try:
            self.database.check_writable()
        except NotStored as error:
            error.rescue = Unread(first, feed)
            raise
        try:
            return self.blobs.write(feed, first, room)
        except NotStored as error:
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno == errno.EIO:
                self.database.give_up(cause)
            raise

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        """Add entries, all or none; on return they are on the disk."""
        entries: list[Entry] = []
        with self.database.writing() as execute:
            number, head = table.number_and_head(execute, session)
            check_terms(terms, session, head.chain, partial(table.is_overtaken, execute, number))
            known = partial(table.known_call, execute, session) if terms.get("once") else nothing_known
            for draft, entry, row, stored in number_drafts(session, head, drafts, terms, known):
                if row is not None:
                    added = table.insert_entry(execute, number, row, draft, stored)
                    self.database.note_entry(added, number, row.seq, row.chain)
                entries.append(entry)
        return entries

    def discard(self, body: Body) -> None:
        """Drop a stored body that will not be appended."""
        if body.blob is not None:
            self.blobs.remove([body.blob])

    def orphans(self) -> list[str]:
        """Return the names of files in `blobs/` that no entry has and that are older than an hour."""
        referenced = {name for (name,) in self.select("SELECT blob FROM entries WHERE blob IS NOT NULL")}
        return self._own.orphans(referenced)

    def collect_orphans(self, *, any_number: bool = False) -> int:
        """Move bodies that no entry has and that are older than an hour to `trash/`; return how many.

        Those outside the folder are deleted. Nothing is moved if the record is not as it was left, nor, without
        `any_number`, if there are more of them than killed processes leave: rows were lost then, not bodies.
        """
        names = self.orphans()
        for what in self.record_findings():
            raise StoreRefused(f"{what} No body was moved.")
        if not any_number and len(names) > max(_FEW_ORPHANS, self._own.count() * _ORPHAN_SHARE):
            raise StoreRefused(
                f"{len(names)} of {self._own.count()} bodies have no entry, more than killed processes leave. If "
                "entries are missing, restore a backup. If not, run `keepwhole artifacts collect --all`."
            )
        unfinished = [name for name in names if name.startswith(".")]
        given_up = self._condemn([name for name in names if not name.startswith(".")])
        moved = self._own.move(unfinished + given_up, os.path.join(self.folder, TRASH))
        return moved + self.blobs.collect_outside(self._condemn)

    def _condemn(self, blobs: list[str]) -> list[str]:
        """Make sure that no entry ever refers to these bodies; return those that none refers to."""
        with self.database.writing() as execute:
            return [blob for blob in blobs if table.condemn(execute, blob)]

    def _record_id(self) -> str:
        return self.select("SELECT id FROM record")[0][0]

    def record_findings(self) -> Iterator[str]:
        """Yield in what the record as a whole is not as it was left, without reading its entries."""
        return check.record_findings(self.database)

    def missing_bodies(self) -> Iterator[str]:
        """Yield which large bodies that an entry has are gone. Raises `StoreError` if that cannot be told."""
        return check.missing_bodies(self.database, self._own, self.blobs)

    def session_findings(self, session: str) -> Iterator[tuple[int, str]]:
        """Yield the numbers of entries that are not as they were written, and in what; 0 for the session itself."""
        return check.session_findings(self.database, session)

    def accept(self) -> None:
        """Take the record, which went back in time, for what it should be, without what is missing."""
        self.database.accept()

    def trouble(self) -> str | None:
        """Return why nothing is written now, and what to do; None if everything is in order."""
        if self.database.failure is not None:
            return f"The disk failed ({self.database.failure}). Check it; it is tried again with the next result."
        try:
            return self.database.problem()
        except StoreError as error:
            return str(error)

    def find_call(self, session: str, call_id: str) -> list[Row]:
        """Return the results of this call in this session, in order."""
        query = f"SELECT {COLUMNS} {ENTRIES} AND e.call_id = ? ORDER BY +e.seq"
        return [as_row(values) for values in self.select(query, (session, as_bytes(call_id)))]

    def count_calls(self, call_ids: Collection[str]) -> dict[str, int]:
        """Return by session how many of these calls it has results of, where it has any; the oldest session first."""
        wanted = [as_bytes(call_id) for call_id in call_ids]
        return dict(self.select(_COUNT_CALLS.format(wanted=", ".join("?" * len(wanted))), wanted))

    def passages(
        self,
        session: str,
        *,
        task_id: str | None = None,
        query_id: str | None = None,
        until: float | None = None,
    ) -> Passages:
        """Return the passages of a session, or of one task or query of it; the index is brought up to date first."""
        return self._index.passages(session, task_id, query_id, until)

    def end(self, session: str, at: int) -> None:
        """Record that a session has ended."""
        marks = self.database.marks
        with self.database.writing() as execute:
            number = table.number_of(execute, session)
            added = execute("INSERT INTO endings (session, at) VALUES (?, ?) ON CONFLICT DO NOTHING", (number, at))
            if added.rowcount:
                marks.note_ending(number, at, is_committed=False)
        if added.rowcount:
            with suppress(OSError):
                marks.note_ending(number, at, is_committed=True)

    def purge(self, session: str, at: int) -> Tombstone:
        """Remove everything of a session but a tombstone."""
        from keepwhole.store.sqlite import purge

        self._locks.release(session)
        stone = purge.purge(self.database, self._index, self.blobs, session, at)
        self.files.remove(session)
        return stone

    def forget(self, session: str, seqs: Sequence[int]) -> int:
        """Remove header, body and index of these entries; return how many. Their numbers and hashes stay."""
        from keepwhole.store.sqlite import purge

        self._remove_copies(session, seqs)
        return purge.forget(self.database, self._index, self.blobs, session, seqs)

    def add_forgotten(self, session: str, row: Row) -> None:
        """Add what is left of an entry of another record, after the session's last entry; durable on return."""
        from keepwhole.store.sqlite import purge

        with self.database.writing() as execute:
            number, head = table.number_and_head(execute, session)
            check_terms({"head": row.previous}, session, head.chain, bool)
            added = purge.insert_forgotten(execute, number, row.replace(seq=head.seq + 1), head.stored)
            self.database.note_entry(added, number, head.seq + 1, row.chain)

    def remove_leftovers(self, is_wanted: Callable[[bytes], bool]) -> int:
        """Delete files that no entry needs and whose bytes are wanted gone; return how many.

        These are bodies that no entry has, those in `trash/`, and copies of results for reading.
        """
        orphans = [os.path.join(self.folder, "blobs", name.lstrip(".")[0], name) for name in self.orphans()]
        folders = [os.path.join(self.folder, name) for name in (TRASH, "results", "spool")]
        return remove_files(folders, is_wanted) + sum(remove_file(path, is_wanted) for path in orphans)

    def restart(self, session: str, seq: int, chain: bytes) -> None:
        """Let a session without entries begin after this number and hash."""
        from keepwhole.store.sqlite import purge

        purge.restart(self.database, session, seq, chain)

    def is_held(self, session: str) -> bool:
        """Return whether any process holds an ephemeral session open."""
        return self._locks.is_held(self.number_of(session) or 0)

    def hold(self, session: str) -> None:
        """Hold an ephemeral session open; the kernel releases it with the process."""
        self._locks.hold(session, self.number_of(session) or 0)

    def identity(self) -> str:
        """Return a text that identifies this record: its file, by whatever name it was opened."""
        self.database.open()
        status = os.stat(self.path)
        return f"file/{status.st_dev}/{status.st_ino}"

    def close(self) -> None:
        """Release connections and descriptors."""
        self.database.close()
        self._locks.close()
        self.blobs.close()

    def before_fork(self) -> None:
        """Wait for what is under way, and let nothing new begin."""
        self.database.before_fork()

    def after_fork_in_parent(self) -> None:
        """Let work go on."""
        self.database.after_fork_in_parent()

    def after_fork_in_child(self) -> None:
        """Close what was inherited; the next use opens anew."""
        self._locks.leave()
        self.database.after_fork_in_child()
