"""Entries of another record on their way into this one: each with the hash it had there, or not at all.

Owns: that what comes in is what was kept, many entries to a commit.
Must not know: where they come from.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import cast

from holdfast.canonical.body import BodyFacts
from holdfast.canonical.entry import Entry, Header, Result, header_bytes, next_chain
from holdfast.errors import HoldfastError, NotStored
from holdfast.store.feed import Feed
from holdfast.store.protocol import Body, Draft, Store

_ENTRIES = 256
_BYTES = 4_194_304
NUMBERS = 1 << 63
"""No back end has a number as large."""


class Incoming:
    """Entries for one session, which stands at `head`; nobody else may add to it meanwhile."""

    def __init__(
        self, store: Store, session: str, head: bytes, on_entry: Callable[[Entry], None] = lambda entry: None
    ) -> None:
        self.head = head
        """The hash of the last entry that was taken."""
        self._appended = head
        self._store, self._session, self._on_entry = store, session, on_entry
        self._batch: list[Draft] = []
        self._bytes = 0

    def add(self, raw: bytes, header: Header, claimed: BodyFacts, chain: bytes, chunks: Iterable[bytes]) -> None:
        """Take an entry: its header as bytes and as read, the hash it had, its body. `ValueError` if they differ."""
        feed = Feed(_at_most(claimed.size, chunks))
        feed.encoding = "surrogates" if claimed.encoding == "surrogates" else "utf-8"
        taken = self._store.take(feed, NUMBERS)
        taken.reader.close()
        body = taken.body
        head = next_chain(self.head, raw, body.facts.digest)
        if head != chain or header_bytes(header, body.facts) != raw:
            self._discard([body])
            raise ValueError("an entry is not what its hash says")
        self.head = head
        self._batch.append(Draft(header, body))
        self._bytes += body.facts.size
        if len(self._batch) >= _ENTRIES or self._bytes >= _BYTES:
            self.finish()

    def finish(self) -> None:
        """Append what was taken; durable on return."""
        batch, self._batch, self._bytes = self._batch, [], 0
        if not batch:
            return
        try:
            entries = self._store.append(self._session, batch, after=self._appended)
        except NotStored:
            self._discard(draft.body for draft in batch)
            raise
        self._appended = self.head
        for entry in entries:
            self._on_entry(entry)

    def drop(self) -> None:
        """Let go of what was taken and not appended."""
        self._discard(draft.body for draft in self._batch)
        self._batch, self._bytes, self.head = [], 0, self._appended

    def _discard(self, bodies: Iterable[Body]) -> None:
        for body in bodies:
            try:
                self._store.discard(body)
            except HoldfastError:
                pass  # left for the collection of orphans


def _at_most(size: int, chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        size -= len(chunk)
        if size < 0:
            raise ValueError("a body is longer than its entry says")
        yield chunk


def check_fields(header: Header) -> None:
    """`ValueError` for a header that no Holdfast wrote: what comes from a file may have anything in its fields."""
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
