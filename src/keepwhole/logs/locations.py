"""Where clients store their logs on this machine.

Owns: the folders, the environment variables that change them, and which files in them are logs.
Must not know: the content of the files; none is opened here.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from keepwhole.logs import claude_code, codex, gemini_cli, opencode, swe_agent
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
    """Return the locations that have logs; SWE-agent's is searched in `folder`, by default the working folder."""
    found: dict[Path, LogLocation] = {}
    for client, path, patterns in _candidates(home, environ, folder or Path.cwd()):
        logs = sorted({log for pattern in patterns for log in _matching(path, pattern)})
        if logs and path not in found:
            found[path] = LogLocation(client, path, tuple(logs), sum(map(file_size, logs)))
    return list(found.values())


def _candidates(home: Path, environ: Mapping[str, str], folder: Path) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    config, data = (
        _folder(environ, "XDG_CONFIG_HOME", home / ".config"),
        _folder(environ, "XDG_DATA_HOME", home / ".local/share"),
    )
    for claude in (_folder(environ, "CLAUDE_CONFIG_DIR", home / ".claude"), config / "claude"):
        yield claude_code.NAME, claude / "projects", ("*/*.jsonl", "*/*.jsonl.gz")
    threads = _folder(environ, "CODEX_HOME", home / ".codex")
    for name in ("sessions", "archived_sessions"):
        yield codex.NAME, threads / name, ("*/*.jsonl", "*/*.jsonl.gz", "*/*.jsonl.zst")
    chats = _folder(environ, "GEMINI_CLI_HOME", home) / ".gemini" / "tmp"
    yield gemini_cli.NAME, chats, ("*/chats/*.jsonl", "*/chats/*.json")
    yield opencode.NAME, data / "opencode", ("opencode*.db",)
    trajectories = _folder(environ, "SWE_AGENT_TRAJECTORY_DIR", folder / "trajectories")
    yield swe_agent.NAME, trajectories, ("*/*.traj", "*/*.traj.gz")


def _folder(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    return Path(environ[variable]) if environ.get(variable) else default


def _matching(path: Path, pattern: str) -> Iterator[Path]:
    """Yield the files below a folder whose path in it matches; a pattern without folders is for the folder alone."""
    if "/" not in pattern:
        yield from (found for found in path.glob(pattern) if found.is_file())
    elif path.is_dir():
        suffix = pattern.rpartition("*")[2]
        for found in files_below(path, lambda name: name.endswith(suffix)):
            if found.is_dir() or fnmatch(f"/{found.relative_to(path)}", pattern):
                yield found
