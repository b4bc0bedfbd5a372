"""`MemoryStore`: the record in dictionaries, gone with the process. Other back ends are compared with it in tests."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Unpack

from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import GENESIS, Entry
from keepwhole.errors import NotFound, QuotaExceeded, UsageError
from keepwhole.store.feed import Feed
from keepwhole.store.passages import LONG, IndexedPassages, belongs, first_text, has_words, passages_of
from keepwhole.store.protocol import (
    DECIDED,
    Body,
    Draft,
    Head,
    Match,
    Passages,
    Row,
    SessionInfo,
    StoredBody,
    Terms,
    Tombstone,
    body_of,
    call_id_of,
    check_terms,
    entry_of,
    is_over,
    kinds_of,
    nothing_known,
    number_drafts,
    result_of,
)
from keepwhole.store.reader import BodyReader, bytes_reader
from keepwhole.store.text_search import search
from keepwhole.store.word_index import WordIndex


class MemoryStore:
    """A record that lives as long as the object does."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[str, SessionInfo] = {}
        self._rows: dict[str, list[Row]] = {}
        self._index: dict[str, dict[tuple[str, str], list[Row]]] = {}
        self._indexes: dict[str, _SessionIndex] = {}
        self._tombstones: dict[str, Tombstone] = {}
        self._held: set[str] = set()

    def open_session(self, info: SessionInfo) -> SessionInfo:
        """Return the session called `info.name`; create it as `info` describes it if it does not exist."""
        with self._lock:
            self._sessions.setdefault(info.name, info.replace(last_at=info.created_at))
            return self._sessions[info.name]

    def sessions(self, newest: int | None = None) -> list[SessionInfo]:
        """Return all sessions, the one written to last first; or the `newest` ones."""
        return sorted(reversed(self._sessions.values()), key=lambda info: -info.last_at)[:newest]

    def session(self, name: str) -> SessionInfo | None:
        """Return the session of this name."""
        return self._sessions.get(name)

    def tombstones(self) -> list[Tombstone]:
        """Return the tombstones of purged sessions."""
        return list(self._tombstones.values())

    def stored(self, session: str) -> int:
        """Return the bytes of all bodies of a session."""
        info = self._sessions.get(session)
        return info.stored if info else 0

    def store_body(self, feed: Feed, room: int) -> StoredBody:
        """Read a body for `append`."""
        data = b"".join(feed.remaining())
        if len(data) > room:
            raise QuotaExceeded("The session's quota is used up. Raise `session_quota`.", rescue=_Whole(data))
        body = Body(measure(data, feed.encoding), inline=data)
        return StoredBody(body, self.open(body))

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        """Add entries, all or none."""
        with self._lock:
            info = self._info(session)
            head = self._head(session)
            check_terms(terms, session, head.chain, lambda after: list(self.rows(session, after=after, kind=DECIDED)))
            added: list[tuple[Draft, Row]] = []
            entries: list[Entry] = []
            known = partial(self._known, session, added) if terms.get("once") else nothing_known
            for draft, entry, row, _ in number_drafts(session, head, drafts, terms, known):
                if row is not None:
                    added.append((draft, row))
                entries.append(entry)
            stored = head.stored + sum(draft.body.facts.size for draft, _ in added)
            self._add(info.replace(stored=stored), added)
            return entries

    def _add(self, info: SessionInfo, added: list[tuple[Draft, Row]]) -> None:
        rows = self._rows.setdefault(info.name, [])
        for draft, row in added:
            rows.append(row)
            self._add_to_index(info.name, draft, row)
        if added:
            self._sessions[info.name] = info.replace(entries=len(rows), last_at=added[-1][0].header.at)

    def discard(self, body: Body) -> None:
        """Do nothing: a body that is not appended is in no one's way."""

    def rows(
        self, session: str, *, after: int = 0, kind: str | tuple[str, ...] = (), light: bool = False
    ) -> Iterator[Row]:
        """Yield the entries of a session in order; `light` makes no difference in memory."""
        rows = self._rows.get(session, [])
        first = max(0, after + 1 - rows[0].seq) if rows else 0
        kinds = kinds_of(kind)
        return (row for row in tuple(rows[first:]) if not kinds or row.kind in kinds)

    def entry(self, session: str, seq: int) -> Row | None:
        """Return the entry with this number."""
        rows = self._rows.get(session, [])
        at = seq - rows[0].seq if rows else -1
        return rows[at] if 0 <= at < len(rows) else None

    def last(self, session: str) -> Row | None:
        """Return the last entry of a session."""
        rows = self._rows.get(session)
        return rows[-1] if rows else None

    def newest(self, session: str, kind: str, trace_id: str) -> Row | None:
        """Return the newest entry of a kind with this trace id."""
        return next(reversed(self._indexed(session, kind, trace_id)), None)

    def find(self, session: str, any_id: str) -> Row | None:
        """Return the result with this trace id or artifact id in this session."""
        return next(iter(self._indexed(session, "id", any_id)), None)

    def find_call(self, session: str, call_id: str) -> list[Row]:
        """Return the results of this call in this session, in order."""
        return list(self._indexed(session, "call", call_id))

    def count_calls(self, call_ids: Collection[str]) -> dict[str, int]:
        """Return by session how many of these calls it has results of, where it has any; the oldest session first."""
        with self._lock:
            counts = {
                name: sum(bool(self._indexed(name, "call", one)) for one in {*call_ids}) for name in self._sessions
            }
        return {name: count for name, count in counts.items() if count}

    def decision(self, session: str, trace_id: str) -> Row | None:
        """Return the newest decision about this result."""
        return self.newest(session, "decision", trace_id)

    def last_decided(self, session: str, most: int) -> list[str]:
        """Return the trace ids of the `most` results that were decided about last, newest first."""
        rows = reversed(self._rows.get(session, []))
        return list(islice(dict.fromkeys(row.trace_id for row in rows if row.kind == "decision"), most))

    def _indexed(self, session: str, by: str, value: str) -> list[Row]:
        return self._index.get(session, {}).get((by, value), [])

    def _add_to_index(self, session: str, draft: Draft, row: Row) -> None:
        keys = [(row.kind, row.trace_id)]
        if row.kind == "result":
            keys.append(("id", row.trace_id))
        if row.artifact_id is not None:
            keys.append(("id", row.artifact_id))
        call_id = call_id_of(draft)
        if call_id is not None:
            keys.append(("call", call_id))
        index = self._index.setdefault(session, {})
        for key in keys:
            index.setdefault(key, []).append(row)

    def open(self, body: Body) -> BodyReader:
        """Open a body for reading."""
        data = body.inline or b""
        return bytes_reader(data, body.facts)

    def search(self, session: str, words: str, limit: int = 20, *, until: float | None = None) -> list[Match]:
        """Return the results in which all these words occur, newest first, so that tests see an order that is plain."""
        return search(self, session, words, limit, until, newest_first=True)

    def passages(
        self,
        session: str,
        *,
        task_id: str | None = None,
        query_id: str | None = None,
        until: float | None = None,
    ) -> Passages:
        """Return the passages of a session, or of one task or query of it, after indexing its new results."""
        with self._lock:
            index = self._indexes.setdefault(session, _SessionIndex())
            found = _MemoryPassages(list(self._rows.get(session, ())), index, task_id, query_id)
            for row in self.rows(session, after=index.up_to, kind="result"):
                if is_over(until):
                    found.is_all, found.indexed_to = False, index.up_to
                    break
                index.add(row, self.open)
            return found

    def end(self, session: str, at: int) -> None:
        """Record that a session has ended."""
        with self._lock:
            info = self._info(session)
            if info.ended_at is None:
                self._sessions[session] = info.replace(ended_at=at)

    def purge(self, session: str, at: int) -> Tombstone:
        """Remove everything of a session but a tombstone."""
        with self._lock:
            info = self._info(session)
            seq, chain, _ = self._head(session)
            stone = Tombstone(name=session, seq=seq, chain=chain, at=at, entries=info.entries, stored=info.stored)
            if stone.seq:
                self._tombstones[session] = stone
            self._rows.pop(session, None)
            self._index.pop(session, None)
            self._indexes.pop(session, None)
            del self._sessions[session]
            self._held.discard(session)
            return stone

    def restart(self, session: str, seq: int, chain: bytes) -> None:
        """Let a session without entries begin after this number and hash."""
        with self._lock:
            self._info(session)
            if self._rows.get(session):
                raise UsageError(f"Session `{session}` has entries already; only an empty one can begin elsewhere.")
            self._tombstones.pop(session, None)
            if seq:
                stone = Tombstone(name=session, seq=seq, chain=chain, at=0, entries=0, stored=0)
                self._tombstones[session] = stone

    def is_held(self, session: str) -> bool:
        """Return whether an ephemeral session is held open."""
        return session in self._held

    def hold(self, session: str) -> None:
        """Hold an ephemeral session open until `close`."""
        self._held.add(session)

    def identity(self) -> str:
        """Return a text that identifies this record."""
        return f"memory/{id(self)}"

    def close(self) -> None:
        """Release held sessions; the record itself lives as long as the object."""
        self._held.clear()

    def _info(self, session: str) -> SessionInfo:
        try:
            return self._sessions[session]
        except KeyError:
            raise NotFound(f"No session is named `{session}`. List them with `keepwhole sessions list`.") from None

    def _known(self, session: str, added: list[tuple[Draft, Row]], draft: Draft) -> Row | None:
        """Return the row that this draft repeats, stored or about to be."""
        call_id = call_id_of(draft)
        if call_id is None:
            return None
        rows = [*self.find_call(session, call_id), *(row for other, row in added if call_id_of(other) == call_id)]
        return next((row for row in rows if row.digest == draft.body.facts.digest), None)

    def _head(self, session: str) -> Head:
        rows = self._rows.get(session)
        if rows:
            return Head(entry_of(rows[-1]).seq, rows[-1].chain, self._info(session).stored)
        stone = self._tombstones.get(session)
        return Head(stone.seq, stone.chain, 0) if stone else Head(0, GENESIS, 0)


