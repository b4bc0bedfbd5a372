"""Claude Code: what its hooks send, and the shapes in which its tools' results can be replaced.

Owns: PostToolUse, PostToolUseFailure, PreCompact and SessionStart. A replacement that misses its tool's shape is
dropped by the client without a word, so each shape here was seen to be accepted.
Must not know: the record, what is cut.
"""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from keepwhole.apps.hooks.payload import Heard, Json, Replace, Returned, boundary, mapping, result, text, texts

READER = "Read"
EVENTS = ("PostToolUse", "PostToolUseFailure", "PreCompact", "SessionStart")
_RETURNED = "PostToolUse"
_BASH_MOST, _GREP_MOST, _MCP_MOST = 29_000, 19_000, 39_000
"""A little below the sizes at which the client saves a result to a file and shows a preview instead."""


def hear(event: Json) -> Heard:
    """What a hook's input says; None where it is nothing to us."""
    name = event.get("hook_event_name")
    if name == _RETURNED:
        return _returned(event)
    if name == "PostToolUseFailure":
        return result(event, str(event.get("error", "")), is_error=True)
    return boundary(event)


def _returned(event: Json) -> Returned:
    tool, response = str(event.get("tool_name", "")), event.get("tool_response")
    shape = _mcp if tool.startswith("mcp__") else _SHAPES.get(tool, _other)
    return shape(event, response)


def _with(make: Callable[[str], Any]) -> Replace:
    """The answer whose replacement `make` makes of a text."""
    return lambda words: {"hookSpecificOutput": {"hookEventName": _RETURNED, "updatedToolOutput": make(words)}}


def _bash(event: Json, response: object) -> Returned:
    """The client gives the beginning of a long output, and where all of it is."""
    given = mapping(response)
    output, errors = given.get("stdout"), given.get("stderr")
    if not isinstance(output, str) or not isinstance(errors, str) or given.get("isImage"):
        return _other(event, response)
    rest = {key: value for key, value in given.items() if not key.startswith("persistedOutput")}
    joined = f"{output}\n{errors}" if output and errors else output or errors
    return result(
        event,
        joined,
        file=text(given.get("persistedOutputPath")),
        replace=_with(lambda words: {**rest, "stdout": words, "stderr": ""}),
        most=_BASH_MOST,
    )


def _read(event: Json, response: object) -> Returned:
    given = mapping(response)
    file = mapping(given.get("file"))
    content = file.get("content")
    if given.get("type") == "file_unchanged":
        asked = mapping(event.get("tool_input"))
        first = asked.get("offset") if isinstance(asked.get("offset"), int) else 1
        known = {"filePath": file.get("filePath", ""), "startLine": first}
        return result(event, json.dumps(given), replace=_with(_page(known)), numbered=True, unchanged=True)
    if given.get("type") != "text" or not isinstance(content, str):
        return _other(event, response)
    return result(event, content, replace=_with(_page(file)), numbered=True)


def _page(file: Json) -> Callable[[str], Json]:
    """A text as the tool shows a file; the client puts the numbers before its lines."""

    def page(words: str) -> Json:
        lines = words.count("\n") + 1
        return {"type": "text", "file": {"totalLines": lines, **file, "content": words, "numLines": lines}}

    return page


def _grep(event: Json, response: object) -> Returned:
    given = mapping(response)
    names, content = _names(given), given.get("content")
    if given.get("mode") == "files_with_matches" and names is not None:
        found: Json = {"mode": "content", "numFiles": 0, "filenames": []}
        replace = _with(lambda words: {**found, "content": words})
        return result(event, "\n".join(names), replace=replace, most=_GREP_MOST)
    if not isinstance(content, str):
        return _other(event, response)
    return result(event, content, replace=_with(lambda words: {**given, "content": words}), most=_GREP_MOST)


def _glob(event: Json, response: object) -> Returned:
    given = mapping(response)
    names = _names(given)
    if names is None:
        return _other(event, response)
    replace = _with(lambda words: {**given, "filenames": words.split("\n")})
    return result(event, "\n".join(names), replace=replace)


def _names(given: Json) -> list[str] | None:
    names = given.get("filenames")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):  # pyright: ignore[reportUnknownVariableType]
        return None
    return names  # pyright: ignore[reportUnknownVariableType]


def _mcp(event: Json, response: object) -> Returned:
    if isinstance(response, str):
        return result(event, response, replace=_with(lambda words: words), most=_MCP_MOST)
    words = texts(response)
    if words is None:
        return _other(event, response)
    replace = _with(lambda shown: [{"type": "text", "text": shown}])
    return result(event, "\n".join(words), replace=replace, most=_MCP_MOST)


def _other(event: Json, response: object) -> Returned:
    """A shape that was not tried: kept as it is, never replaced."""
    return result(event, response if isinstance(response, str) else json.dumps(response, ensure_ascii=False))


_Shape: TypeAlias = Callable[[Json, object], Returned]
_SHAPES: dict[str, _Shape] = {"Bash": _bash, "Read": _read, "Grep": _grep, "Glob": _glob}
