"""Bodies too large for a row, as objects in a bucket: durable before a row refers to them, read in ranges.

Owns: names, patience with a server that is away, what is done about a put whose outcome is not known, and that no key
is in an error: what a client or a server says may name one, so it is not passed on.
Must not know: rows.

An object is put under a new random name with `If-None-Match`, so it is never written over. A put whose answer was lost
is tried again under another name; the first object, if there is one, is an orphan.

A request has half of the patience, and is sent again only in the first half, so that both together never take longer.
After that has failed, the store is known to be away: requests fail at once, but one now and then, which is sent once.

A store's word for a small body is taken: a second request for each would double the cost. But the first body of a
client, and the first after any trouble, is asked for again, so that a store that keeps nothing is not believed twice.
"""

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from keepwhole.canonical.body import BodyFacts
from keepwhole.errors import Damaged, NotStored, StoreError, StoreRefused
from keepwhole.store.blobs.bucket_address import Bucket
from keepwhole.store.blobs.folder import NAME, ORPHAN_SECONDS, new_name
from keepwhole.store.blobs.spool import IN_MEMORY, Reread, spool_body
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, StoredBody
from keepwhole.store.reader import BodyReader, ReadAhead

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config

_T = TypeVar("_T")

PATIENCE = 30.0
_PART = IN_MEMORY
_MOST_PARTS = 9_000
_AT_ONCE = 3
_NAMES_TRIED = 3
_PROBE_SECONDS, _LONGEST_REST = 2.0, 10.0
"""Seconds in which a store that is away must answer, and after which it is asked again at the latest."""
_PROBE = b"what is kept here must come back as it is"


class S3Error(Exception):
    """A request to the object store failed; the message has no secret in it."""


class _Exists(S3Error):
    """There is an object of that name already."""


class _Absent(S3Error):
    """There is no such object."""


class _Beyond(S3Error):
    """The object ends before the requested range."""


