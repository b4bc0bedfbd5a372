"""What a back end must do. `tests/contracts` is the real interface: a back end that passes it is one.

A store is sync and safe from threads. `append` returns only when everything it was given is durable.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack, runtime_checkable

from keepwhole.canonical.body import BodyFacts
from keepwhole.canonical.entry import (
    Decision,
    Entry,
    Header,
    Result,
    header_bytes,
    next_chain,
    parse_header,
)
from keepwhole.canonical.value import Value
from keepwhole.errors import Damaged, NotStored, Overtaken, QuotaExceeded
from keepwhole.store.feed import Feed
from keepwhole.store.reader import BodyReader

if TYPE_CHECKING:
    from keepwhole.store.passages import Passages


class SessionInfo(Value):
    """A session as the store knows it."""

    name: str
    agent: str | None = None
    workspace: str | None = None
    created_at: int = 0
    ephemeral: bool = False
    ended_at: int | None = None
    entries: int = 0
    stored: int = 0
    """Bytes of all bodies."""
    last_at: int = 0


class Tombstone(Value):
    """What stays of a purged session: its last number and chain hash, no content."""

    name: str
    seq: int
    chain: bytes
    at: int
    entries: int
    stored: int


class Body(Value):
    """A body that is durable or will be with its row: its facts, and the row's bytes or the blob's name."""

    facts: BodyFacts
    inline: bytes | None = None
    blob: str | None = None


class Taken(Value):
    """A body on its way in, open for reading; whoever has it closes the reader."""

    body: Body
    reader: BodyReader


class Draft(Value):
    """An entry before it has its number and its place in the chain."""

    header: Header
    body: Body


class Row(Value):
    """An entry as it is stored, not yet checked."""

    session: str
    seq: int
    kind: str
    trace_id: str
    artifact_id: str | None
    previous: bytes
    header: bytes
    digest: bytes
    chain: bytes
    blocks: bytes
    inline: bytes | None
    blob: str | None


class Match(Value):
    """A result that a search found."""

    trace_id: str
    line: int
    text: str


DECIDED = ("result", "decision")
"""The kinds of entries that say what is shown, and so what is decided next."""


class Terms(TypedDict, total=False):
    """On what terms entries are added to a session."""

    once: bool
    """A result whose call id and digest are on record already is not added, nor is a decision about it: the entry on
    record is returned in its place."""
    quota: int | None
    """`QuotaExceeded` if the session would have more bytes."""
    after: int | None
    """`Overtaken` if a result or a decision has a greater number: what is added was decided without it."""
    head: bytes | None
    """`NotStored` if the session's last entry has another chain hash."""


class Store(Protocol):
    """A back end for the record."""

    def open_session(self, info: SessionInfo) -> SessionInfo:
        """The session called `info.name`, made as `info` says where there is none."""
        ...

    def sessions(self, newest: int | None = None) -> list[SessionInfo]:
        """All sessions, the one written to last first; or so many of them, without looking at the others."""
        ...

    def session(self, name: str) -> SessionInfo | None:
        """The session of this name, if there is one."""
        ...

    def tombstones(self) -> list[Tombstone]:
        """What stays of purged sessions."""
        ...

    def stored(self, session: str) -> int:
        """Bytes of all bodies of a session."""
        ...

    def take(self, feed: Feed, room: int) -> Taken:
        """A body for `append`; a large one is durable on return. `NotStored` if it cannot be, or is over `room`."""
        ...

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        """Add entries, all or none, durable on return. `NotStored` if they cannot be, or not on these terms."""
        ...

    def discard(self, body: Body) -> None:
        """Drop a body that was taken and will not be appended."""
        ...

    def rows(
        self, session: str, *, after: int = 0, kind: str | tuple[str, ...] = (), light: bool = False
    ) -> Iterator[Row]:
        """The entries of a session in order, as stored: all, or those of one kind or several.

        With `light`, without any body but those of decisions.
        """
        ...

    def entry(self, session: str, seq: int) -> Row | None:
        """The entry with this number."""
        ...

    def last(self, session: str) -> Row | None:
        """The last entry of a session, light."""
        ...

    def newest(self, session: str, kind: str, trace_id: str) -> Row | None:
        """The newest entry of a kind with this trace id."""
        ...

    def find(self, session: str, any_id: str) -> Row | None:
        """The result with this trace id or artifact id in this session."""
        ...

    def find_call(self, session: str, call_id: str) -> list[Row]:
        """The results of this call in this session, in order."""
        ...

    def decision(self, session: str, trace_id: str) -> Row | None:
        """The newest decision about this result."""
        ...

    def decided(self, session: str, most: int) -> list[str]:
        """The trace ids of the results that the newest decisions are about, the newest first, at most so many."""
        ...

    def open(self, body: Body) -> BodyReader:
        """Open a body for reading."""
        ...

    def search(self, session: str, words: str, limit: int = 20, *, until: float | None = None) -> list[Match]:
        """Results of a session in which all these words occur, best first, each with its first matching line.

        Past `until`, by the monotonic clock, what was found so far is returned.
        """
        ...

    def passages(
        self,
        session: str,
        *,
        task_id: str | None = None,
        query_id: str | None = None,
        until: float | None = None,
    ) -> "Passages":
        """The passages of a session, or of one task or query of it, all that is on record among them.

        Past `until`, by the monotonic clock, those that are indexed by then; `is_all` says whether that is everything.
        """
        ...

    def end(self, session: str, at: int) -> None:
        """Note that a session is over."""
        ...

    def purge(self, session: str, at: int) -> Tombstone:
        """Remove everything of a session but a tombstone."""
        ...

    def restart(self, session: str, seq: int, chain: bytes) -> None:
        """Let a session that has no entries begin after this number and hash, as it did where it comes from."""
        ...

    def in_use(self, session: str) -> bool:
        """Whether a process holds an ephemeral session open."""
        ...

    def hold(self, session: str) -> None:
        """Say that this process has an ephemeral session open, until `close`."""
        ...

    def identity(self) -> str:
        """What tells this record from any other, however it is spelled."""
        ...

    def close(self) -> None:
        """Give back what the store holds open."""
        ...


