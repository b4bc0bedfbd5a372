"""`BlobStores`: the bodies that are too large for a row, in the record itself or outside where `blobs` says so.

Owns: that a body that an entry refers to is never deleted, and that it is found again if the setting changes.
Must not know: rows. The back end says which names no entry has, and makes sure that no entry gets one of them.

Names in an entry tell the places apart: `@` and 32 hex digits for a body outside, 32 hex digits for one in the record.
Orphans (bodies whose process died before their entry was appended) are deleted in two steps: the back end first
condemns a name, after which no entry can get it, and only then is the body deleted. A writer that is slower than an
hour therefore fails to append, but never refers to a body that is gone.
"""

import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Protocol

from keepwhole.canonical.body import BodyFacts
from keepwhole.errors import Damaged, NotStored, StoreError, StoreRefused
from keepwhole.install import install_hint
from keepwhole.store.blobs.bucket_address import bucket_of, is_bucket
from keepwhole.store.blobs.folder import NAME, BlobFolder, Unread
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, StoredBody
from keepwhole.store.reader import BodyReader
from keepwhole.store.wait_guard import check_may_wait

MARK = "@"
"""How the name of a body outside begins, in its entry."""
_TOGETHER = 500


class BlobStore(Protocol):
    """One place for large bodies. It draws their names: 32 random hex digits."""

    def write(self, feed: Feed, first: bytes, room: int) -> StoredBody:
        """Store `first` and the rest of `feed`, at most `room` bytes; durable on return.

        Raises `NotStored` with a `rescue` that gives the original back.
        """
        ...

    def open(self, blob: str, facts: BodyFacts) -> BodyReader:
        """Open the body `blob` for reading."""
        ...

    def remove(self, blobs: Iterable[str]) -> None:
        """Delete these bodies; what cannot be deleted is left for the collection of orphans."""
        ...

    def old(self) -> Iterator[str]:
        """Yield the names of bodies that are older than an hour."""
        ...

    def close(self) -> None:
        """Release what is held open."""
        ...


class ExternalBlobStore(BlobStore, Protocol):
    """A place outside the record: a bucket, or a folder that every machine sees."""

    def has(self, blob: str) -> bool:
        """Return whether there is a body of this name. Raises `StoreError` if that cannot be told."""
        ...

    def check(self) -> list[str]:
        """Try every operation; return what the place lacks and can do without. Raises `StoreRefused` if one fails."""
        ...


Condemn = Callable[[list[str]], list[str]]
"""Make sure that no entry ever refers to these bodies; return those that none refers to."""