class _SessionIndex:
    """The text index of one session, as far as somebody has asked for it."""

    def __init__(self) -> None:
        self.words = WordIndex()
        self.up_to = 0
        self.trace_ids: dict[int, str] = {}

    def add(self, row: Row, open_body: Callable[[Body], BodyReader]) -> None:
        """Index one result."""
        self.up_to, result = row.seq, result_of(row)
        if has_words(result):
            self.trace_ids[row.seq] = row.trace_id
            with open_body(body_of(row)) as reader:
                text = first_text(reader)
            for number, terms in passages_of(row.seq, result, text):
                self.words.add(number, terms)


class _MemoryPassages(IndexedPassages):
    """The passages of one session, or of one task or query of it."""

    def __init__(self, rows: list[Row], index: _SessionIndex, task_id: str | None, query_id: str | None) -> None:
        super().__init__(task_id, query_id)
        self._rows, self._index = rows, index

    def size(self) -> int:
        """Return the number of the last entry, which is at least the number of results."""
        return self._rows[-1].seq if self._rows else 0

    def _find(self, groups: Sequence[Sequence[str]], most: int, above: int) -> list[int]:
        return self._index.words.newest(groups, most, above)

    def _trace_ids(self, seqs: Sequence[int]) -> Mapping[int, str]:
        return self._index.trace_ids

    def beyond(self) -> Iterator[str]:
        """Yield the trace ids of results that are longer than what is indexed, newest first."""
        for row in reversed(self._rows):
            if len(row.blocks) > LONG and row.seq in self._index.trace_ids and belongs(result_of(row), *self.only):
                yield row.trace_id


class _Whole:
    """An original that is in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole original."""
        yield self._data

    def close(self) -> None:
        """Do nothing: nothing is open."""
