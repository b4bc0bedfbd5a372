"""`wrap` and `unwrap`: put the gateway before the servers in a client's file, and remove it again.

Owns: the edits of the client's file, and the copy beside it, which the gateway reads. Every byte outside a wrapped
entry stays.
Must not know: MCP.
"""

import json
import os
import shutil
import sys
from collections import Counter
from typing import Any, NamedTuple, cast

from keepwhole.apps.client_file import read_file, remove_unfinished, replace_file
from keepwhole.apps.json_file import Part, parse, parts
from keepwhole.errors import NotFound, UsageError

OWN = "keepwhole"
"""The entry that offers the recall tools once for all wrapped servers."""
_BESIDE = ".before-keepwhole"
_KEYS = ("mcpServers", "servers")


class Wrapped(NamedTuple):
    """What was done."""

    path: str
    wrapped: list[str]
    left: list[str]


def wrap(path: str, every: bool = False) -> Wrapped:
    """Make each server of a client's file run behind the gateway. Doing it twice changes nothing.

    Servers at an address without `headers` are left alone unless `every` says so: the client may log in to them,
    which the gateway does not.
    """
    text, entries = _read(path)
    fresh = [entry for entry in entries if not _is_ours(entry) and _can_wrap(entry.value, every)]
    left = [entry.key for entry in entries if not _is_ours(entry) and not _can_wrap(entry.value, every)]
    if any(entry.key == OWN and not _is_ours(entry) for entry in entries):
        raise UsageError(f"`{path}` already has a server named `{OWN}`. Rename it first.")
    if not fresh:
        return Wrapped(path, [], left)
    beside = _beside(path)
    kept = _restored(text, entries, beside) if os.path.exists(beside) else text
    mode = os.stat(path).st_mode & 0o777
    remove_unfinished(path)
    _replace(beside, read_file(beside), kept, mode)
    changes = [(entry.value_start, entry.stop, json.dumps(_before(beside, entry.key))) for entry in fresh]
    if not any(entry.key == OWN for entry in entries):
        at = entries[-1].stop
        changes.append((at, at, f', "{OWN}": {json.dumps(_own())}'))
    _replace(path, text.encode(), _spliced(text, changes))
    return Wrapped(path, [entry.key for entry in fresh], left)


def unwrap(path: str) -> Wrapped:
    """Put back every entry as it was; the whole file to the byte, unless it was edited in between."""
    text, entries = _read(path)
    beside, ours = _beside(path), [entry.key for entry in entries if _is_ours(entry)]
    if not os.path.exists(beside):
        if ours:
            raise NotFound(f"`{beside}`, which has the servers as they were, is gone. Put it back and try again.")
        return Wrapped(path, [], [entry.key for entry in entries])
    _replace(path, text.encode(), _restored(text, entries, beside))
    os.unlink(beside)
    return Wrapped(path, [name for name in ours if name != OWN], [])


def _beside(path: str) -> str:
    return os.path.realpath(path) + _BESIDE


def _program() -> tuple[str, list[str]]:
    """How a client starts Keepwhole: by name where that is found, else with the running interpreter."""
    found = shutil.which("keepwhole")
    return ("keepwhole", []) if found else (sys.executable, ["-m", "keepwhole"])


def _before(beside: str, name: str) -> dict[str, Any]:
    command, first = _program()
    args = [*first, "mcp-gateway", "--config", beside, "--server", name, "--inherit-env", "--without-recall"]
    return {"type": "stdio", "command": command, "args": args}


def _own() -> dict[str, Any]:
    command, first = _program()
    return {"type": "stdio", "command": command, "args": [*first, "mcp"]}


def _is_ours(entry: Part) -> bool:
    value: Any = entry.value
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    args = fields.get("args")
    words = cast("list[Any]", args) if isinstance(args, list) else []
    return ("mcp-gateway" in words and "--server" in words) or (entry.key == OWN and words[-1:] == ["mcp"])


def _can_wrap(value: Any, every: bool) -> bool:
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, Any]", value)
    return "command" in fields or ("url" in fields and (every or bool(fields.get("headers"))))


def _restored(text: str, entries: list[Part], beside: str) -> str:
    """A wrapped file's text with the wrapped entries as they were before; the rest is as it is now."""
    before, earlier = _read(beside)
    originals = {entry.key: before[entry.value_start : entry.stop] for entry in earlier}
    ours = [entry for entry in entries if _is_ours(entry)]
    changes = [(entry.value_start, entry.stop, originals[entry.key]) for entry in ours if entry.key in originals]
    changes += [(*_with_comma(text, entry), "") for entry in ours if entry.key == OWN]
    return _spliced(text, changes)


def _read(path: str) -> tuple[str, list[Part]]:
    try:
        data = read_file(path)
        if data is None:
            raise FileNotFoundError("there is no such file")
        text = data.decode()
        return text, _entries(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            f"`{path}` cannot be read as a client's file of MCP servers ({error}). Name one such as `.mcp.json`."
        ) from error


def _replace(path: str, before: bytes | None, text: str, mode: int | None = None) -> None:
    try:
        replace_file(path, before, text.encode(), mode)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written ({error.strerror}). Check the folder's permissions.") from error


def _entries(text: str) -> list[Part]:
    """The servers, each with its place in the text."""
    if not isinstance(parse(text.removeprefix("\ufeff")), dict):
        raise ValueError("it is not a JSON object")
    members = [part for part in parts(text, text.index("{")) if part.key in _KEYS]
    _refuse_twice(members)
    for part in members:
        if isinstance(part.value, dict):
            entries = parts(text, part.value_start)
            _refuse_twice(entries)
            return entries
    raise ValueError("it has no `mcpServers`")


def _refuse_twice(entries: list[Part]) -> None:
    """`ValueError` where a name is there twice: clients read one of them, and it could not be put back."""
    for name, count in Counter(entry.key for entry in entries).items():
        if count > 1:
            raise ValueError(f"`{name}` is in it twice; remove one")


def _with_comma(text: str, entry: Part) -> tuple[int, int]:
    """The range of an entry and the comma before it, or the comma after it where it is the first."""
    before = len(text[: entry.start].rstrip()) - 1
    if text[before] == ",":
        return before, entry.stop
    after = text[entry.stop :].lstrip()
    if not after.startswith(","):
        return entry.start, entry.stop
    return entry.start, len(text) - len(after[1:].lstrip())


def _spliced(text: str, changes: list[tuple[int, int, str]]) -> str:
    for start, stop, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[stop:]
    return text
