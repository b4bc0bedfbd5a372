"""Claude Code: what its hooks send, and the shapes in which its tools' results can be replaced.

Owns: PostToolUse, PostToolUseFailure, PreCompact and SessionStart. A replacement that misses its tool's shape is
dropped silently by the client, so each shape here was tested to be accepted.
Must not know: the record, what is cut.
"""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from keepwhole.apps.hooks.payload import (
    HookPayload,
    Json,
    Replace,
    ToolReturn,
    boundary,
    mapping,
    read_blocks,
    text,
    tool_return,
    untried_return,
)

EVENTS = ("PostToolUse", "PostToolUseFailure", "PreCompact", "SessionStart")
_RETURNED = "PostToolUse"
_BASH_MOST, _GREP_MOST, _MCP_MOST = 29_000, 19_000, 39_000
"""A little below the sizes at which the client saves a result to a file and shows a preview instead."""


def parse(event: Json) -> HookPayload:
    """Parse a hook's input; None for an event that is not handled."""
    name = event.get("hook_event_name")
    if name == _RETURNED:
        return _returned(event)
    if name == "PostToolUseFailure":
        return tool_return(event, str(event.get("error", "")), is_error=True)
    return boundary(event)


def _returned(event: Json) -> ToolReturn:
    tool, response = str(event.get("tool_name", "")), event.get("tool_response")
    shape = _mcp if tool.startswith("mcp__") else _SHAPES.get(tool, untried_return)
    return shape(event, response)


def _with(make: Callable[[str], Any]) -> Replace:
    """A function from a text to the answer whose replacement `make` builds."""
    return lambda words: {"hookSpecificOutput": {"hookEventName": _RETURNED, "updatedToolOutput": make(words)}}


def _bash(event: Json, response: object) -> ToolReturn:
    """Of a long output the client gives the beginning, and the path of the whole."""
    given = mapping(response)
    output, errors = given.get("stdout"), given.get("stderr")
    if not isinstance(output, str) or not isinstance(errors, str):
        return untried_return(event, response)
    if given.get("isImage"):
        from keepwhole.wire.embedded_media import read_data_url  # most results have no images

        image = read_data_url(output)
        return untried_return(event, response) if image is None else tool_return(event, errors, media=(image,))
    rest = {key: value for key, value in given.items() if not key.startswith("persistedOutput")}
    joined = f"{output}\n{errors}" if output and errors else output or errors
    return tool_return(
        event,
        joined,
        file=text(given.get("persistedOutputPath")),
        replace=_with(lambda words: {**rest, "stdout": words, "stderr": ""}),
        most=_BASH_MOST,
    )


def _read(event: Json, response: object) -> ToolReturn:
    given = mapping(response)
    file = mapping(given.get("file"))
    content = file.get("content")
    if given.get("type") == "file_unchanged":
        asked = mapping(event.get("tool_input"))
        first = asked.get("offset") if isinstance(asked.get("offset"), int) else 1
        known = {"filePath": file.get("filePath", ""), "startLine": first}
        return tool_return(event, json.dumps(given), replace=_with(_page(known)), numbered=True, unchanged=True)
    if given.get("type") != "text" or not isinstance(content, str):
        return _read_media(event, given)
    return tool_return(event, content, replace=_with(_page(file)), numbered=True)


def _read_media(event: Json, given: Json) -> ToolReturn:
    """An image, or pages: of these the model sees nothing else. Of a notebook it sees the cells too."""
    from keepwhole.wire.embedded_media import take_out

    media = take_out(given).media if given.get("type") in ("image", "pdf", "parts") else ()
    return tool_return(event, "", media=media) if media else untried_return(event, given)


def _page(file: Json) -> Callable[[str], Json]:
    """A function from a text to a page of a file; the client adds the line numbers."""

    def page(words: str) -> Json:
        lines = words.count("\n") + 1
        return {"type": "text", "file": {"totalLines": lines, **file, "content": words, "numLines": lines}}

    return page


def _grep(event: Json, response: object) -> ToolReturn:
    given = mapping(response)
    names, content = _names(given), given.get("content")
    if given.get("mode") == "files_with_matches" and names is not None:
        found: Json = {"mode": "content", "numFiles": 0, "filenames": []}
        replace = _with(lambda words: {**found, "content": words})
        return tool_return(event, "\n".join(names), replace=replace, most=_GREP_MOST)
    if not isinstance(content, str):
        return untried_return(event, response)
    return tool_return(event, content, replace=_with(lambda words: {**given, "content": words}), most=_GREP_MOST)


def _glob(event: Json, response: object) -> ToolReturn:
    given = mapping(response)
    names = _names(given)
    if names is None:
        return untried_return(event, response)
    replace = _with(lambda words: {**given, "filenames": words.split("\n")})
    return tool_return(event, "\n".join(names), replace=replace)


def _names(given: Json) -> list[str] | None:
    names = given.get("filenames")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):  # pyright: ignore[reportUnknownVariableType]
        return None
    return names  # pyright: ignore[reportUnknownVariableType]


def _mcp(event: Json, response: object) -> ToolReturn:
    if isinstance(response, str):
        return tool_return(event, response, replace=_with(lambda words: words), most=_MCP_MOST)
    blocks = read_blocks(response)
    if blocks is None:
        return untried_return(event, response)
    replace = _with(lambda shown: [{"type": "text", "text": shown}, *blocks.others])
    return tool_return(event, blocks.text, replace=replace, most=_MCP_MOST, media=blocks.media)


_Shape: TypeAlias = Callable[[Json, object], ToolReturn]
_SHAPES: dict[str, _Shape] = {"Bash": _bash, "Read": _read, "Grep": _grep, "Glob": _glob}