class S3Blobs:
    """The large bodies of one record, in a bucket. No request is sent before it is needed."""

    def __init__(self, bucket: Bucket, record: str, folder: str, patience: float | None = None) -> None:
        """The names of this record's objects begin with `record`; `folder` holds bodies on their way."""
        self._bucket = bucket
        self._folder = folder
        self._patience = PATIENCE if patience is None else patience
        self._patient = _client(bucket, record, self._patience, retries=10)
        self._hasty = _client(bucket, record, min(self._patience, 2 * _PROBE_SECONDS), retries=0)
        self._is_away, self._asked_again_at, self._reason = False, 0.0, ""
        self._is_believed = False

    def write(self, feed: Feed, first: bytes, room: int) -> StoredBody:
        """Store `first` and the rest of `feed`, at most `room` bytes; durable on return."""
        reader = spool_body(feed, first, room, self._folder)
        try:
            name = self._upload(reader)
        except S3Error as error:
            raise NotStored(
                f"The result could not be written to `{self._bucket.shown}` ({error}). It is shown in full; see "
                "`keepwhole doctor`.",
                rescue=Reread(reader),
            ) from None
        except BaseException:
            reader.close()
            raise
        return StoredBody(Body(reader.facts, blob=name), reader)

    def _upload(self, reader: BodyReader) -> str:
        """Put a body under a new name, and another one while an object of that name exists: its origin is unknown."""
        for _ in range(_NAMES_TRIED):
            name = new_name()
            try:
                self._ask(partial(_put, name, reader, self._is_believed))
            except _Exists:
                continue
            self._is_believed = True
            return name
        raise S3Error("it reports every new name as taken")

    def open(self, blob: str, facts: BodyFacts) -> BodyReader:
        """Open the body `blob` for reading."""
        if NAME.fullmatch(blob) is None:
            raise Damaged("A row names an object that Keepwhole cannot have written. Run `keepwhole sessions verify`.")
        return BodyReader(facts, ReadAhead(partial(self._read, blob), facts.size))

    def _read(self, name: str, offset: int, length: int) -> bytes:
        try:
            return self._ask(lambda store: bytes(obstore.get_range(store, name, start=offset, length=length)))
        except _Absent:
            raise Damaged(
                f"The object of a stored body is not in `{self._bucket.shown}`. Check that `blobs` is as it was when "
                "the body was kept, and run `keepwhole sessions verify`.",
                "The stored copy of this result cannot be found. Run the tool again.",
            ) from None
        except _Beyond:
            return b""
        except S3Error as error:
            raise StoreError(
                f"A stored body could not be read from `{self._bucket.shown}` ({error}). Nothing is lost; try again, "
                "or see `keepwhole doctor`."
            ) from None

    def has(self, blob: str) -> bool:
        """Return whether there is an object of this name."""
        try:
            self._ask(lambda store: obstore.head(store, blob))
        except _Absent:
            return False
        except S3Error as error:
            raise StoreError(
                f"`{self._bucket.shown}` does not say whether it has a body ({error}). See `keepwhole doctor`."
            ) from None
        return True

    def remove(self, blobs: Iterable[str]) -> None:
        """Delete these objects; what cannot be deleted is left for the collection of orphans."""
        names = [name for name in blobs if NAME.fullmatch(name)]
        try:
            if names:
                self._ask(lambda store: obstore.delete(store, names))
        except S3Error:
            pass

    def old(self, now: float | None = None) -> Iterator[str]:
        """Yield the names of this record's objects that are older than an hour."""
        limit = (time.time() if now is None else now) - ORPHAN_SECONDS
        listing = iter(obstore.list(self._patient))  # pyright: ignore[reportUnknownMemberType] - Arrow is not here
        try:
            while batch := self._ask(lambda _: next(listing, None)):
                for found in batch:
                    if NAME.fullmatch(found["path"]) and found["last_modified"].timestamp() < limit:
                        yield found["path"]
        except S3Error as error:
            raise StoreError(
                f"`{self._bucket.shown}` could not be listed ({error}). Check that there is such a bucket, and that "
                "the keys may list it."
            ) from None

    def check(self) -> list[str]:
        """Write, read and delete an object; return what the server lacks and can do without."""
        name = new_name()
        try:
            lacks = [] if self._ask(partial(_is_kept, name)) else [_OVERWRITES]
            found = self._ask(lambda store: bytes(obstore.get_range(store, name, start=5, length=7)))
            self._ask(lambda store: obstore.delete(store, name))
        except S3Error as error:
            raise StoreRefused(
                f"`{self._bucket.shown}` cannot be used ({error}). Check the address in `blobs`, that there is such "
                "a bucket, and that the keys in `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` may put, get, list and "
                "delete."
            ) from None
        if found != _PROBE[5:12]:
            raise StoreRefused(f"`{self._bucket.shown}` does not read ranges. Use a store that does, or a folder.")
        return lacks

    def _ask(self, work: Callable[[S3Store], _T]) -> _T:
        """Return the outcome of `work`. A server that is away is asked once, now and then, and not waited for."""
        began = time.monotonic()
        if self._is_away and began < self._asked_again_at:
            raise S3Error(self._reason)
        if self._is_away:
            self._asked_again_at = began + _PROBE_SECONDS  # others do not ask meanwhile
        try:
            found = _ask(partial(work, self._hasty if self._is_away else self._patient))
        except (_Exists, _Absent, _Beyond):
            self._is_away = False
            raise
        except S3Error as error:
            now = time.monotonic()
            self._is_away, self._is_believed, self._reason = True, False, str(error)
            self._asked_again_at = now + min(2 * (now - began), _LONGEST_REST)
            raise
        self._is_away = False
        return found

    def close(self) -> None:
        """Do nothing: unused connections close by themselves."""


_OVERWRITES = "it overwrites existing objects (no `If-None-Match`); names are random, so this does not happen by chance"


