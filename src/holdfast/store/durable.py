"""Making bytes and names survive a power cut. The only place that calls fsync."""

import errno
import fcntl
import os

_FULL_SYNC = getattr(fcntl, "F_FULLFSYNC", None)


def sync(fd: int) -> None:
    """Return only when the file or folder behind `fd` is on the disk itself."""
    if _FULL_SYNC is not None:
        fcntl.fcntl(fd, _FULL_SYNC)
    else:
        os.fsync(fd)


def write_all(fd: int, data: memoryview) -> None:
    """Write all of `data`, however little the kernel takes at a time."""
    while data:
        data = data[os.write(fd, data) :]


def make_folder(path: str) -> None:
    """Make `path` and what is above it; ours are 0700 whatever the umask, and their names are durable."""
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
        raise NotADirectoryError(errno.ENOTDIR, "there is a file of that name", path) from None
    try:
        os.chmod(path, 0o700)
        sync_folder(parent)
    except OSError:
        os.rmdir(path)  # or the next try would take its name for durable
        raise


def sync_folder(path: str) -> None:
    """Return only when the names in a folder are on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(fd)
    finally:
        os.close(fd)
