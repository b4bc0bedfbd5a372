"""The interface of a back end, and the values that pass through it.

Owns: `Store` and the optional capabilities beside it, the rows and drafts of the record, the terms of an append.
Must not know: any back end. `tests/contracts` is the real interface: a back end that passes it is one.

A store is synchronous and thread-safe. `append` returns only when all of its entries are durable. A store that can do
more than `Store` asks for declares it by having the methods of a capability, which are below `Store`, such as
`HasLookups` or `Forgets`; callers test for it with `isinstance`.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import merge
from typing import NamedTuple, Protocol, TypedDict, Unpack, runtime_checkable

from keepwhole.canonical.body import BodyFacts
from keepwhole.canonical.entry import (
    Decision,
    Entry,
    Header,
    Result,
    chain_without_header,
    header_bytes,
    next_chain,
    parse_header,
)
from keepwhole.canonical.value import Value
from keepwhole.errors import Damaged, NotStored, Overtaken, QuotaExceeded
from keepwhole.store.feed import Feed
from keepwhole.store.files import ResultFiles
from keepwhole.store.reader import BodyReader


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
    """What remains of a purged session: its last number and chain hash, no content."""

    name: str
    seq: int
    chain: bytes
    at: int
    entries: int
    stored: int


class Body(NamedTuple):
    """A body with its facts: `inline` bytes that become durable with their row, or the name of a durable `blob`."""

    facts: BodyFacts
    inline: bytes | None = None
    blob: str | None = None


class StoredBody(NamedTuple):
    """A body that `Store.store_body` accepted, open for reading; the caller closes the reader."""

    body: Body
    reader: BodyReader


class Draft(NamedTuple):
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
    """A result that a search found, with the line that it is shown by."""

    trace_id: str
    line: int
    text: str
    part: str = "result"  # or `arguments`: then it is a line of one of the values that the call was given


class Place(NamedTuple):
    """The result that a passage belongs to, and the passage's range of characters in it."""

    trace_id: str
    seq: int
    start: int
    stop: int


class Passages(Protocol):
    """The passages of one session, found by their words; see `keepwhole.store.passages`."""

    is_all: bool
    """Whether every stored result is among them; false where there was no time to index the newest."""
    indexed_to: int
    """The number up to which every result is among them, where that is not all."""

    def size(self) -> int:
        """Return how many results there are; an estimate where there are very many."""
        ...

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """Return the newest `most` passages above a number that have a word of every group, newest first.

        A passage has the words of its text and of the call that it answers.
        """
        ...

    def starting_with(self, token: str, most: int) -> list[int]:
        """Return the newest `most` passages with a word that begins with `token` in their text, newest first."""
        ...

    def places(self, numbers: Iterable[int]) -> dict[int, Place]:
        """Return the places of these passages; numbers that are not of this session are left out."""
        ...

    def beyond(self) -> Iterator[str]:
        """Yield the trace ids of some of the newest results that are longer than what is indexed, newest first."""
        ...


DECIDED = ("result", "decision")
"""The kinds of entries that determine what is shown."""


class Terms(TypedDict, total=False):
    """The terms on which entries are added to a session."""

    once: bool
    """A result whose call id and digest are stored already is not added, nor is a decision about it: the stored entry
    is returned in its place."""
    quota: int | None
    """`QuotaExceeded` if the session would have more bytes than this."""
    after: int | None
    """`Overtaken` if a result or a decision has a greater number: the new entries were decided without it."""
    head: bytes | None
    """`NotStored` if the session's last entry has another chain hash."""


