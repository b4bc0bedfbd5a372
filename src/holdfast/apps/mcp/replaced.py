"""Putting a new file in the place of an old one, whole or not at all."""

import os

from holdfast.store.durable import sync, sync_folder, write_all


def replace_file(path: str, data: bytes, mode: int) -> None:
    """Write `data` beside `path` and move it there. A link is followed: its target is replaced."""
    path = os.path.realpath(path)
    beside = f"{path}.{os.getpid()}.tmp"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        os.fchmod(fd, mode)
        write_all(fd, memoryview(data))
        sync(fd)
        os.rename(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    finally:
        os.close(fd)
    sync_folder(os.path.dirname(path))
