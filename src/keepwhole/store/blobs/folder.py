"""`BlobFolder`: bodies too large for a row, as files, durable before anything refers to them.

Owns: the order of writing, names, and never following a link.
Must not know: rows. A name is 32 random hex digits; no id and no content ever becomes a path.

Theory of operation
-------------------
A body `3f0c…` is written to the folder of its first digit:

    blobs/3/.3f0c…      created with O_EXCL and mode 0600, written and hashed chunk by chunk
                        fsync of the file
    blobs/3/3f0c…       renamed
                        fsync of blobs/3

and only then is its name returned. Invariants:

- A file without the dot is whole: a crash before the rename leaves only the dotted file, which is an orphan.
- The name is durable when it is returned. The first body in a folder also syncs the folder above it.
- Every file is opened relative to a descriptor of its folder, with O_NOFOLLOW, and must be a regular file of this user:
  a link or another user's file in the folder is never read, written or deleted through.
- If writing fails, the caller gets the original back through the error's `rescue`: what the file has of it, then the
  chunk in hand, then the rest of the feed. Nothing is left behind in the folder.
- Descriptors from before a fork may be used after it: they are only used to open files relative to them.
"""

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from keepwhole.canonical.body import CHUNK, BodyFacts
from keepwhole.errors import Damaged, NotStored, QuotaExceeded, Rescue, StoreError, StoreRefused
from keepwhole.store.durable import make_folder, sync, write_all
from keepwhole.store.feed import Feed, MeasuredFeed
from keepwhole.store.protocol import Body, StoredBody
from keepwhole.store.reader import BodyReader, file_reader

_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW
_TEMP = "."
ORPHAN_SECONDS = 3_600
NAME = re.compile(r"[0-9a-f]{32}")
_OURS = re.compile(r"\.?[0-9a-f]{32}")


def new_name() -> str:
    """Return a name for a body, which no other has."""
    return os.urandom(16).hex()


class _DiskError(Exception):
    """An error of the disk, told apart from errors of the source."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error


def _guarded(act: Callable[..., None], *args: Any) -> None:
    try:
        act(*args)
    except OSError as error:
        raise _DiskError(error) from error


def _settle(fd: int, shard: int, name: str) -> None:
    """Make a written file durable under its name."""
    sync(fd)
    os.rename(_TEMP + name, name, src_dir_fd=shard, dst_dir_fd=shard)
    sync(shard)


def _unlink(shard: int, *names: str) -> None:
    for name in names:
        try:
            os.unlink(name, dir_fd=shard)
        except OSError:
            pass  # not there, or left for the collection of orphans


class HalfRead:
    """The output that could not be stored: what was written of it, then the rest."""

    def __init__(self, fd: int, taken: int, measured: MeasuredFeed) -> None:
        self._fd, self._taken, self._measured = fd, taken, measured

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        """Close the file, also where nobody asked for the original."""
        self.close()

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole original, once."""
        for start in range(0, self._taken, CHUNK):
            yield os.pread(self._fd, min(CHUNK, self._taken - start), start)
        yield from self._measured.remaining()


