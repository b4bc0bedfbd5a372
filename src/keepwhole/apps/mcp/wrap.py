"""`wrap` and `unwrap`: put the gateway before the servers in a client's file, and take it away again.

Owns: the client's file and the copy of it beside, which the gateway reads. Every byte outside a wrapped entry stays.
Must not know: MCP.
"""

import json
import os
import shutil
import sys
from typing import Any, NamedTuple, cast

from keepwhole.apps.json_file import Part, parse, parts
from keepwhole.errors import NotFound, UsageError
from keepwhole.store.durable import write_file

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
    """Have each server of a client's file run behind the gateway. Done twice, it is as done once.

    Servers at an address without `headers` are left alone unless `every` says so: the client may log in to them,
    which the gateway does not.
    """
    text, entries = _read(path)
    fresh = [entry for entry in entries if not _is_ours(entry) and _can_wrap(entry.value, every)]
    left = [entry.key for entry in entries if not _is_ours(entry) and not _can_wrap(entry.value, every)]
    if any(entry.key == OWN and not _is_ours(entry) for entry in entries):
        raise UsageError(f"`{path}` has a server called `{OWN}` already. Rename it first.")
    if not fresh:
        return Wrapped(path, [], left)
    beside = _beside(path)
    kept = _restored(text, entries, beside) if os.path.exists(beside) else text
    mode = os.stat(path).st_mode & 0o777
    write_file(beside, [kept.encode()], mode)
    changes = [(entry.value_start, entry.stop, json.dumps(_before(beside, entry.key))) for entry in fresh]
    if not any(entry.key == OWN for entry in entries):
        at = entries[-1].stop
        changes.append((at, at, f', "{OWN}": {json.dumps(_own())}'))
    _replace(path, _spliced(text, changes), mode)
    return Wrapped(path, [entry.key for entry in fresh], left)


def unwrap(path: str) -> Wrapped:
    """Put back every entry as it was; the whole file to the byte, unless it was edited in between."""
    text, entries = _read(path)
    beside, ours = _beside(path), [entry.key for entry in entries if _is_ours(entry)]
    if not os.path.exists(beside):
        if ours:
            raise NotFound(f"`{beside}`, which has the servers as they were, is gone. Put it back and try again.")
        return Wrapped(path, [], [entry.key for entry in entries])
    _replace(path, _restored(text, entries, beside), os.stat(path).st_mode & 0o777)
    os.unlink(beside)
    return Wrapped(path, [name for name in ours if name != OWN], [])


def _beside(path: str) -> str:
    return os.path.realpath(path) + _BESIDE


def _program() -> tuple[str, list[str]]:
    """How a client starts us: by name where that is found, else with this very interpreter."""
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
    """A wrapped file's text with what is ours put back as it was before; the rest is as it now is."""
    before, earlier = _read(beside)
    originals = {entry.key: before[entry.value_start : entry.stop] for entry in earlier}
    ours = [entry for entry in entries if _is_ours(entry)]
    changes = [(entry.value_start, entry.stop, originals[entry.key]) for entry in ours if entry.key in originals]
    changes += [(*_with_comma(text, entry), "") for entry in ours if entry.key == OWN]
    return _spliced(text, changes)


def _read(path: str) -> tuple[str, list[Part]]:
    try:
        with open(path, "rb") as file:
            text = file.read().decode()
        return text, _entries(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"`{path}` cannot be read as a client's file of MCP servers ({error}).") from error


def _replace(path: str, text: str, mode: int) -> None:
    """The new text in place of the old one; a link is followed."""
    write_file(os.path.realpath(path), [text.encode()], mode)


def _entries(text: str) -> list[Part]:
    """The servers, each with its place in the text."""
    if not isinstance(parse(text.removeprefix("\ufeff")), dict):
        raise ValueError("it is no JSON object")
    for part in parts(text, text.index("{")):
        if part.key in _KEYS and isinstance(part.value, dict):
            return parts(text, part.value_start)
    raise ValueError("there are no `mcpServers` in it")


def _with_comma(text: str, entry: Part) -> tuple[int, int]:
    """Where an entry and the comma before it stand, or the comma after it where it is the first."""
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
