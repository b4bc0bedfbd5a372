"""`SqlStore`: what the back ends in SQLite and PostgreSQL have in common.

Owns: the queries that both understand, the columns of the record as values, bodies in rows or in blobs, and forks.
Must not know: connections, transactions, how entries are added and removed.

A connection must not cross a fork: two processes would speak on one, and believe in locks that only one of them has. So
no fork happens while a store is in the middle of something that must not be copied, and the child releases what it
inherited before it does anything else, in a way that the parent does not notice (`protect_in_fork`).
"""

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeVar

from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import KINDS
from keepwhole.canonical.ids import trace_of
from keepwhole.errors import Damaged, NotFound
from keepwhole.store.blobs.stores import BlobStores
from keepwhole.store.feed import Feed
from keepwhole.store.files import ResultFiles
from keepwhole.store.protocol import (
    Body,
    Match,
    Passages,
    Row,
    SessionInfo,
    StoredBody,
    Tombstone,
    checked_row,
    kinds_of,
)
from keepwhole.store.reader import BodyReader, bytes_reader

_T = TypeVar("_T")
Execute: TypeAlias = Callable[..., Any]

INLINE_BODY = 32_768
"""Bytes of a body that is stored in its row; a larger one is a blob."""
_PAGE = 256

COLUMNS = (
    "s.name, e.seq, e.kind, e.trace_id, e.artifact_id, e.previous, e.header, e.digest, e.chain, e.blocks, "
    "e.body, e.blob"
)
LIGHT = COLUMNS.replace("e.body", "CASE e.kind WHEN 'decision' THEN e.body END")
ALL_ENTRIES = "FROM entries e JOIN sessions s ON s.id = e.session WHERE s.id = (SELECT id FROM sessions WHERE name = ?)"
"""The session's number is one value here, so that PostgreSQL reads entries in the order of an index. With `s.name = ?`
it would read the whole session and sort it."""
FORGOTTEN = 1
"""The `format` of an entry that was forgotten: its `header` is the hash of the one it had, and it has no body."""
ENTRIES = f"{ALL_ENTRIES} AND e.format <> {FORGOTTEN}"
_LAST_DECISIONS = (  # as an index has it, so that no entry is read; some may be of results that were forgotten
    f"SELECT e.seq, e.trace_id {ALL_ENTRIES} AND e.kind = 'decision' AND e.seq < ? ORDER BY e.seq DESC LIMIT ?"
)
_BEYOND_ANY = 1 << 62
STONE = "name, seq, chain, at, entries, stored"


