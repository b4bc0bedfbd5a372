"""Reading files that somebody else named: regular files only, and no more of them than is asked for.

A pipe or a device would never end, and opening a pipe waits for its writer.
"""

import errno
import os
import stat
from typing import BinaryIO

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; `OSError` for anything else, without waiting for it."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        return os.fdopen(fd, "rb", buffering=1 << 20)
    except BaseException:
        os.close(fd)
        raise


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """All of a regular file; `OSError` where it is more than `most` bytes."""
    with open_regular(path) as file:
        data = b"" if os.fstat(file.fileno()).st_size > most else file.read(most + 1)
        if len(data) > most or os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", os.fspath(path))
        return data


def open_own_below(folder: str, *names: str) -> BinaryIO:
    """Open a regular file of this user by the names of its folders below `folder` and its own, following no link.

    `OSError` for anything else, and `ValueError` for a name that is none: empty, `..`, or with a `/` in it.
    """
    if not all(is_file_name(name) for name in names):
        raise ValueError("it is not the name of a file")
    fd = os.open(folder, _FOLDER)
    try:
        for name in names[:-1]:
            outer, fd = fd, os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=fd)
            os.close(outer)
        found = os.open(names[-1], os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW, dir_fd=fd)
    finally:
        os.close(fd)
    try:
        about = os.fstat(found)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
            raise OSError(errno.EINVAL, "it is not a regular file of this user", names[-1])
        return os.fdopen(found, "rb", buffering=1 << 20)
    except BaseException:
        os.close(found)
        raise


def is_file_name(name: str) -> bool:
    """Whether a text is the name of a file in a folder, and no path.

    >>> [is_file_name(name) for name in ("a.txt", "..", "a/b", "")]
    [True, False, False, False]
    """
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name
