"""Where agents keep their logs on this machine.

Owns: the folders, the variables that move them, and which files in them are logs.
Must not know: what is in the files; none is opened here.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from keepwhole.logs import claude_code, codex, gemini_cli, opencode, swe_agent


class Place(NamedTuple):
    """A folder, or a database, in which a client's logs were found."""

    client: str
    path: Path
    files: tuple[Path, ...]
    """The logs, in a stable order."""
    bytes: int
    """Of all of them."""


def known_places(home: Path, environ: Mapping[str, str], folder: Path | None = None) -> list[Place]:
    """The places that have logs; SWE-agent's is looked for in the working folder, or in `folder`."""
    found: dict[Path, Place] = {}
    for client, path, patterns in _candidates(home, environ, folder or Path.cwd()):
        logs = sorted({log for pattern in patterns for log in _matching(path, pattern)})
        if logs and path not in found:
            found[path] = Place(client, path, tuple(logs), sum(map(_size, logs)))
    return list(found.values())


def _candidates(home: Path, environ: Mapping[str, str], folder: Path) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    config, data = (
        _moved(environ, "XDG_CONFIG_HOME", home / ".config"),
        _moved(environ, "XDG_DATA_HOME", home / ".local/share"),
    )
    for claude in (_moved(environ, "CLAUDE_CONFIG_DIR", home / ".claude"), config / "claude"):
        yield claude_code.NAME, claude / "projects", ("**/*.jsonl", "**/*.jsonl.gz")
    threads = _moved(environ, "CODEX_HOME", home / ".codex")
    for kept in ("sessions", "archived_sessions"):
        yield codex.NAME, threads / kept, ("**/*.jsonl", "**/*.jsonl.gz", "**/*.jsonl.zst")
    chats = _moved(environ, "GEMINI_CLI_HOME", home) / ".gemini" / "tmp"
    yield gemini_cli.NAME, chats, ("*/chats/**/*.jsonl", "*/chats/**/*.json")
    yield opencode.NAME, data / "opencode", ("opencode*.db",)
    trajectories = _moved(environ, "SWE_AGENT_TRAJECTORY_DIR", folder / "trajectories")
    yield swe_agent.NAME, trajectories, ("**/*.traj", "**/*.traj.gz")


def _moved(environ: Mapping[str, str], variable: str, usual: Path) -> Path:
    return Path(environ[variable]) if environ.get(variable) else usual


def _matching(path: Path, pattern: str) -> Iterator[Path]:
    try:
        yield from (found for found in path.glob(pattern) if found.is_file())
    except OSError:
        return


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
