"""Stores that break one promise each, for the controls: what compares or tests stores must catch every one of them."""

from collections.abc import Iterator, Sequence
from typing import Unpack

from keepwhole import MemoryStore
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Entry
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft, Match, Row, StoredBody, Terms, Tombstone
from keepwhole.store.reader import BodyReader, bytes_reader


class Forgetful(MemoryStore):
    """Takes no more than two drafts at once, and does not say so."""

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        return super().append(session, drafts[:2], **terms)


class OneByOne(MemoryStore):
    """Keeps the entries before the one that it cannot take."""

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        return [entry for draft in drafts for entry in super(OneByOne, self).append(session, [draft], **terms)]


class Careless(MemoryStore):
    """Adds an entry after any other, whatever it was written for."""

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        terms.pop("head", None)
        return super().append(session, drafts, **terms)


class Unended(MemoryStore):
    """A session that has ended ends once more."""

    def end(self, session: str, at: int) -> None:
        super().end(session, at)
        self._sessions[session] = self._sessions[session].replace(ended_at=at)


class Cutting(MemoryStore):
    """Takes as much of a body as there is room for."""

    def store_body(self, feed: Feed, room: int) -> StoredBody:
        data = b"".join(feed.remaining())[:room]
        body = Body(measure(data, feed.encoding), inline=data)
        return StoredBody(body, self.open(body))


class Blind(MemoryStore):
    """Gives out other bytes than it was given."""

    def open(self, body: Body) -> BodyReader:
        data = (body.inline or b"").replace(b"\n", b" ")
        return bytes_reader(data, measure(data, body.facts.encoding))


class Nosy(MemoryStore):
    """Finds results of any session."""

    def _indexed(self, session: str, by: str, value: str) -> list[Row]:
        return [row for name in self._index for row in super(Nosy, self)._indexed(name, by, value)]


class Stubborn(MemoryStore):
    """What was decided first holds for good."""

    def newest(self, session: str, kind: str, trace_id: str) -> Row | None:
        return next(iter(self._indexed(session, kind, trace_id)), None)


class Backwards(MemoryStore):
    """Yields the newest entry first."""

    def rows(
        self, session: str, *, after: int = 0, kind: str | tuple[str, ...] = (), light: bool = False
    ) -> Iterator[Row]:
        return reversed(list(super().rows(session, after=after, kind=kind, light=light)))


class Literal(MemoryStore):
    """Minds capitals in a search."""

    def search(self, session: str, words: str, limit: int = 20, *, until: float | None = None) -> list[Match]:
        return [match for match in super().search(session, words, limit, until=until) if words in match.text]


class Haunted(MemoryStore):
    """Finds what was purged."""

    def purge(self, session: str, at: int) -> Tombstone:
        index = self._index.get(session, {})
        stone = super().purge(session, at)
        self._index[session] = index
        return stone


class Traceless(MemoryStore):
    """A purge leaves no tombstone."""

    def purge(self, session: str, at: int) -> Tombstone:
        stone = super().purge(session, at)
        self._tombstones.clear()
        return stone


class Unlocked(MemoryStore):
    """Holds no session."""

    def hold(self, session: str) -> None:
        pass