@runtime_checkable
class Watchable(Protocol):
    """A back end that can tell when something was added by anybody; of others one has to ask."""

    def watch(self, on_change: Callable[[], None]) -> Callable[[], None]:
        """Call `on_change`, from another thread, when there may be something new; what is returned ends it."""
        ...


def over_quota() -> QuotaExceeded:
    """What would take a session over its quota is refused."""
    return QuotaExceeded(
        "The session's quota is used up, so this result was not stored. Raise `session_quota`, or free "
        "space with `keepwhole artifacts clean`."
    )


def overtaken(after: int | None) -> Overtaken:
    """What was decided without something that is on record by now is refused."""
    return Overtaken(
        f"Something was added after entry {after}, so nothing was written. Read what is new, and decide again."
    )


def elsewhere(session: str) -> NotStored:
    """What is to follow another entry than the last one on record is refused."""
    return NotStored(f"Somebody else adds to session `{session}`, so nothing more was put there. Try again later.")


def check_terms(terms: Terms, session: str, head: bytes, is_overtaken: Callable[[int], object]) -> None:
    """Refuse what may not be added where a session stands; `is_overtaken` says it of a number."""
    after, wanted = terms.get("after"), terms.get("head")
    if after is not None and is_overtaken(after):
        raise overtaken(after)
    if wanted is not None and wanted != head:
        raise elsewhere(session)


def check_quota(stored: int, terms: Terms) -> None:
    """Refuse what would take a session over its quota."""
    quota = terms.get("quota")
    if quota is not None and stored > quota:
        raise over_quota()


def in_turn(drafts: Sequence[Draft], known: Callable[[Draft], Row | None]) -> Iterator[tuple[Draft, Row | None]]:
    """Each draft with the row on record that it is again; decisions about such a result are left out."""
    again: set[str] = set()
    for draft in drafts:
        row = known(draft) if isinstance(draft.header, Result) else None
        if row is not None:
            again.add(draft.header.trace_id)
        if row is not None or draft.header.trace_id not in again:
            yield draft, row


def call_id_of(draft: Draft) -> str | None:
    """The call that a draft of a result answers."""
    return draft.header.call_id if isinstance(draft.header, Result) else None


def chained(session: str, seq: int, previous: bytes, draft: Draft) -> tuple[Row, Entry]:
    """A draft with its number and its place in the chain, as stored and as read."""
    facts, header = draft.body.facts, draft.header
    raw = header_bytes(header, facts)
    chain = next_chain(previous, raw, facts.digest)
    entry = Entry(session, seq, header, facts, chain)
    row = Row(
        session=session,
        seq=seq,
        kind=entry.kind,
        trace_id=header.trace_id,
        artifact_id=header.artifact_id if isinstance(header, Result) else None,
        previous=previous,
        header=raw,
        digest=facts.digest,
        chain=chain,
        blocks=facts.blocks,
        inline=draft.body.inline,
        blob=draft.body.blob,
    )
    return row, entry


def entry_of(row: Row) -> Entry:
    """The entry of a stored row; `Damaged` if the row is not what was written."""
    header, facts = parse_header(row.header, row.digest, row.blocks)
    entry = Entry(row.session, row.seq, header, facts, row.chain)
    ids = (header.trace_id, header.artifact_id if isinstance(header, Result) else None)
    genuine = next_chain(row.previous, row.header, row.digest) == row.chain
    if not genuine or entry.kind != row.kind or ids != (row.trace_id, row.artifact_id):
        raise Damaged(f"Entry {row.seq} of session `{row.session}` was changed. Run `keepwhole sessions verify`.")
    return entry


def as_asked(row: Row, session: str, any_id: str) -> Row:
    """The row, if it is the one asked for; an index that leads elsewhere is damage."""
    if row.session != session or any_id not in (row.trace_id, row.artifact_id):
        raise Damaged(f"An index of session `{session}` is damaged. Run `keepwhole sessions verify`.")
    return row


def kinds_of(kind: str | tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of entries that are asked for; all where none is named."""
    return (kind,) if isinstance(kind, str) else kind


def is_over(until: float | None) -> bool:
    """Whether the time for something has passed; never where none is set."""
    return until is not None and time.monotonic() > until


def body_of(row: Row) -> Body:
    """The body of a stored row, ready to open; the row is checked first."""
    return Body(entry_of(row).facts, row.inline, row.blob)


def result_of(row: Row) -> Result:
    """The result a row records."""
    header = entry_of(row).header
    if not isinstance(header, Result):
        raise Damaged(f"Entry {row.seq} of session `{row.session}` is no result. Run `keepwhole sessions verify`.")
    return header


def decision_of(row: Row) -> Decision:
    """The decision a row records."""
    header = entry_of(row).header
    if not isinstance(header, Decision):
        raise Damaged(f"Entry {row.seq} of session `{row.session}` is no decision. Run `keepwhole sessions verify`.")
    return header