class BlobStores:
    """The large bodies of one record."""

    def __init__(self, own: BlobStore, make: Callable[[], ExternalBlobStore] | None = None) -> None:
        """`make` opens the place outside, on first use."""
        self.own = own
        self._make = make
        self._made: ExternalBlobStore | None = None

    @property
    def is_outside(self) -> bool:
        """Whether new bodies are stored outside."""
        return self._make is not None

    def outside(self) -> ExternalBlobStore:
        """Return the place outside; `StoreError` if none is set."""
        if self._make is None:
            raise StoreError(
                "This body is not in the record itself but where `blobs` said when it was kept. Set `blobs` to that "
                "place again, or name it with `--from-blobs` to copy from there."
            )
        if self._made is None:  # two threads at once are harmless, and a lock would need care in a fork
            self._made = self._make()
        return self._made

    def write(self, feed: Feed, first: bytes, room: int) -> StoredBody:
        """Store a body; durable on return."""
        check_may_wait()
        if not self.is_outside:
            return self.own.write(feed, first, room)
        try:
            outside = self.outside()
        except StoreError as error:
            raise NotStored(str(error), rescue=Unread(first, feed)) from error
        stored = outside.write(feed, first, room)
        return StoredBody(Body(stored.body.facts, blob=f"{MARK}{stored.body.blob}"), stored.reader)

    def open(self, blob: str, facts: BodyFacts) -> BodyReader:
        """Open the body `blob` for reading."""
        check_may_wait()
        if blob.startswith(MARK):
            return self.outside().open(blob.removeprefix(MARK), facts)
        return self.own.open(blob, facts)

    def remove(self, blobs: Iterable[str]) -> None:
        """Delete these bodies; what cannot be deleted is left for the collection of orphans."""
        blobs = list(blobs)
        outside = [blob.removeprefix(MARK) for blob in blobs if blob.startswith(MARK)]
        if len(outside) < len(blobs):
            self.own.remove([blob for blob in blobs if not blob.startswith(MARK)])
        if outside and self.is_outside:
            try:
                self.outside().remove(outside)
            except StoreError:
                pass

    def remove_for_good(self, blobs: Iterable[str]) -> None:
        """Delete these bodies, and raise `StoreError` if one that is outside is still there."""
        blobs = list(blobs)
        self.remove(blobs)
        left = [blob for blob in blobs if blob.startswith(MARK) and self.outside().has(blob.removeprefix(MARK))]
        if left:
            raise StoreError(
                f"The entries were removed, and the bodies of {len(left)} could not be deleted where `blobs` says. "
                "Check that place with `keepwhole doctor`, and delete them with `keepwhole artifacts collect` an hour "
                "from now."
            )

    def missing(self, blobs: Iterable[str]) -> Iterator[str]:
        """Yield those of these bodies outside that are not there. Raises `StoreError` if that cannot be told.

        The place is listed, which takes a request for a thousand bodies; only what is not listed is asked for.
        """
        blobs = list(blobs)
        if blobs:
            listed = set(self.outside().old())
            names = [blob for blob in blobs if blob.removeprefix(MARK) not in listed]
            yield from (blob for blob in names if not self.outside().has(blob.removeprefix(MARK)))

    def check_reachable(self, blobs: Iterable[str]) -> None:
        """Raise `StoreError` if one of these bodies is outside and no place outside is set."""
        if any(blob.startswith(MARK) for blob in blobs):
            self.outside()

    def collect(self, condemn: Condemn) -> int:
        """Delete bodies that no entry has and that are older than an hour; return how many."""
        return _collect(self.own, "", condemn) + self.collect_outside(condemn)

    def collect_outside(self, condemn: Condemn) -> int:
        """Delete such bodies outside alone; return how many."""
        return _collect(self.outside(), MARK, condemn) if self.is_outside else 0

    def close(self) -> None:
        """Release what is held open."""
        self.own.close()
        if self._made is not None:
            self._made.close()


def is_away(error: Exception) -> bool:
    """Return whether an error means that a body is intact but cannot be read now."""
    return isinstance(error, StoreError) and not isinstance(error, Damaged)


def _collect(place: BlobStore, mark: str, condemn: Condemn) -> int:
    count, names = 0, place.old()
    while some := list(islice(names, _TOGETHER)):
        finished = [mark + name for name in some if NAME.fullmatch(name)]
        gone = [name for name in some if not NAME.fullmatch(name)]
        gone += [blob.removeprefix(mark) for blob in (condemn(finished) if finished else ())]
        place.remove(gone)
        count += len(gone)
    return count


def external_blobs(
    blobs: str, record_id: Callable[[], str], folder: str, patience: float | None = None
) -> Callable[[], ExternalBlobStore] | None:
    """Return a function that opens the place that the setting `blobs` names, for the record with this id.

    None if the setting is empty. `folder` holds bodies on their way to a bucket.
    """
    if not blobs:
        return None
    if not is_bucket(blobs):
        return lambda: BlobFolder(os.path.join(blobs, record_id()))
    bucket = bucket_of(blobs)
    if importlib.util.find_spec("obstore") is None:
        raise StoreRefused(f"Bodies in a bucket need `obstore`. Install it with {install_hint('s3')}.")

    def open_bucket() -> ExternalBlobStore:
        from keepwhole.store.blobs.s3 import S3Blobs  # takes long to import, and few commands need it

        return S3Blobs(bucket, record_id(), folder, patience)

    return open_bucket
