"""Reading files that somebody else named: regular files only, and no more of them than is asked for.

A pipe or a device would never end, and opening a pipe waits for its writer.
"""

import errno
import os
import stat
from typing import BinaryIO


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; `OSError` for anything else, without waiting for it."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
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