class SqlStore(ABC):
    """The part of a store that reads. Queries are written with `?` for each value."""

    placeholder = "?"
    sessions_query: str
    artifact_filter = "e.artifact_id = ?"
    """Finds a result by an artifact id that does not end in the letters of its trace id, as in some archives."""

    def __init__(self, blobs: BlobStores, files: ResultFiles, inline_body: int) -> None:
        self.blobs, self.files = blobs, files
        self._inline_body = inline_body

    @abstractmethod
    def select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query in the database's own spelling."""

    @abstractmethod
    def as_text(self, text: str) -> str:
        """Return text that the database accepts."""

    @abstractmethod
    def passages(
        self,
        session: str,
        *,
        task_id: str | None = None,
        query_id: str | None = None,
        until: float | None = None,
    ) -> Passages:
        """Return the passages of a session, or of one task or query of it; the index is brought up to date first."""

    def _select(self, query: str, *values: Any) -> list[Any]:
        return self.select(query.replace("?", self.placeholder), values)

    def _one(self, which: str, *values: Any, columns: str = COLUMNS) -> Row | None:
        rows = self._select(f"SELECT {columns} {ENTRIES} {which}", *values)
        return as_row(rows[0]) if rows else None

    def _any_one(self, which: str, *values: Any, columns: str = COLUMNS) -> Row | None:
        """Return one entry, also if it was forgotten."""
        rows = self._select(f"SELECT {columns} {ALL_ENTRIES} {which}", *values)
        return as_row(rows[0]) if rows else None

    def session(self, name: str) -> SessionInfo | None:
        """Return the session of this name."""
        rows = self._select(self.sessions_query + " WHERE s.name = ?", self.as_text(name))
        return as_session(rows[0]) if rows else None

    def number_of(self, session: str) -> int | None:
        """Return the number of a session in this database."""
        rows = self._select("SELECT id FROM sessions WHERE name = ?", self.as_text(session))
        return rows[0][0] if rows else None

    def tombstones(self) -> list[Tombstone]:
        """Return the tombstones of purged sessions."""
        return [as_tombstone(row) for row in self.select(f"SELECT {STONE} FROM tombstones ORDER BY at, name")]

    def stored(self, session: str) -> int:
        """Return the bytes of all bodies of a session."""
        rows = self._select(f"SELECT e.stored {ALL_ENTRIES} ORDER BY e.seq DESC LIMIT 1", session)
        return rows[0][0] if rows else 0

    def store_body(self, feed: Feed, room: int) -> StoredBody:
        """Store a body for `append`: a small one goes into its row, a larger one is a blob, durable on return."""
        buffer = bytearray(min(self._inline_body, feed.expected) + 1)
        filled = feed.fill(memoryview(buffer))
        data = bytes(memoryview(buffer)[:filled])
        if filled < len(buffer) and filled <= room:  # that was all
            body = Body(measure(data, feed.encoding), inline=data)
            return StoredBody(body, self.open(body).remember(data))
        return self._store_blob(feed, data, room)

    def _store_blob(self, feed: Feed, first: bytes, room: int) -> StoredBody:
        return self.blobs.write(feed, first, room)

    def open(self, body: Body) -> BodyReader:
        """Open a body for reading."""
        if body.blob is None or body.inline is not None:
            return bytes_reader(body.inline or b"", body.facts)
        return self.blobs.open(body.blob, body.facts)

    def rows(
        self, session: str, *, after: int = 0, kind: str | tuple[str, ...] = (), light: bool = False
    ) -> Iterator[Row]:
        """Yield the stored entries of a session in order, read a page at a time."""
        kinds = kinds_of(kind)
        only = f" AND e.kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        query = f"SELECT {LIGHT if light else COLUMNS} {ENTRIES} AND e.seq > ?{only} ORDER BY e.seq LIMIT {_PAGE}"
        while True:
            page = self._select(query, session, after, *kinds)
            for values in page:
                yield as_row(values)
            if len(page) < _PAGE:
                return
            if not is_after(page[-1][1], after):
                raise Damaged(f"The entries of session `{session}` are out of order. Run `keepwhole doctor`.")
            after = page[-1][1]

    def entry(self, session: str, seq: int) -> Row | None:
        """Return the entry with this number."""
        return self._any_one("AND e.seq = ?", session, seq)

    def last(self, session: str) -> Row | None:
        """Return the last entry of a session, without its body."""
        return self._any_one("ORDER BY e.seq DESC LIMIT 1", session, columns=LIGHT)

    def forgotten(self, session: str) -> list[Row]:
        """Return what is left of the entries that were forgotten, in order: their headers are hashes."""
        query = f"SELECT {COLUMNS} {ALL_ENTRIES} AND e.format = {FORGOTTEN} ORDER BY e.seq"
        return [as_row(values) for values in self._select(query, session)]

    def _remove_copies(self, session: str, seqs: Sequence[int]) -> None:
        """Delete the copies for reading, on this machine, of the results among these entries."""
        for seq in seqs:
            row = self.entry(session, seq)
            if row is not None and row.kind == "result":
                self.files.remove_one(session, row.trace_id)

    def newest(self, session: str, kind: str, trace_id: str) -> Row | None:
        """Return the newest entry of a kind with this trace id."""
        if kind not in KINDS:
            return None
        # Written out as the partial indexes have it. SQLite has one for requests and responses together: without naming
        # both it reads all entries of the session.
        both = " AND e.kind IN ('request', 'response')" if kind in ("request", "response") else ""
        which = f"AND e.kind = '{kind}'{both} AND e.trace_id = ? ORDER BY e.seq DESC LIMIT 1"
        row = self._one(which, session, self.as_text(trace_id))
        return None if row is None else checked_row(row, session, trace_id)

    def find(self, session: str, any_id: str) -> Row | None:
        """Return the result with this trace id or artifact id in this session."""
        any_id = self.as_text(any_id)
        trace_id = trace_of(any_id)
        row = self._one("AND e.kind = 'result' AND e.trace_id = ?", session, trace_id)
        if row is not None and any_id in (checked_row(row, session, trace_id).trace_id, row.artifact_id):
            return row
        return self._one(f"AND e.kind = 'result' AND {self.artifact_filter}", session, any_id)

    def decision(self, session: str, trace_id: str) -> Row | None:
        """Return the newest decision about this result."""
        return self.newest(session, "decision", trace_id)

    def last_decided(self, session: str, most: int) -> list[str]:
        """Return the trace ids of the `most` results that were decided about last, newest first."""
        found, below = dict[str, None](), _BEYOND_ANY
        while len(found) < most:
            page = self._select(_LAST_DECISIONS, session, below, most)
            found.update(dict.fromkeys(str(trace_id) for _, trace_id in page))  # damage may have made it a number
            if len(page) < most:
                break
            if not is_after(below, page[-1][0]):
                raise Damaged(f"The decisions of session `{session}` are out of order. Run `keepwhole doctor`.")
            below = page[-1][0]
        return list(found)[:most]

    def search(self, session: str, words: str, limit: int = 20, *, until: float | None = None) -> list[Match]:
        """Return the results in which all these words occur, best first; the index is brought up to date first."""
        from keepwhole.store.text_search import search  # most commands never search

        return search(self, session, words, limit, until)

    def check_blobs(self) -> list[str]:
        """Write, read and delete a body outside; return what the place lacks. Raises `StoreRefused` if it fails."""
        return self.blobs.outside().check()


