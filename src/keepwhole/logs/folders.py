"""The files below a folder, in a stable order.

Owns: that a search ends. Links to folders elsewhere are not followed and there is a deepest level; what is not
searched is yielded too, so that reading it reports the reason.
Must not know: which files are logs.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

DEEPEST = 100
"""Levels of folders that are searched."""


def files_below(root: Path, wanted: Callable[[str], bool], skipped: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Yield the files whose name is `wanted`, and the folders that cannot be searched; `skipped` names are left out."""
    top = os.path.realpath(root)
    waiting: list[tuple[str, int]] = [(os.fspath(root), 0)]
    while waiting:
        path, depth = waiting.pop()
        if depth and not os.path.isdir(path):
            yield Path(path)
        elif depth and os.path.islink(path):
            if not _is_within(os.path.realpath(path), top):
                yield Path(path)
        elif depth > DEEPEST:
            yield Path(path)
        else:
            entries = _entries(path)
            if entries is None:
                yield Path(path)
            for name, is_folder in reversed(entries or []):
                if name not in skipped if is_folder else wanted(name):
                    waiting.append((os.path.join(path, name), depth + 1))


def why_not_searched(folder: Path) -> str:
    """The reason why a folder was not searched, for people."""
    if folder.is_symlink():
        return "a link to a folder elsewhere is not followed: name that folder"
    if not os.access(folder, os.R_OK | os.X_OK):
        return "the folder cannot be read (Permission denied)"
    return f"folders more than {DEEPEST} levels deep are not searched"


def _entries(folder: str) -> list[tuple[str, bool]] | None:
    """The names in a folder, sorted, and which are folders; None where it cannot be read."""
    try:
        with os.scandir(folder) as found:
            return sorted((entry.name, _is_folder(entry)) for entry in found)
    except OSError:
        return None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_within(path: str, top: str) -> bool:
    return path == top or path.startswith(os.path.join(top, ""))
