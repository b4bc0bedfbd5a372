"""A client's own file (settings, servers), read and replaced as a whole.

Owns: that the file is the old one or the new one at any moment, that another program's edit is not overwritten, and
that nothing but a regular file is read or written.
Must not know: what is in the file.

A new text is written to a file beside it, locked while that is written, and renamed. A process that was killed leaves
such a file behind; the next one to replace the same file removes it, since nobody holds its lock.
"""

import fcntl
import os
import re
from contextlib import suppress

from keepwhole.errors import UsageError
from keepwhole.store.durable import sync, sync_folder, write_all
from keepwhole.store.regular_file import read_regular

LARGEST = 16 * 1_048_576
"""Bytes of a client's file."""
_MODE = 0o644
_UNFINISHED = re.compile(r"\.[0-9a-f]{16}")


class ChangedMeanwhile(UsageError):
    """Another program changed the file after it was read."""


def read_file(path: str) -> bytes | None:
    """The content of a client's file; None where there is none, `OSError` where it cannot be read."""
    _refuse_broken_links(path)
    try:
        return read_regular(path, LARGEST)
    except FileNotFoundError:
        return None


def replace_file(path: str, before: bytes | None, after: bytes, mode: int | None = None) -> None:
    """Put `after` in place of `before`, through links; permissions stay, unless `mode` names others."""
    _refuse_broken_links(path)
    real = os.path.realpath(path)
    os.makedirs(os.path.dirname(real), exist_ok=True)
    mode = mode or _checked_mode(path, real)
    remove_unfinished(path)
    unfinished = f"{real}.{os.urandom(8).hex()}"
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        write_all(fd, memoryview(after))
        os.fchmod(fd, mode)
        sync(fd)
        _refuse_changed(path, before)
        os.rename(unfinished, real)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise
    finally:
        os.close(fd)
    sync_folder(os.path.dirname(real))


def remove_file(path: str, before: bytes) -> None:
    """Remove a client's file that still is as it was read."""
    _refuse_changed(path, before)
    os.unlink(path)


def remove_unfinished(path: str) -> int:
    """Remove what killed processes left beside a file; return how many files that were."""
    return sum(map(_remove_unlocked, unfinished_copies(path)))


def unfinished_copies(path: str) -> list[str]:
    """The copies of a file that processes are writing, or left when they were killed."""
    folder, name = os.path.split(os.path.realpath(path))
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        return [
            entry.path
            for entry in os.scandir(folder)
            if entry.name.startswith(name)
            and _UNFINISHED.fullmatch(entry.name, len(name))
            and entry.is_file(follow_symlinks=False)
        ]
    return []


def _remove_unlocked(path: str) -> bool:
    """Remove a file that no process is writing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _refuse_changed(path: str, before: bytes | None) -> None:
    if read_file(path) != before:
        raise ChangedMeanwhile(f"`{path}` was changed by another program meanwhile, and was left as it is. Try again.")


def _checked_mode(path: str, real: str) -> int:
    """The permissions of a file, or those of a new one; `UsageError` where replacing it would break something."""
    try:
        status = os.stat(real)
    except FileNotFoundError:
        return _MODE
    if status.st_nlink > 1:
        raise UsageError(
            f"`{path}` has {status.st_nlink} names (hard links), which replacing it would separate, so it was left as "
            "it is. Copy it to a file with one name first."
        )
    return status.st_mode & 0o777


def _refuse_broken_links(path: str) -> None:
    """`UsageError` where the file, or a folder above it, is a link that leads nowhere."""
    at = os.path.abspath(path)
    while at != os.path.dirname(at):
        if os.path.islink(at) and not os.path.exists(at):
            raise UsageError(f"`{at}` is a link to `{os.readlink(at)}`, which does not exist. Remove the link first.")
        at = os.path.dirname(at)
