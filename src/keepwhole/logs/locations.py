"""Where clients store their logs on this machine.

Owns: finding them; the folders, the environment variables that change them and the patterns of names are in `clients`.
Must not know: the content of the files; none is opened here.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from keepwhole.clients.table import CLIENTS
from keepwhole.logs.folders import files_below
from keepwhole.logs.lines import file_size


class LogLocation(NamedTuple):
    """A folder or a database with the logs of one client."""

    client: str
    path: Path
    files: tuple[Path, ...]
    """The logs, in a stable order, and folders that are not searched."""
    bytes: int
    """The total size of the logs."""


def find_log_locations(home: Path, environ: Mapping[str, str], folder: Path | None = None) -> list[LogLocation]:
    """Return the locations that have logs; those of projects are searched in `folder`, by default the working one."""
    found: dict[Path, LogLocation] = {}
    for client, path, patterns in _candidates(home, environ, folder or Path.cwd()):
        logs = sorted({log for pattern in patterns for log in _matching(path, pattern)})
        if logs and path not in found:
            found[path] = LogLocation(client, path, tuple(logs), sum(map(file_size, logs)))
    return list(found.values())


def _candidates(home: Path, environ: Mapping[str, str], folder: Path) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    for client in CLIENTS:
        for logs in client.logs:
            yield client.name, Path(logs.folder.path(str(home), environ, str(folder))), logs.patterns


def _matching(path: Path, pattern: str) -> Iterator[Path]:
    """Yield the files below a folder whose path in it matches; a pattern without folders is for the folder alone."""
    if "/" not in pattern:
        yield from (found for found in path.glob(pattern) if found.is_file())
    elif path.is_dir():
        suffix = pattern.rpartition("*")[2]
        for found in files_below(path, lambda name: name.endswith(suffix)):
            if found.is_dir() or fnmatch(f"/{found.relative_to(path)}", pattern):
                yield found