class Unread:
    """An original of which only the first bytes were read."""

    def __init__(self, first: bytes, feed: Feed) -> None:
        self._first, self._feed = first, feed

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole original, once."""
        yield self._first
        yield from self._feed.remaining()

    def close(self) -> None:
        """Do nothing: nothing is open."""


class BlobFolder:
    """The folder of large bodies."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._root = -1
        self._shards: set[str] = set()

    def write(self, feed: Feed, first: bytes, room: int) -> StoredBody:
        """Store `first` and the rest of `feed`, at most `room` bytes; durable on return."""
        name = new_name()
        reader = self.write_as(name, feed, first, room)
        return StoredBody(Body(reader.facts, blob=name), reader)

    def write_as(self, name: str, feed: Feed, first: bytes, room: int) -> BodyReader:
        """Store `first` and the rest of `feed` under `name`, at most `room` bytes; durable on return.

        Returns the file open for reading, so that it need not be found again.

        Raises `NotStored` with a `rescue` that gives the original back; nothing is left behind.
        """
        try:
            shard, fd = self._create(name)
        except OSError as error:
            raise not_stored(error, Unread(first, feed)) from error
        measured = MeasuredFeed(feed, first)
        taken = 0
        try:
            for chunk in measured.chunks():
                if taken + len(chunk) > room:
                    raise _DiskError(OSError(errno.EDQUOT, "the session's quota is used up"))
                _guarded(write_all, fd, chunk)
                taken += len(chunk)
            _guarded(_settle, fd, shard, name)
        except _DiskError as failure:
            _unlink(shard, _TEMP + name, name)
            raise not_stored(failure.error, HalfRead(fd, taken, measured)) from failure.error
        except BaseException:
            _unlink(shard, _TEMP + name, name)
            os.close(fd)
            raise
        finally:
            os.close(shard)
        reader, whole = file_reader(measured.finish(), fd), measured.whole()
        return reader if whole is None else reader.remember(whole)

    def _create(self, name: str) -> tuple[int, int]:
        """Create a temporary file for `name`; return descriptors of its folder and of the file."""
        shard = self._shard(name)
        try:
            flags = _FLAGS | os.O_RDWR | os.O_CREAT | os.O_EXCL
            return shard, os.open(_TEMP + name, flags, 0o600, dir_fd=shard)
        except OSError:
            os.close(shard)
            raise

    def open(self, blob: str, facts: BodyFacts) -> BodyReader:
        """Open the body `blob` for reading."""
        return file_reader(facts, self.descriptor(blob))

    def descriptor(self, name: str) -> int:
        """Open the file `name`: a regular file of this user, never reached through a link."""
        if NAME.fullmatch(name) is None:
            raise Damaged("A row names a file that Keepwhole cannot have written. Run `keepwhole sessions verify`.")
        try:
            shard = self._folder(name)
            try:
                fd = os.open(name, _FLAGS | os.O_RDONLY | os.O_NONBLOCK, dir_fd=shard)
            finally:
                os.close(shard)
        except OSError as error:
            raise Damaged(
                f"The file of a stored body cannot be opened ({error.strerror}). Run `keepwhole sessions verify`.",
                "The stored copy of this result is damaged and cannot be returned. Run the tool again.",
            ) from error
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            os.close(fd)
            raise Damaged(
                "The file of a stored body is not a regular file that Keepwhole wrote. Run `keepwhole doctor`."
            )
        return fd

    def has(self, blob: str) -> bool:
        """Return whether there is a file of this name."""
        return os.path.lexists(os.path.join(self._path, blob[:1], blob))

    def remove(self, blobs: Iterable[str]) -> None:
        """Delete these files, unfinished ones too; a missing file is no error."""
        for name in blobs:
            if _OURS.fullmatch(name) is not None:
                self._delete(name.removeprefix(_TEMP), name)

    def move(self, blobs: Iterable[str], target: str) -> int:
        """Move these files to another folder of the same disk, unfinished ones too; return how many were moved."""
        make_folder(target)
        count = 0
        for name in blobs:
            if _OURS.fullmatch(name) is None:
                continue
            try:
                shard = self._folder(name.removeprefix(_TEMP))
            except OSError:
                continue
            try:
                os.rename(name, os.path.join(target, name), src_dir_fd=shard)
                count += 1
            except FileNotFoundError:
                pass
            finally:
                os.close(shard)
        return count

    def count(self) -> int:
        """Return how many files there are."""
        return sum(len(self._list(os.path.join(self._path, shard))) for shard in self._list(self._path))

    def orphans(self, referenced: Container[str], now: float | None = None) -> list[str]:
        """Return the files that are not referenced and are older than an hour, unfinished ones too."""
        return [name for name in self.old(now) if name not in referenced]

    def old(self, now: float | None = None) -> Iterator[str]:
        """Yield the files that are older than an hour, unfinished ones too."""
        limit = (time.time() if now is None else now) - ORPHAN_SECONDS
        if os.path.islink(self._path):
            return
        for shard in self._list(self._path):
            folder = os.path.join(self._path, shard)
            if os.path.islink(folder):
                continue
            for name in self._list(folder):
                if _OURS.fullmatch(name) is None:
                    continue
                try:
                    if os.stat(os.path.join(folder, name), follow_symlinks=False).st_mtime < limit:
                        yield name
                except FileNotFoundError:
                    continue

    def _delete(self, name: str, file: str) -> None:
        """Delete a file; what cannot be deleted is left for the collection of orphans."""
        try:
            shard = self._folder(name)
        except OSError:
            return
        _unlink(shard, file)
        os.close(shard)

    def check(self) -> list[str]:
        """Write, read and delete a file; a folder lacks nothing."""
        try:
            stored = self.write(Feed(b"what is kept here must come back as it is"), b"", 100)
            stored.reader.close()
            os.close(self.descriptor(stored.body.blob or ""))
        except StoreError as error:
            raise StoreRefused(f"The folder `{self._path}` in `blobs` cannot be used. {error}") from error
        self.remove([stored.body.blob or ""])
        return []

    def close(self) -> None:
        """Close the folder's descriptor."""
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def _list(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _folder(self, name: str) -> int:
        """Open the folder of `name`, never reached through a link."""
        if self._root < 0:
            self._root = os.open(self._path, _FLAGS | os.O_RDONLY | os.O_DIRECTORY)
        return os.open(name[0], _FLAGS | os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._root)

    def _shard(self, name: str) -> int:
        """Open the folder of `name`; create it if it is missing, with its name durable."""
        shard = name[0]
        if shard in self._shards:
            return self._folder(name)
        if self._root < 0:
            make_folder(self._path)
            self._root = os.open(self._path, _FLAGS | os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.mkdir(shard, 0o700, dir_fd=self._root)
        except FileExistsError:
            pass
        fd = self._folder(name)
        try:
            os.fchmod(fd, 0o700)
            sync(self._root)
        except OSError:
            os.close(fd)
            raise
        self._shards.add(shard)
        return fd


def not_stored(error: OSError, rescue: Rescue) -> NotStored:
    """Return the error for a body that the disk did not take, or that exceeds a quota."""
    if error.errno == errno.EDQUOT:
        return QuotaExceeded(
            "The session's quota is used up, so this result was not stored. Raise `session_quota`, or free "
            "space with `keepwhole artifacts clean`.",
            rescue=rescue,
        )
    return NotStored(
        f"The result could not be written ({error.strerror}). It is shown in full; free space or check the "
        "folder with `keepwhole doctor`.",
        rescue=rescue,
    )