class Store(Protocol):
    """A back end for the record."""

    def open_session(self, info: SessionInfo) -> SessionInfo:
        """Return the session called `info.name`; create it as `info` describes it if it does not exist."""
        ...

    def sessions(self, newest: int | None = None) -> list[SessionInfo]:
        """Return all sessions, the one written to last first; or the `newest` ones, without reading the others."""
        ...

    def session(self, name: str) -> SessionInfo | None:
        """Return the session of this name."""
        ...

    def tombstones(self) -> list[Tombstone]:
        """Return the tombstones of purged sessions."""
        ...

    def stored(self, session: str) -> int:
        """Return the bytes of all bodies of a session."""
        ...

    def store_body(self, feed: Feed, room: int) -> StoredBody:
        """Store a body for `append`; a large one is durable on return.

        Raises `NotStored` if it cannot be stored, or has more than `room` bytes.
        """
        ...

    def append(self, session: str, drafts: Sequence[Draft], **terms: Unpack[Terms]) -> list[Entry]:
        """Add entries, all or none, durable on return. Raises `NotStored` if that fails or the terms forbid it."""
        ...

    def discard(self, body: Body) -> None:
        """Drop a stored body that will not be appended."""
        ...

    def rows(
        self, session: str, *, after: int = 0, kind: str | tuple[str, ...] = (), light: bool = False
    ) -> Iterator[Row]:
        """Yield the stored entries of a session in order: all, or those of the given kinds.

        With `light`, only decisions come with their bodies.
        """
        ...

    def entry(self, session: str, seq: int) -> Row | None:
        """Return the entry with this number."""
        ...

    def last(self, session: str) -> Row | None:
        """Return the last entry of a session, without its body."""
        ...

    def newest(self, session: str, kind: str, trace_id: str) -> Row | None:
        """Return the newest entry of a kind with this trace id."""
        ...

    def find(self, session: str, any_id: str) -> Row | None:
        """Return the result with this trace id or artifact id in this session."""
        ...

    def find_call(self, session: str, call_id: str) -> list[Row]:
        """Return the results of this call in this session, in order."""
        ...

    def decision(self, session: str, trace_id: str) -> Row | None:
        """Return the newest decision about this result."""
        ...

    def last_decided(self, session: str, most: int) -> list[str]:
        """Return the trace ids of the `most` results that were decided about last, newest first."""
        ...

    def open(self, body: Body) -> BodyReader:
        """Open a body for reading."""
        ...

    def search(self, session: str, words: str, limit: int = 20, *, until: float | None = None) -> list[Match]:
        """Return the results of a session in which all these words occur, best first, each with its best line.

        After `until`, by the monotonic clock, the matches found so far are returned.
        """
        ...

    def passages(
        self,
        session: str,
        *,
        task_id: str | None = None,
        query_id: str | None = None,
        until: float | None = None,
    ) -> Passages:
        """Return the passages of a session, or of one task or query of it, after indexing every stored result.

        After `until`, by the monotonic clock, no more is indexed; `is_all` tells whether everything was.
        """
        ...

    def end(self, session: str, at: int) -> None:
        """Record that a session has ended."""
        ...

    def purge(self, session: str, at: int) -> Tombstone:
        """Remove everything of a session but a tombstone."""
        ...

    def restart(self, session: str, seq: int, chain: bytes) -> None:
        """Let a session without entries begin after this number and hash, as it did in the record it comes from."""
        ...

    def is_held(self, session: str) -> bool:
        """Return whether any process holds an ephemeral session open."""
        ...

    def hold(self, session: str) -> None:
        """Hold an ephemeral session open for this process, until `close`."""
        ...

    def identity(self) -> str:
        """Return a text that identifies this record, whatever address it was opened by."""
        ...

    def close(self) -> None:
        """Release connections and descriptors."""
        ...


@runtime_checkable
class HasResultFiles(Protocol):
    """A back end with a folder on this machine, in which results can be laid out as files."""

    files: ResultFiles


@runtime_checkable
class ChecksBlobs(Protocol):
    """A back end that can keep large bodies outside the record, where the setting `blobs` says."""

    def check_blobs(self) -> list[str]:
        """Write, read and delete a body outside; return what the place lacks. Raises `StoreRefused` if it fails."""
        ...


@runtime_checkable
class CollectsOrphans(Protocol):
    """A back end in which a killed process can leave bodies behind that no entry has."""

    def collect_orphans(self) -> int:
        """Remove bodies that no entry has and that are older than an hour; return how many."""
        ...


@runtime_checkable
class ChecksStorage(Protocol):
    """A back end that can tell what the hashes of a session do not cover."""

    def record_findings(self) -> Iterator[str]:
        """Yield in what the record as a whole is not as it was left, without reading its entries."""
        ...

    def session_findings(self, session: str) -> Iterator[tuple[int, str]]:
        """Yield the numbers of entries that are not as they were written, and in what; 0 for the session itself."""
        ...

    def accept(self) -> None:
        """Take the record, which went back in time, for what it should be, without what is missing."""
        ...


