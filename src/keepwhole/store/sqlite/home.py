"""Is this folder a safe home for a record? Ours, private, and on a file system that keeps SQLite's locks."""

import os

from keepwhole.errors import StoreRefused
from keepwhole.store.durable import make_folder

_UNSAFE = frozenset(("nfs", "nfs4", "cifs", "smb", "smb3", "smbfs", "9p", "afs", "fuse.sshfs"))


def prepare(path: str) -> None:
    """Make the folder, or make sure that an existing one is private. `StoreRefused` where it cannot be."""
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
    if status.st_uid != os.geteuid():
        raise StoreRefused(f"`{path}` belongs to another user. Set `KEEPWHOLE_HOME` to a folder of your own.")
    if fresh:
        refuse_network(path)


def refuse_network(path: str) -> None:
    """SQLite's WAL needs one machine: refuse network file systems."""
    kind = file_system(path)
    if kind in _UNSAFE:
        raise StoreRefused(
            f"`{path}` is on a network file system ({kind}), where SQLite can be damaged. "
            "Set `KEEPWHOLE_HOME` to a folder on a local disk."
        )


def file_system(path: str) -> str:
    """The type of the file system that holds `path`, or an empty string where it cannot be told."""
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
