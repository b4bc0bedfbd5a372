"""Entries of another record on their way into this one: each with the hash it had there, or not at all.

Owns: that what comes in is what was kept, many entries to a commit.
Must not know: where they come from.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeAlias, cast

from keepwhole.canonical.body import BodyFacts
from keepwhole.canonical.entry import Entry, Header, Result, header_bytes, next_chain
from keepwhole.canonical.utf8 import Encoding
from keepwhole.errors import KeepwholeError, NotStored
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft, Store

_ENTRIES = 256
_BYTES = 4_194_304
_AT_ONCE = 8
"""Large bodies that are made durable side by side: each of them waits for a disk or a server."""
_SMALL = 32_768
NUMBERS = 1 << 63
"""No back end has a number as large."""

Output: TypeAlias = bytes | Callable[[], Iterable[bytes]]
"""A body: at hand, or read when it is wanted, in another thread."""


class _Coming(NamedTuple):
    """An entry whose body was taken, or is being made durable."""

    raw: bytes
    header: Header
    chain: bytes
    body: "Body | Future[Body]"


class Incoming:
    """Entries for one session, which stands at `head`; nobody else may add to it meanwhile. A context manager."""

    def __init__(
        self, store: Store, session: str, head: bytes, on_entry: Callable[[Entry], None] = lambda entry: None
    ) -> None:
        self.head = head
        """The hash of the last entry that was appended."""
        self._store, self._session, self._on_entry = store, session, on_entry
        self._batch: list[_Coming] = []
        self._bytes = 0
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Incoming":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of what was taken and not appended."""
        coming, self._batch = self._batch, []
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._discard(_taken(one.body) for one in coming)

    def add(self, raw: bytes, header: Header, claimed: BodyFacts, chain: bytes, output: Output) -> None:
        """Take an entry: its header as bytes and as read, the hash it had, its body. `ValueError` if they differ."""
        encoding: Encoding = "surrogates" if claimed.encoding == "surrogates" else "utf-8"
        if isinstance(output, bytes) and len(output) <= _SMALL:
            body = self._take(output, claimed.size, encoding)
        else:
            body = self._pooled().submit(self._take, output, claimed.size, encoding)
        self._batch.append(_Coming(raw, header, chain, body))
        self._bytes += claimed.size
        if len(self._batch) >= _ENTRIES or self._bytes >= _BYTES:
            self.finish()

    def finish(self) -> None:
        """Append what was taken; durable on return. Every hash must be the one it had, or nothing is appended."""
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

    def _append(self, drafts: list[Draft]) -> None:
        try:
            entries = self._store.append(self._session, drafts, head=self.head)
        except NotStored:
            self._discard(draft.body for draft in drafts)
            raise
        for entry in entries:
            self._on_entry(entry)

    def _take(self, output: Output, size: int, encoding: Encoding) -> Body:
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


def _taken(body: "Body | Future[Body]") -> Body | None:
    """A body that was taken; None if it was not."""
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
    """`ValueError` for a header that no Keepwhole wrote: what comes from a file may have anything in its fields."""
    for name, kind in type(header).__annotations__.items():
        value = getattr(header, name)
        fits = _all_text(value) if name == "flags" else isinstance(value, kind)
        if not fits or (isinstance(value, int) and not -NUMBERS < value < NUMBERS):
            raise ValueError(f"`{name}` of an entry cannot be that")
    ids = [header.trace_id, header.artifact_id if isinstance(header, Result) else ""]
    if not all(one.isprintable() and len(one) < 1_000 for one in ids):
        raise ValueError("an entry has an id that cannot be one")


def _all_text(values: object) -> bool:
    return isinstance(values, tuple) and all(isinstance(one, str) for one in cast("tuple[object, ...]", values))