@runtime_checkable
class Forgets(Protocol):
    """A back end that can remove single entries for good, and leaves the rest of their session verifiable."""

    def forget(self, session: str, seqs: Sequence[int]) -> int:
        """Remove header, body and index of these entries; return how many. Their numbers and hashes stay."""
        ...

    def forgotten(self, session: str) -> list[Row]:
        """Return what is left of the entries that were forgotten, in order: their headers are hashes."""
        ...

    def add_forgotten(self, session: str, row: Row) -> None:
        """Add what is left of an entry of another record, after the session's last entry; durable on return."""
        ...

    def remove_leftovers(self, is_wanted: Callable[[bytes], bool]) -> int:
        """Delete bodies and files that no entry needs and whose bytes are wanted gone; return how many."""
        ...


class Lookups(Protocol):
    """Finds entries of a session up to the number `upto`. Rows are light: only decisions come with their bodies."""

    def results_of_calls(self, session: str, upto: int, call_ids: Iterable[str]) -> list[Row]:
        """Return the results of these calls, in order."""
        ...

    def results(self, session: str, upto: int, trace_ids: Iterable[str]) -> list[Row]:
        """Return the results with these trace ids, in order."""
        ...

    def decisions_about(self, session: str, upto: int, trace_ids: Iterable[str]) -> list[Row]:
        """Return all decisions about these results, in order."""
        ...

    def first_with_text(self, session: str, upto: int, digests: Iterable[bytes], most: int) -> list[Row]:
        """Return the first results and the first decisions that produce a text with one of these digests, in order.

        At most `most` of each for every digest.
        """
        ...

    def newest_views(self, session: str, upto: int, digests: Iterable[bytes], most: int) -> list[Row]:
        """Return the newest decisions, at most `most` for each digest, that show a text with it, in order."""
        ...

    def notes(self, session: str, upto: int) -> list[Row]:
        """Return the results of Keepwhole's own tools, in order."""
        ...

    def newest_requests(self, session: str, upto: int, most: int) -> list[Row]:
        """Return the newest requests and responses, in order."""
        ...


@runtime_checkable
class HasLookups(Protocol):
    """A back end that finds what a conversation asks for without reading the session from its beginning."""

    lookups: Lookups


@runtime_checkable
class FindsCalls(Protocol):
    """A back end that finds calls in all of its sessions."""

    def count_calls(self, call_ids: Collection[str]) -> dict[str, int]:
        """Return by session how many of these calls it has results of, where it has any; the oldest session first."""
        ...


@runtime_checkable
class ReportsTrouble(Protocol):
    """A back end that can be unable to write for a while."""

    def trouble(self) -> str | None:
        """Return why nothing is written now, and what to do; None if everything is in order."""
        ...


@runtime_checkable
class SharesSecrets(Protocol):
    """A back end that several machines share, and with it secrets."""

    def secret(self, name: str) -> str:
        """Return the secret of this name, which is drawn when it is first asked for."""
        ...


@runtime_checkable
class Watchable(Protocol):
    """A back end that can report additions by any process; others have to be polled."""

    def watch(self, on_change: Callable[[], None]) -> Callable[[], None]:
        """Call `on_change`, from another thread, when there may be something new; return a function that ends it."""
        ...


def rows_with_forgotten(store: Store, session: str, after: int = 0) -> Iterator[tuple[Row, bool]]:
    """Yield all entries of a session in order, each with whether it was forgotten: then its header is a hash."""
    left = store.forgotten(session) if isinstance(store, Forgets) else []
    forgotten = [(row, True) for row in left if row.seq > after]
    return merge(((row, False) for row in store.rows(session, after=after)), forgotten, key=lambda one: one[0].seq)


def check_forgotten(row: Row) -> None:
    """Raise `Damaged` unless what is left of a forgotten entry has its place in the chain, and nothing else."""
    if chain_without_header(row.previous, row.header, row.digest) != row.chain or row.inline or row.blob:
        raise Damaged(f"Entry {row.seq} is marked as forgotten, and is not what was left of it.")


def quota_error() -> QuotaExceeded:
    """Return the error for an entry that would exceed the session's quota."""
    return QuotaExceeded(
        "The session's quota is used up, so this result was not stored. Raise `session_quota`, or free "
        "space with `keepwhole artifacts clean`."
    )


def overtaken_error(after: int | None) -> Overtaken:
    """Return the error for entries that were decided without knowing a newer entry."""
    return Overtaken(f"Something was added after entry {after}, so nothing was written. Read it, and decide again.")


