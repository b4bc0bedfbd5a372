"""Writing bytes and names so that they survive a power cut. The only place that calls fsync."""

import errno
import fcntl
import os
from collections.abc import Iterable

from keepwhole.store.wait_guard import check_may_wait

_FULL_SYNC = getattr(fcntl, "F_FULLFSYNC", None)


def sync(fd: int) -> None:
    """Return only when the file or folder behind `fd` is on the disk itself."""
    check_may_wait()
    if _FULL_SYNC is not None:
        fcntl.fcntl(fd, _FULL_SYNC)
    else:
        os.fsync(fd)


def write_all(fd: int, data: memoryview) -> None:
    """Write all of `data`, however little the kernel takes at a time."""
    while data:
        data = data[os.write(fd, data) :]


def write_file(path: str, chunks: Iterable[bytes], mode: int, *, replaces: bool = True) -> None:
    """Write a file, all of it on the disk or nothing. An existing file or link of that name is replaced; or, unless it
    `replaces` one, raises `FileExistsError`, also where another process was a moment faster."""
    check_may_wait()
    unfinished = f"{path}.{os.urandom(8).hex()}"
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        for chunk in chunks:
            write_all(fd, memoryview(chunk))
        os.fchmod(fd, mode)
        sync(fd)
        if replaces:
            os.rename(unfinished, path)
        else:
            _publish(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise
    finally:
        os.close(fd)
    sync_folder(os.path.dirname(os.path.abspath(path)))


def _publish(unfinished: str, path: str) -> None:
    """Give a file its name, unless there is one of that name."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.rename(unfinished, path)
    else:
        os.unlink(unfinished)


def make_folder(path: str) -> None:
    """Create a folder and its parents, with mode 0700 whatever the umask is; their names are durable on return."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_folder(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if os.path.isdir(path):
            return
        raise NotADirectoryError(errno.ENOTDIR, "a file with that name exists", path) from None
    try:
        os.chmod(path, 0o700)
        sync_folder(parent)
    except OSError:
        os.rmdir(path)  # or the next attempt would assume that its name is durable
        raise


def sync_folder(path: str) -> None:
    """Return only when the names in a folder are on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(fd)
    finally:
        os.close(fd)
