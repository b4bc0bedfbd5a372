"""The folder of a record in SQLite: private, on a local disk, and never made anew beside what is left of a record.

Owns: what makes a folder unsafe, and the sentence that says what to do.
Must not know: what is in the database.
"""

import os
from collections.abc import Callable

from keepwhole.errors import StoreRefused
from keepwhole.store.durable import make_folder

_UNSAFE = frozenset(("nfs", "nfs4", "cifs", "smb", "smb3", "smbfs", "9p", "afs", "fuse.sshfs"))


def refuse_lost(folder: str, is_empty: Callable[[], bool], with_log: bool = False) -> None:
    """Raise `StoreRefused` if the database is empty and something in the folder says that it should not be.

    With `with_log`, a log counts too: SQLite would delete it beside a file of no bytes.
    """
    if is_empty() and (left := _left_behind(folder, with_log)) and is_empty():  # it may just have been made
        raise StoreRefused(
            f"`{os.path.join(folder, 'record.db')}` is missing or empty, but {left} still there. Nothing was changed. "
            "Put the file back, with `record.db-wal` if there is one, or restore a backup into another folder with "
            "`keepwhole store restore`. To start again, move the folder away."
        )


def _left_behind(folder: str, with_log: bool) -> str:
    """Return which files of a record are in a folder, besides its database; an empty text if none are."""
    if with_log and size_of(os.path.join(folder, "record.db-wal")):
        return "its log is"
    if os.path.lexists(os.path.join(folder, "record.marks")):
        return "`record.marks`, which is written when something is stored, is"
    for _, _, names in os.walk(os.path.join(folder, "blobs")):
        if names:
            return "its large bodies are"
    return ""


def size_of(path: str) -> int:
    """Return the bytes of a file; 0 if there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def prepare_folder(path: str) -> None:
    """Create the folder, or make an existing one private. `StoreRefused` if it cannot be used."""
    try:
        fresh = not os.path.isdir(path)
        make_folder(path)
        status = os.stat(path)
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.chmod(path, 0o700)
    except OSError as error:
        raise StoreRefused(
            f"`{path}` cannot be used for the record ({error.strerror}). Set `KEEPWHOLE_HOME` to a folder you can "
            "write to."
        ) from error
    refuse_foreign(path)
    if fresh:
        refuse_network(path)


def refuse_foreign(path: str) -> None:
    """Raise `StoreRefused` for the folder of another user, which no command reads."""
    if os.stat(path).st_uid != os.geteuid():
        raise StoreRefused(f"`{path}` belongs to another user. Set `KEEPWHOLE_HOME` to a folder of your own.")


def refuse_network(path: str) -> None:
    """Raise `StoreRefused` for a network file system: SQLite's WAL works on one machine only."""
    kind = file_system(path)
    if kind in _UNSAFE:
        raise StoreRefused(
            f"`{path}` is on a network file system ({kind}), where SQLite can be damaged. "
            "Set `KEEPWHOLE_HOME` to a folder on a local disk."
        )


def file_system(path: str) -> str:
    """Return the type of the file system that `path` is on; an empty string if it is unknown."""
    best, kind = "", ""
    path = os.path.realpath(path)
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                left, _, right = line.partition(" - ")
                mount = left.split(" ")[4].replace("\\040", " ")
                inside = path == mount or path.startswith(mount.rstrip("/") + "/")
                if inside and len(mount) >= len(best):
                    best, kind = mount, right.split(" ")[0]
    except OSError:
        return ""
    return kind