def head_error(session: str) -> NotStored:
    """Return the error for entries that must follow another entry than the session's last one."""
    return NotStored(f"Another process adds to session `{session}`, so nothing more was put there. Try again later.")


def check_terms(terms: Terms, session: str, head: bytes, is_overtaken: Callable[[int], object]) -> None:
    """Raise the error of the first term that a session at `head` does not meet; `is_overtaken` tells whether it has a
    result or a decision after a number."""
    after, wanted = terms.get("after"), terms.get("head")
    if after is not None and is_overtaken(after):
        raise overtaken_error(after)
    if wanted is not None and wanted != head:
        raise head_error(session)


class Head(NamedTuple):
    """The last number and hash of a session, and the bytes of all its bodies."""

    seq: int
    chain: bytes
    stored: int


class Numbered(NamedTuple):
    """What becomes of a draft: its entry, the row to insert, and the bytes of the session with it.

    The row is None for a draft that repeats a stored result; the entry is that result's then.
    """

    draft: Draft
    entry: Entry
    row: Row | None
    stored: int


def number_drafts(
    session: str, head: Head, drafts: Sequence[Draft], terms: Terms, known: Callable[[Draft], Row | None]
) -> Iterator[Numbered]:
    """Yield each draft with its number and its place in the chain; `known` returns the stored row that it repeats.

    Decisions about a repeated result are left out. Raises `QuotaExceeded` when the session would exceed its quota.
    """
    seq, previous, stored = head
    repeated: set[str] = set()
    for draft in drafts:
        row = known(draft) if isinstance(draft.header, Result) else None
        if row is not None:
            repeated.add(draft.header.trace_id)
            yield Numbered(draft, entry_of(row), None, stored)
        elif draft.header.trace_id not in repeated:
            seq += 1
            row, entry = _chained(session, seq, previous, draft)
            previous, stored = row.chain, stored + entry.facts.size
            quota = terms.get("quota")
            if quota is not None and stored > quota:
                raise quota_error()
            yield Numbered(draft, entry, row, stored)


def nothing_known(draft: Draft) -> None:
    """Return no row: a draft that is added without looking for an earlier one."""


def call_id_of(draft: Draft) -> str | None:
    """Return the id of the call that a draft of a result answers."""
    return draft.header.call_id if isinstance(draft.header, Result) else None


def _chained(session: str, seq: int, previous: bytes, draft: Draft) -> tuple[Row, Entry]:
    """Return a draft with its number and its place in the chain, as stored and as read."""
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
    """Return the entry of a stored row; `Damaged` if the row is not what was written."""
    header, facts = parse_header(row.header, row.digest, row.blocks)
    entry = Entry(row.session, row.seq, header, facts, row.chain)
    ids = (header.trace_id, header.artifact_id if isinstance(header, Result) else None)
    genuine = next_chain(row.previous, row.header, row.digest) == row.chain
    if not genuine or entry.kind != row.kind or ids != (row.trace_id, row.artifact_id):
        raise Damaged(f"Entry {row.seq} of session `{row.session}` was changed. Run `keepwhole sessions verify`.")
    return entry


def checked_row(row: Row, session: str, any_id: str) -> Row:
    """Return the row if it has the id that was looked up; `Damaged` if an index of the back end led to another one."""
    if row.session != session or any_id not in (row.trace_id, row.artifact_id):
        raise Damaged(f"An index of session `{session}` is damaged. Run `keepwhole sessions verify`.")
    return row


def kinds_of(kind: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the wanted kinds of entries as a tuple; empty for all."""
    return (kind,) if isinstance(kind, str) else kind


def is_over(until: float | None) -> bool:
    """Return whether the time `until` has passed; never where it is None."""
    return until is not None and time.monotonic() > until


def body_of(row: Row) -> Body:
    """Return the body of a stored row, ready to open; the row is checked first."""
    return Body(entry_of(row).facts, row.inline, row.blob)


def result_of(row: Row) -> Result:
    """Return the result that a row records."""
    header = entry_of(row).header
    if not isinstance(header, Result):
        raise Damaged(f"Entry {row.seq} of session `{row.session}` is not a result. Run `keepwhole sessions verify`.")
    return header


def decision_of(row: Row) -> Decision:
    """Return the decision that a row records."""
    header = entry_of(row).header
    if not isinstance(header, Decision):
        raise Damaged(f"Entry {row.seq} of session `{row.session}` is not a decision. Run `keepwhole sessions verify`.")
    return header
