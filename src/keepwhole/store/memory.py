"""`MemoryStore`: the record in dictionaries. The reference that other back ends are compared with; forgets on exit."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Unpack

from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import GENESIS, Entry
from keepwhole.errors import NotFound, QuotaExceeded, UsageError
from keepwhole.store.feed import Feed
from keepwhole.store.passages import (
    EACH,
    GOES_ON,
    Passages,
    Place,
    belongs,
    first_text,
    is_indexed,
    marks,
    passage_words,
    place_of,
)
from keepwhole.store.protocol import (
    DECIDED,
    Body,
    Draft,
    Match,
    Row,
    SessionInfo,
    Taken,
    Terms,
    Tombstone,
    body_of,
    call_id_of,
    chained,
    check_quota,
    check_terms,
    entry_of,
    in_turn,
    is_over,
    kinds_of,
    result_of,
)
from keepwhole.store.reader import BodyReader, bytes_reader


class MemoryStore:
    """A record that lives as long as the object does."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[str, SessionInfo] = {}
        self._rows: dict[str, list[Row]] = {}
        self._index: dict[str, dict[tuple[str, str], list[Row]]] = {}
        self._passages: dict[str, _Indexed] = {}
        self._tombstones: dict[str, Tombstone] = {}
        self._held: set[str] = set()

    def open_session(self, info: SessionInfo) -> SessionInfo:
        """The session called `info.name`, made as `info` says where there is none."""
        with self._lock:
            self._sessions.setdefault(info.name, info.replace(last_at=info.created_at))
            return self._sessions[info.name]

    def sessions(self, newest: int | None = None) -> list[SessionInfo]:
        """All sessions, the one written to last first, or so many of them."""
        return sorted(reversed(self._sessions.values()), key=lambda info: -info.last_at)[:newest]

    def session(self, name: str) -> SessionInfo | None:
        """The session of this name, if there is one."""
        return self._sessions.get(name)

    def tombstones(self) -> list[Tombstone]:
        """What stays of purged sessions."""
        return list(self._tombstones.values())

    def stored(self, session: str) -> int:
        """Bytes of all bodies of a session."""
        info = self._sessions.get(session)
        return info.stored if info else 0

    def take(self, feed: Feed, room: int) -> Taken:
        """A body for `append`."""
        data = b"".join(feed.remaining())
        if len(data) > room:
            raise QuotaExceeded("The session's quota is used up. Raise `session_quota`.", rescue=_Whole(data))
        body = Body(measure(data, feed.encoding), inline=data)
        return Taken(body, self.open(body))

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        """Add entries, all or none."""
        with self._lock:
            info = self._info(session)
            stored = info.stored
            seq, previous = self._head(session)
            check_terms(terms, session, previous, lambda after: list(self.rows(session, after=after, kind=DECIDED)))
            added: list[tuple[Draft, Row]] = []
            entries: list[Entry] = []
            known = partial(self._known, session, added) if terms.get("once") else _never
            for draft, again in in_turn(drafts, known):
                if again is not None:
                    entries.append(entry_of(again))
                    continue
                seq += 1
                row, entry = chained(session, seq, previous, draft)
                previous = row.chain
                stored += entry.facts.size
                check_quota(stored, terms)
                added.append((draft, row))
                entries.append(entry)
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
        """Drop a body that was taken; nothing to do in memory."""

    def rows(
        self, session: str, *, after: int = 0, kind: str | tuple[str, ...] = (), light: bool = False
    ) -> Iterator[Row]:
        """The entries of a session in order, as stored; in memory no row is heavy."""
        rows = self._rows.get(session, [])
        first = max(0, after + 1 - rows[0].seq) if rows else 0
        kinds = kinds_of(kind)
        return (row for row in tuple(rows[first:]) if not kinds or row.kind in kinds)

    def entry(self, session: str, seq: int) -> Row | None:
        """The entry with this number."""
        rows = self._rows.get(session, [])
        at = seq - rows[0].seq if rows else -1
        return rows[at] if 0 <= at < len(rows) else None

    def last(self, session: str) -> Row | None:
        """The last entry of a session."""
        rows = self._rows.get(session)
        return rows[-1] if rows else None

    def newest(self, session: str, kind: str, trace_id: str) -> Row | None:
        """The newest entry of a kind with this trace id."""
        return next(reversed(self._indexed(session, kind, trace_id)), None)

    def find(self, session: str, any_id: str) -> Row | None:
        """The result with this trace id or artifact id in this session."""
        return next(iter(self._indexed(session, "id", any_id)), None)

    def find_call(self, session: str, call_id: str) -> list[Row]:
        """The results of this call in this session, in order."""
        return list(self._indexed(session, "call", call_id))

    def decision(self, session: str, trace_id: str) -> Row | None:
        """The newest decision about this result."""
        return self.newest(session, "decision", trace_id)

    def decided(self, session: str, most: int) -> list[str]:
        """The trace ids of the results that the newest decisions are about."""
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
        """Results in which all these words occur, newest first."""
        wanted = words.lower().split()
        found: list[Match] = []
        for row in reversed(list(self.rows(session, kind="result"))):
            if is_over(until):
                break
            with self.open(body_of(row)) as reader:
                lines = reader.text().split(reader.eol)
            folded = [line.lower() for line in lines]
            if wanted and all(any(word in line for line in folded) for word in wanted):
                counts = [sum(word in line for word in wanted) for line in folded]
                number = counts.index(max(counts))
                found.append(Match(trace_id=row.trace_id, line=number + 1, text=lines[number][:500]))
        return found[:limit]

    def passages(
        self,
        session: str,
        *,
        task_id: str | None = None,
        query_id: str | None = None,
        until: float | None = None,
    ) -> Passages:
        """The passages of a session, or of one task or query of it."""
        with self._lock:
            index = self._passages.setdefault(session, _Indexed())
            is_all = True
            for row in self.rows(session, after=index.up_to, kind="result"):
                if is_over(until):
                    is_all = False
                    break
                index.add(row, self.open)
            return _MemoryPassages(self, session, index, (task_id, query_id), is_all)

    def last_seq(self, session: str) -> int:
        """The number of a session's last entry; 0 for none."""
        last = self.last(session)
        return last.seq if last else 0

    def end(self, session: str, at: int) -> None:
        """Note that a session is over."""
        with self._lock:
            info = self._info(session)
            if info.ended_at is None:
                self._sessions[session] = info.replace(ended_at=at)

    def purge(self, session: str, at: int) -> Tombstone:
        """Remove everything of a session but a tombstone."""
        with self._lock:
            info = self._info(session)
            seq, chain = self._head(session)
            stone = Tombstone(name=session, seq=seq, chain=chain, at=at, entries=info.entries, stored=info.stored)
            if stone.seq:
                self._tombstones[session] = stone
            self._rows.pop(session, None)
            self._index.pop(session, None)
            self._passages.pop(session, None)
            del self._sessions[session]
            self._held.discard(session)
            return stone

    def restart(self, session: str, seq: int, chain: bytes) -> None:
        """Let a session that has no entries begin after this number and hash."""
        with self._lock:
            self._info(session)
            if self._rows.get(session):
                raise UsageError(f"Session `{session}` has entries already; only an empty one can begin elsewhere.")
            self._tombstones.pop(session, None)
            if seq:
                stone = Tombstone(name=session, seq=seq, chain=chain, at=0, entries=0, stored=0)
                self._tombstones[session] = stone

    def in_use(self, session: str) -> bool:
        """Whether an ephemeral session is held open."""
        return session in self._held

    def hold(self, session: str) -> None:
        """Hold an ephemeral session open until `close`."""
        self._held.add(session)

    def identity(self) -> str:
        """What tells this record from any other."""
        return f"memory/{id(self)}"

    def close(self) -> None:
        """Let go of held sessions; the record itself stays with the object."""
        self._held.clear()

    def _info(self, session: str) -> SessionInfo:
        try:
            return self._sessions[session]
        except KeyError:
            raise NotFound(
                f"There is no session `{session}`. `keepwhole sessions list` shows those there are."
            ) from None

    def _known(self, session: str, added: list[tuple[Draft, Row]], draft: Draft) -> Row | None:
        """The row that this draft is again, on record or just about to be."""
        call_id = call_id_of(draft)
        if call_id is None:
            return None
        rows = [*self.find_call(session, call_id), *(row for other, row in added if call_id_of(other) == call_id)]
        return next((row for row in rows if row.digest == draft.body.facts.digest), None)

    def _head(self, session: str) -> tuple[int, bytes]:
        rows = self._rows.get(session)
        if rows:
            return entry_of(rows[-1]).seq, rows[-1].chain
        stone = self._tombstones.get(session)
        return (stone.seq, stone.chain) if stone else (0, GENESIS)


