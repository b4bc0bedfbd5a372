"""Seeing what is opened: the interpreter's own audit events, and the kernel's for one folder."""

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_EVENTS = frozenset(
    ("open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.chmod", "os.truncate", "os.symlink")
)
_TOUCHED = 0x0002 | 0x0004 | 0x0020 | 0x0040 | 0x0080 | 0x0100 | 0x0200
"""Modified, changed in mode, opened, moved from, moved to, made, deleted."""

_paths: list[str] | None = None


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _paths is not None and (event in _EVENTS or event == "sqlite3.connect"):
        _paths.extend(os.fsdecode(value) for value in arguments[:2] if isinstance(value, str | bytes) and value)


sys.addaudithook(_hook)


@contextmanager
def paths_touched() -> Iterator[list[str]]:
    """The paths that this process opens, lists, makes, removes or renames while the block runs."""
    global _paths
    _paths = found = []
    try:
        yield found
    finally:
        _paths = None


class Decoy:
    """A folder outside the store that nobody may touch; the kernel tells if somebody did."""

    def __init__(self, path: str) -> None:
        self.path = path
        os.makedirs(path, exist_ok=True)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = -1

    def __enter__(self) -> "Decoy":
        """Watch from now on."""
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder, _, _ in list(os.walk(self.path)):
            assert self._libc.inotify_add_watch(self._fd, os.fsencode(folder), _TOUCHED) >= 0
        return self

    def __exit__(self, *_: object) -> None:
        """Watch no more."""
        os.close(self._fd)

    def touched(self) -> list[str]:
        """What was done to it: a number of inotify's and a name."""
        try:
            data = os.read(self._fd, 65_536)
        except BlockingIOError:
            return []
        found: list[str] = []
        while data:
            _, mask, _, length = struct.unpack_from("iIII", data)
            found.append(f"{mask:#x} {data[16 : 16 + length].rstrip(bytes(1)).decode()}")
            data = data[16 + length :]
        return found
