"""Bodies too large for a row, as objects in a bucket: durable before a row refers to them, read in ranges.

Owns: names, and what is done about a put whose outcome is not known.
Must not know: rows.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import S3Store

from keepwhole.canonical.body import BodyFacts
from keepwhole.errors import Damaged, NotStored, StoreError, StoreRefused
from keepwhole.store.blobs.bucket_address import Bucket
from keepwhole.store.blobs.folder import NAME, ORPHAN_SECONDS, new_name
from keepwhole.store.blobs.read_ahead import Ahead
from keepwhole.store.blobs.s3_client import Absent, Beyond, Exists, Trouble, asked, client
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Taken
from keepwhole.store.reader import BodyReader
from keepwhole.store.spool import IN_MEMORY, Reread, spooled

_T = TypeVar("_T")

PATIENCE = 30.0
_PART = IN_MEMORY
_MOST_PARTS = 9_000
_AT_ONCE = 3
_NAMES_TRIED = 3
_HASTE = 5.0
_PROBE = b"what is kept here must come back as it is"


class Objects:
    """The large bodies of one record, in a bucket. Nothing is asked of it before it is needed."""

    def __init__(self, bucket: Bucket, record: str, folder: str, patience: float | None = None) -> None:
        """`record` is what the names of this record's objects begin with; `folder` is for what is on its way."""
        self._bucket = bucket
        self._folder = folder
        self._patience = PATIENCE if patience is None else patience
        self._patient = client(bucket, record, self._patience, retries=10)
        self._hasty = client(bucket, record, min(self._patience, _HASTE), retries=0)
        self._away_until = 0.0

    def write(self, feed: Feed, first: bytes, room: int) -> Taken:
        """Store `first` and the rest of `feed`, at most `room` bytes; durable on return."""
        reader = spooled(feed, first, room, self._folder)
        try:
            name = self._upload(reader)
        except Trouble as trouble:
            raise NotStored(
                f"The result could not be written to `{self._bucket.shown}` ({trouble}). It is shown whole; see "
                "`keepwhole doctor`.",
                rescue=Reread(reader),
            ) from None
        except BaseException:
            reader.close()
            raise
        return Taken(Body(reader.facts, blob=name), reader)

    def _upload(self, reader: BodyReader) -> str:
        """Put a body under a new name. One that is there already, our own from an earlier try or not, stays unused."""
        for _ in range(_NAMES_TRIED):
            name = new_name()
            try:
                self._ask(partial(_put, name, reader))
                return name
            except Exists:
                continue
        raise Trouble("it says of every new name that it is taken")

    def open(self, blob: str, facts: BodyFacts) -> BodyReader:
        """A reader of the body `blob`."""
        if NAME.fullmatch(blob) is None:
            raise Damaged("A row names an object that cannot be ours. Run `keepwhole sessions verify`.")
        return BodyReader(facts, Ahead(partial(self._read, blob), facts.size))

    def _read(self, name: str, offset: int, length: int) -> bytes:
        try:
            return self._ask(lambda store: bytes(obstore.get_range(store, name, start=offset, length=length)))
        except Absent:
            raise Damaged(
                f"The object of a stored body is not in `{self._bucket.shown}`. Check that `blobs` is as it was when "
                "the body was kept, and run `keepwhole sessions verify`.",
                "The stored copy of this result cannot be found. Run the tool again.",
            ) from None
        except Beyond:
            return b""
        except Trouble as trouble:
            raise StoreError(
                f"A stored body could not be read from `{self._bucket.shown}` ({trouble}). Nothing is lost; try again, "
                "or see `keepwhole doctor`."
            ) from None

    def remove(self, blobs: Iterable[str]) -> None:
        """Delete these objects; what cannot be deleted is left for the collection of orphans."""
        names = [name for name in blobs if NAME.fullmatch(name)]
        try:
            if names:
                self._ask(lambda store: obstore.delete(store, names))
        except Trouble:
            pass

    def old(self, now: float | None = None) -> Iterator[str]:
        """Objects of this record that are older than an hour."""
        limit = (time.time() if now is None else now) - ORPHAN_SECONDS
        listing = iter(obstore.list(self._patient))  # pyright: ignore[reportUnknownMemberType] - Arrow is not here
        try:
            while batch := self._ask(lambda _: next(listing, None)):
                for found in batch:
                    if NAME.fullmatch(found["path"]) and found["last_modified"].timestamp() < limit:
                        yield found["path"]
        except Trouble as trouble:
            raise StoreError(
                f"`{self._bucket.shown}` could not be listed ({trouble}). Check that there is such a bucket, and that "
                "the keys may list it."
            ) from None

    def check(self) -> list[str]:
        """Write, read and delete an object; what the store lacks and can be done without."""
        name = new_name()
        try:
            lacks = [] if self._ask(partial(_is_kept, name)) else [_OVERWRITES]
            found = self._ask(lambda store: bytes(obstore.get_range(store, name, start=5, length=7)))
            self._ask(lambda store: obstore.delete(store, name))
        except Trouble as trouble:
            raise StoreRefused(
                f"`{self._bucket.shown}` cannot be used ({trouble}). Check the address in `blobs`, that there is such "
                "a bucket, and that the keys in `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` may put, get, list and "
                "delete."
            ) from None
        if found != _PROBE[5:12]:
            raise StoreRefused(f"`{self._bucket.shown}` does not read ranges. Use a store that does, or a folder.")
        return lacks

    def _ask(self, work: Callable[[S3Store], _T]) -> _T:
        """What `work` gives. While the store was away a moment ago, it is asked once and not waited for."""
        store = self._hasty if time.monotonic() < self._away_until else self._patient
        try:
            found = asked(partial(work, store))
        except (Exists, Absent, Beyond):
            raise
        except Trouble:
            if store is self._patient:
                self._away_until = time.monotonic() + self._patience
            raise
        self._away_until = 0.0
        return found

    def close(self) -> None:
        """Nothing is held open: connections that are not used close by themselves."""


_OVERWRITES = (
    "it makes objects over ones that are there (no `If-None-Match`); names are random, so that none is met by chance"
)


def _put(name: str, reader: BodyReader, store: S3Store) -> None:
    """Make an object of a body."""
    size = reader.facts.size
    if size <= _PART:
        obstore.put(store, name, reader.read(), mode="create")
        return
    part = max(_PART, -(-size // _MOST_PARTS))
    parts = (reader.read(start, start + part) for start in range(0, size, part))
    obstore.put(store, name, parts, use_multipart=True, chunk_size=part, max_concurrency=_AT_ONCE)
    if (found := obstore.head(store, name)["size"]) != size:
        raise Trouble(f"{size:,} bytes were sent and it has {found:,}")


def _is_kept(name: str, store: S3Store) -> bool:
    """Whether an object stays as it is when another is made under its name."""
    obstore.put(store, name, _PROBE, mode="create")
    try:
        obstore.put(store, name, _PROBE, mode="create")
    except AlreadyExistsError:
        return True
    return False