def as_row(values: Any) -> Row:
    """Return a row of `COLUMNS`. A value that damage turned into another type is left empty, and so fails its check."""
    name, seq, kind, trace_id, artifact_id, previous, header, digest, chain, blocks, body, blob = values
    return Row(
        session=str(name),
        seq=seq if isinstance(seq, int) else 0,
        kind=str(kind),
        trace_id=str(trace_id),
        artifact_id=artifact_id if isinstance(artifact_id, str) else None,
        previous=_bytes_or_none(previous) or b"",
        header=_bytes_or_none(header) or b"",
        digest=_bytes_or_none(digest) or b"",
        chain=_bytes_or_none(chain) or b"",
        blocks=_bytes_or_none(blocks) or b"",
        inline=_bytes_or_none(body),
        blob=blob if isinstance(blob, str) else None,
    )


def is_after(number: object, other: object) -> bool:
    """Whether what is read page by page goes on: damage to an index may end a page before its beginning."""
    return isinstance(number, int) and isinstance(other, int) and number > other


def _bytes_or_none(value: object) -> bytes | None:
    return value if isinstance(value, bytes) else None


def in_parts(wanted: Iterable[_T], most: int) -> Iterator[list[_T]]:
    """Yield the values in parts that fit into one query."""
    rest = iter(wanted)
    while some := list(islice(rest, most)):
        yield some


def as_session(values: Any) -> SessionInfo:
    """Return a row of a query for sessions."""
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


def as_tombstone(values: Any) -> Tombstone:
    """Return a row of `STONE`."""
    name, seq, chain, at, entries, stored = values
    return Tombstone(name=name, seq=seq, chain=chain, at=at, entries=entries, stored=stored)


def as_bytes(text: str) -> bytes:
    """Return text of a provider as bytes, lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


def unknown_session(session: str) -> NotFound:
    """Return the error for a name that no session has."""
    return NotFound(f"No session is named `{session}`. List them with `keepwhole sessions list`.")


class Forkable(Protocol):
    """A store that holds connections."""

    def before_fork(self) -> None:
        """Wait for what is under way, and let nothing new begin."""
        ...

    def after_fork_in_parent(self) -> None:
        """Let work go on."""
        ...

    def after_fork_in_child(self) -> None:
        """Close what was inherited; the next use opens anew."""
        ...


_open: "weakref.WeakSet[Forkable]" = weakref.WeakSet()
_forking: list[Forkable] = []


def protect_in_fork(store: Forkable) -> None:
    """Let a store prepare for every fork of this process."""
    _open.add(store)


def _before() -> None:
    _forking.extend(_open)
    for store in _forking:
        store.before_fork()


def _in_parent() -> None:
    while _forking:
        _forking.pop().after_fork_in_parent()


def _in_child() -> None:
    while _forking:
        _forking.pop().after_fork_in_child()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
