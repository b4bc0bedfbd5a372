"""Where contexts are written: a protocol of five calls, the real file system, and one in memory.

Owns: that nothing is overwritten and no link is followed. Must not know: what is in a file.
"""

import errno
import os
import stat
import threading
from typing import Protocol

from keepwhole.store.durable import sync, sync_folder, write_all

UNFINISHED = r"\.[0-9a-f]{16}"
"""The suffix of a file until all of it is written."""
_NO_LINKS = (errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class FileSystem(Protocol):
    """What a `ContextManager` needs of a file system. Failures are `OSError`s."""

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it, unless they exist."""
        ...

    def write_new(self, path: str, data: bytes) -> None:
        """Write a file that does not exist yet; `FileExistsError` where one does."""
        ...

    def read(self, path: str) -> bytes:
        """Return all of a file; `FileNotFoundError` where there is none."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted; none where there is no folder."""
        ...


class RealFileSystem:
    """The disk. Folders are made for their owner only, and so are files."""

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it."""
        os.makedirs(path, mode=0o700, exist_ok=True)

    def write_new(self, path: str, data: bytes) -> None:
        """Write a file that does not exist yet, durably, and all of it or nothing."""
        unfinished = f"{path}.{os.urandom(8).hex()}"
        fd = os.open(unfinished, _NEW, 0o600)
        try:
            write_all(fd, memoryview(data))
            sync(fd)
            _name_file(unfinished, path)
        finally:
            os.close(fd)
            self.remove(unfinished)
        sync_folder(os.path.dirname(path))

    def read(self, path: str) -> bytes:
        """Return all of a file; links, pipes and devices are refused, and never waited for."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "it is not a file", path)
            return file.read()

    def remove(self, path: str) -> None:
        """Remove a file."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder; folders and links are left out."""
        try:
            with os.scandir(folder) as entries:
                return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
        except FileNotFoundError:
            return []


def _name_file(unfinished: str, path: str) -> None:
    """Give a written file its name; `FileExistsError` where another file has it."""
    try:
        os.link(unfinished, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(path, _NEW, 0o600))  # reserves the name; without hard links there is no better way
        os.rename(unfinished, path)


class MemoryFileSystem:
    """Files in a dictionary, for tests and for runs that leave nothing behind."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.folders: set[str] = set()
        self._lock = threading.Lock()

    def make_folder(self, path: str) -> None:
        """Note that there is a folder."""
        self.folders.add(path)

    def write_new(self, path: str, data: bytes) -> None:
        """Write a file that does not exist yet, in a folder that does."""
        with self._lock:
            if os.path.dirname(path) not in self.folders:
                raise FileNotFoundError(f"there is no folder {os.path.dirname(path)}")
            if path in self.files:
                raise FileExistsError(f"there is a file {path}")
            self.files[path] = data

    def read(self, path: str) -> bytes:
        """Return all of a file."""
        try:
            return self.files[path]
        except KeyError:
            raise FileNotFoundError(f"there is no file {path}") from None

    def remove(self, path: str) -> None:
        """Remove a file."""
        self.files.pop(path, None)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder."""
        return sorted(
            name for path in self.files if (name := os.path.basename(path)) and os.path.dirname(path) == folder
        )
