"""`EntryWriter`: writes entries of another record into this one, each with the hash it had there, or not at all.

Owns: that every entry is what its hash says; many entries per commit; large bodies stored in parallel.
Must not know: where the entries come from.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeAlias, cast

from keepwhole.canonical.body import BodyFacts
from keepwhole.canonical.entry import Entry, Header, Result, chain_without_header, header_bytes, next_chain
from keepwhole.canonical.utf8 import Encoding
from keepwhole.errors import KeepwholeError, NotStored, UsageError
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft, Forgets, Row, Store

_ENTRIES = 256
_BYTES = 4_194_304
_AT_ONCE = 8
"""Large bodies that are stored in parallel: each of them waits for a disk or a server."""
_SMALL = 32_768
NUMBERS = 1 << 63
"""Numbers from here on do not fit into the columns of a database."""

Output: TypeAlias = bytes | Callable[[], Iterable[bytes]]
"""A body: its bytes, or a function that reads it, called in another thread."""


class _PendingEntry(NamedTuple):
    """An entry whose body is stored or being stored."""

    raw: bytes
    header: Header
    chain: bytes
    body: "Body | Future[Body]"


class EntryWriter:
    """Adds entries to one session, whose last hash is `head`; nobody else may add to it meanwhile."""

    def __init__(
        self, store: Store, session: str, head: bytes, on_entry: Callable[[Entry], None] = lambda entry: None
    ) -> None:
        self.head = head
        """The hash of the last entry that was appended."""
        self._store, self._session, self._on_entry = store, session, on_entry
        self._batch: list[_PendingEntry] = []
        self._bytes = 0
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "EntryWriter":
        """Return the writer."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Discard bodies that were stored and not appended; say what could not be written where the disk refused."""
        pending, self._batch = self._batch, []
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._discard(_finished_body(one.body) for one in pending)
        if isinstance(error, NotStored) and error.__cause__ is not None:
            raise NotStored(
                f"Session `{self._session}` could not be written to the record ({_reason(error.__cause__)}). What was "
                "there before is as it was. Free some space, or see `keepwhole doctor`, then run this again."
            ) from error

    def add(self, raw: bytes, header: Header, claimed: BodyFacts, chain: bytes, output: Output) -> None:
        """Add an entry: its header as bytes and parsed, the hash it had, its body. `ValueError` if they do not fit."""
        encoding: Encoding = "surrogates" if claimed.encoding == "surrogates" else "utf-8"
        if isinstance(output, bytes) and len(output) <= _SMALL:
            body = self._store_body(output, claimed.size, encoding)
        else:
            body = self._pooled().submit(self._store_body, output, claimed.size, encoding)
        self._batch.append(_PendingEntry(raw, header, chain, body))
        self._bytes += claimed.size
        if len(self._batch) >= _ENTRIES or self._bytes >= _BYTES:
            self.finish()

    def finish(self) -> None:
        """Append the pending entries, durable on return. Every hash must be the one it had, or nothing is appended."""
        head, drafts = self.head, list[Draft]()
        for one in self._batch:
            body = one.body if isinstance(one.body, Body) else one.body.result()
            head = next_chain(head, one.raw, body.facts.digest)
            if head != one.chain or header_bytes(one.header, body.facts) != one.raw:
                raise ValueError("an entry is not what its hash says")
            drafts.append(Draft(one.header, body))
        self._batch, self._bytes = [], 0
        if drafts:
            self._append(drafts)
            self.head = head

    def add_forgotten(
        self, kind: str, trace_id: str, artifact_id: str | None, header: bytes, digest: bytes, chain: bytes
    ) -> None:
        """Add what is left of an entry that was forgotten; durable on return. `ValueError` if it does not fit."""
        self.finish()
        if not isinstance(self._store, Forgets):
            raise UsageError("This record cannot store a session in which something was forgotten. Use a folder.")
        row = Row(
            session=self._session,
            seq=0,
            kind=kind,
            trace_id=trace_id,
            artifact_id=artifact_id,
            previous=self.head,
            header=header,
            digest=digest,
            chain=chain,
            blocks=b"",
            inline=None,
            blob=None,
        )
        if chain_without_header(self.head, header, digest) != chain:
            raise ValueError("a forgotten entry is not what its hash says")
        self._store.add_forgotten(self._session, row)
        self.head = chain

    def _append(self, drafts: list[Draft]) -> None:
        try:
            entries = self._store.append(self._session, drafts, head=self.head)
        except NotStored:
            self._discard(draft.body for draft in drafts)
            raise
        for entry in entries:
            self._on_entry(entry)

    def _store_body(self, output: Output, size: int, encoding: Encoding) -> Body:
        feed = Feed(output if isinstance(output, bytes) else _at_most(size, output()))
        feed.encoding = encoding
        taken = self._store.store_body(feed, NUMBERS)
        taken.reader.close()
        return taken.body

    def _pooled(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_AT_ONCE, "keepwhole-incoming")
        return self._pool

    def _discard(self, bodies: Iterable[Body | None]) -> None:
        for body in bodies:
            try:
                if body is not None:
                    self._store.discard(body)
            except KeepwholeError:
                pass  # left for the collection of orphans


def _reason(error: BaseException) -> str:
    """Return what the system or the database said, in one line."""
    said = error.strerror if isinstance(error, OSError) else str(error)
    return " ".join((said or type(error).__name__).split())


def _finished_body(body: "Body | Future[Body]") -> Body | None:
    """Return a body if it was stored, else None."""
    if isinstance(body, Body):
        return body
    return body.result() if body.done() and not body.cancelled() and body.exception() is None else None


def _at_most(size: int, chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        size -= len(chunk)
        if size < 0:
            raise ValueError("a body is longer than its entry says")
        yield chunk


def check_fields(header: Header) -> None:
    """Raise `ValueError` for a header that no Keepwhole wrote: a file may have anything in its fields."""
    for name, kind in type(header).__annotations__.items():
        value = getattr(header, name)
        if name == "frame":
            fits = value is None or (_all_text(value) and len(value) == 2)
        else:
            fits = _all_text(value) if name == "flags" else isinstance(value, kind)
        if not fits or (isinstance(value, int) and not -NUMBERS < value < NUMBERS):
            raise ValueError(f"`{name}` of an entry has an invalid value")
    ids = [header.trace_id, header.artifact_id if isinstance(header, Result) else ""]
    if not all(one.isprintable() and len(one) < 1_000 for one in ids):
        raise ValueError("an entry has an invalid id")


def _all_text(values: object) -> bool:
    return isinstance(values, tuple) and all(isinstance(one, str) for one in cast("tuple[object, ...]", values))