def _put(name: str, reader: BodyReader, is_believed: bool, store: S3Store) -> None:
    """Put a body as an object, and ask for its size if it was sent in parts or the store is not believed yet."""
    size = reader.facts.size
    if size <= _PART:
        obstore.put(store, name, reader.read(), mode="create")
        if is_believed:
            return
    else:
        part = max(_PART, -(-size // _MOST_PARTS))
        parts = (reader.read(start, start + part) for start in range(0, size, part))
        obstore.put(store, name, parts, use_multipart=True, chunk_size=part, max_concurrency=_AT_ONCE)
    try:
        found = obstore.head(store, name)["size"]
    except FileNotFoundError:
        raise S3Error("it reports an object that it does not have") from None
    if found != size:
        raise S3Error(f"{size:,} bytes were sent and it has {found:,}")


def _is_kept(name: str, store: S3Store) -> bool:
    """Return whether an object is kept when another one is put under its name."""
    obstore.put(store, name, _PROBE, mode="create")
    try:
        obstore.put(store, name, _PROBE, mode="create")
    except AlreadyExistsError:
        return True
    return False


def _client(bucket: Bucket, record: str, patience: float, retries: int) -> S3Store:
    """Return a client for the objects of one record, each of whose requests is over within `patience` seconds."""
    wait = timedelta(seconds=patience / 2)
    options: ClientConfig = {
        "allow_http": bucket.options.get("endpoint", "").startswith("http://"),
        "connect_timeout": min(wait, timedelta(seconds=5)),
        "timeout": wait,
    }
    pause = timedelta(milliseconds=50)
    retry: RetryConfig = {
        "max_retries": retries,
        "retry_timeout": wait,
        "backoff": {"init_backoff": pause, "max_backoff": timedelta(seconds=2)},
    }
    given: Any = bucket.options
    config: S3Config = given
    prefix = f"{bucket.prefix}/{record}".lstrip("/")
    return S3Store(bucket.name, prefix=prefix, config=config, client_options=options, retry_config=retry)


def _ask(work: Callable[[], _T]) -> _T:
    """Return the outcome of `work`; raise its failure as `S3Error`, without the cause, which may name a key."""
    _refuse_forked()
    try:
        return work()
    except AlreadyExistsError:
        failure = _Exists("it already exists")
    except FileNotFoundError:
        failure = _Absent("it is not there")
    except S3Error:
        raise
    except (BaseError, OSError, ValueError) as error:
        words = summarize_error(str(error))
        failure = _Beyond(words) if words.startswith("416") else S3Error(words)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        failure = S3Error("its client gave up")
    raise failure


_used_by: list[int] = []


def _refuse_forked() -> None:
    """Raise in a forked child: the client's threads are not there, and it would wait for them forever."""
    pid = os.getpid()
    if not _used_by:
        _used_by.append(pid)
    elif _used_by[0] != pid:
        raise S3Error("this process was forked from one that uses it; start it with `spawn` or `forkserver`")


_NO_KEYS = "169.254.169.254"
"""The address that a client asks for the keys of a machine's role when it has found none elsewhere."""
_WORDS = (
    ("dns error", "its name is not known"),
    ("timed out", "it did not answer in time"),
    ("Timeout", "it did not answer in time"),
    ("kind: Connect", "it cannot be reached"),
    ("error sending request", "the connection was lost"),
)


def summarize_error(text: str) -> str:
    """Return a client's error in a few words: a code, a status or a sentence from the table above."""
    if _NO_KEYS in text:
        return "no keys were found; set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`"
    code, status = re.search(r"<Code>(\w{1,60})</Code>", text), re.search(r"status code: (\d{3}[ \w]{0,30})", text)
    if code or status:
        return ", ".join(found.group(1) for found in (status, code) if found)
    return next((words for sign, words in _WORDS if sign in text), "it gave an answer that its client does not know")