def _never(draft: Draft) -> None:
    """No row is asked for."""


class _Indexed:
    """The words of one session, as far as somebody has asked for them."""

    def __init__(self) -> None:
        from keepwhole.store.word_index import WordIndex

        self.words = WordIndex()
        self.up_to = 0
        self.trace_ids: dict[int, str] = {}

    def add(self, row: Row, open: Callable[[Body], BodyReader]) -> None:
        """Index one result."""
        self.up_to, result = row.seq, result_of(row)
        if is_indexed(result):
            self.trace_ids[row.seq] = row.trace_id
            with open(body_of(row)) as reader:
                text = first_text(reader)
            own = marks(result.task_id, result.query_id)
            for at, words in enumerate(passage_words(result, text)):
                self.words.add(row.seq * EACH + at, [*own, *words])


class _MemoryPassages:
    """The passages of one session, or of one task or query of it."""

    def __init__(
        self, store: MemoryStore, session: str, index: _Indexed, only: tuple[str | None, str | None], is_all: bool
    ) -> None:
        self._store, self._session, self._index, self._only, self.is_all = store, session, index, only, is_all
        self._marks = [(mark,) for mark in marks(*only)]

    def size(self) -> int:
        """How many results there are, about: the number of the last entry."""
        return self._store.last_seq(self._session)

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """The newest passages above a number that have a word of every group, at most so many."""
        return self._index.words.newest([*groups, *self._marks], most, above) if groups and all(groups) else []

    def places(self, numbers: Iterable[int]) -> dict[int, Place]:
        """Where these passages lie."""
        known = self._index.trace_ids
        return {
            number: place_of(number, known[number // EACH], number // EACH)
            for number in numbers
            if number // EACH in known
        }

    def beyond(self) -> Iterator[str]:
        """The trace ids of results that go on after what is indexed, the newest first."""
        for row in reversed(list(self._store.rows(self._session, kind="result"))):
            if len(row.blocks) > GOES_ON and row.seq in self._index.trace_ids and belongs(result_of(row), *self._only):
                yield row.trace_id


class _Whole:
    """An original that is in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def chunks(self) -> Iterator[bytes]:
        """The whole original."""
        yield self._data

    def close(self) -> None:
        """Nothing is open."""
