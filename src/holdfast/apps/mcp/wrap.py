"""`wrap` and `unwrap`: put the gateway before the servers in a client's file, and take it away again.

Owns: the client's file and the copy of it beside, which the gateway reads. Every byte outside a wrapped entry stays.
Must not know: MCP.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from holdfast.apps.mcp.replaced import replace_file
from holdfast.errors import NotFound, UsageError

OWN = "holdfast"
"""The entry that offers the recall tools once for all wrapped servers."""
_BESIDE = ".before-holdfast"
_SPACE = re.compile(r"[ \t\n\r]*")
_KEYS = ("mcpServers", "servers")
_decoder = json.JSONDecoder()


class Wrapped(NamedTuple):
    """What was done."""

    path: str
    wrapped: list[str]
    left: list[str]


class _Entry(NamedTuple):
    name: str
    start: int
    stop: int
    value: Any


def wrap(path: str, every: bool = False) -> Wrapped:
    """Have each server of a client's file run behind the gateway. Done twice, it is as done once.

    Servers at an address without `headers` are left alone unless `every` says so: the client may log in to them,
    which the gateway does not.
    """
    text, entries = _read(path)
    fresh = [entry for entry in entries if not _is_ours(entry) and _can_wrap(entry.value, every)]
    left = [entry.name for entry in entries if not _is_ours(entry) and not _can_wrap(entry.value, every)]
    if any(entry.name == OWN and not _is_ours(entry) for entry in entries):
        raise UsageError(f"`{path}` has a server called `{OWN}` already. Rename it first.")
    if not fresh:
        return Wrapped(path, [], left)
    beside = _beside(path)
    kept = _restored(text, entries, beside) if os.path.exists(beside) else text
    mode = os.stat(path).st_mode & 0o777
    replace_file(beside, kept.encode(), mode)
    changes = [(entry.start, entry.stop, json.dumps(_before(beside, entry.name))) for entry in fresh]
    if not any(entry.name == OWN for entry in entries):
        at = entries[-1].stop
        changes.append((at, at, f', "{OWN}": {json.dumps(_own())}'))
    replace_file(path, _spliced(text, changes).encode(), mode)
    return Wrapped(path, [entry.name for entry in fresh], left)


def unwrap(path: str) -> Wrapped:
    """Put back every entry as it was; the whole file to the byte, unless it was edited in between."""
    text, entries = _read(path)
    beside, ours = _beside(path), [entry.name for entry in entries if _is_ours(entry)]
    if not os.path.exists(beside):
        if ours:
            raise NotFound(f"`{beside}`, which has the servers as they were, is gone. Put it back and try again.")
        return Wrapped(path, [], [entry.name for entry in entries])
    replace_file(path, _restored(text, entries, beside).encode(), os.stat(path).st_mode & 0o777)
    os.unlink(beside)
    return Wrapped(path, [name for name in ours if name != OWN], [])


def _beside(path: str) -> str:
    return os.path.realpath(path) + _BESIDE


def _program() -> tuple[str, list[str]]:
    """How a client starts us: by name where that is found, else with this very interpreter."""
    found = shutil.which("holdfast")
    return ("holdfast", []) if found else (sys.executable, ["-m", "holdfast"])


def _before(beside: str, name: str) -> dict[str, Any]:
    command, first = _program()
    args = [*first, "mcp-gateway", "--config", beside, "--server", name, "--inherit-env", "--without-recall"]
    return {"type": "stdio", "command": command, "args": args}


def _own() -> dict[str, Any]:
    command, first = _program()
    return {"type": "stdio", "command": command, "args": [*first, "mcp"]}


def _is_ours(entry: _Entry) -> bool:
    value: Any = entry.value
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    args = fields.get("args")
    words = cast("list[Any]", args) if isinstance(args, list) else []
    return ("mcp-gateway" in words and "--server" in words) or (entry.name == OWN and words[-1:] == ["mcp"])


def _can_wrap(value: Any, every: bool) -> bool:
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, Any]", value)
    return "command" in fields or ("url" in fields and (every or bool(fields.get("headers"))))


def _restored(text: str, entries: list[_Entry], beside: str) -> str:
    """A wrapped file's text with what is ours put back as it was before; the rest is as it now is."""
    before, earlier = _read(beside)
    originals = {entry.name: before[entry.start : entry.stop] for entry in earlier}
    ours = [entry for entry in entries if _is_ours(entry)]
    changes = [(entry.start, entry.stop, originals[entry.name]) for entry in ours if entry.name in originals]
    changes += [(*_with_comma(text, entry), "") for entry in ours if entry.name == OWN]
    return _spliced(text, changes)


def _read(path: str) -> tuple[str, list[_Entry]]:
    try:
        with open(path, "rb") as file:
            text = file.read().decode()
        json.loads(text.removeprefix("\ufeff"))
        return text, list(_entries(text))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"`{path}` cannot be read as a client's file of MCP servers ({error}).") from error


def _entries(text: str) -> Iterator[_Entry]:
    """The servers with the places of their values in the text."""
    for key, start, _ in _members(text, 1 if text.startswith("\ufeff") else 0):
        if key in _KEYS and text[start] == "{":
            for name, at, stop in _members(text, start):
                yield _Entry(name, at, stop, json.loads(text[at:stop]))
            return
    raise ValueError("there are no `mcpServers` in it")


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """The keys of the object at `start`, each with where its value begins and ends."""
    at = _skip(text, start)
    if text[at] != "{":
        raise ValueError("it is no JSON object")
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _decoder.raw_decode(text, at)
        begin = _skip(text, _skip(text, at) + 1)
        _, end = _decoder.raw_decode(text, begin)
        yield key, begin, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _with_comma(text: str, entry: _Entry) -> tuple[int, int]:
    """Where an entry and the comma before it stand, or the comma after it where it is the first."""
    key = text.rindex(json.dumps(entry.name), 0, entry.start)
    before = len(text[:key].rstrip()) - 1
    if text[before] == ",":
        return before, entry.stop
    after = _skip(text, entry.stop)
    return key, _skip(text, after + 1) if text[after] == "," else entry.stop


def _spliced(text: str, changes: list[tuple[int, int, str]]) -> str:
    for start, stop, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[stop:]
    return text
