"""The payload of a client's hook, as values.

Owns: the types on which the clients' parsers and the code that runs them agree.
Must not know: any client, files, the record.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

from keepwhole.canonical.message import MediaPart

Json: TypeAlias = dict[str, Any]
Replace: TypeAlias = Callable[[str], Json]
"""Makes the hook's answer that replaces a result by a text, in the shape of its tool's results."""


class ToolReturn(NamedTuple):
    """A tool returned a result."""

    tool: str
    arguments: object
    call_id: str | None
    output: str
    """The result, as far as the hook received it."""
    file: str | None = None
    """The client's own file with the whole result, where the hook received only a part."""
    is_error: bool = False
    exit_code: int | None = None
    agent: str | None = None
    """The sub-agent that called the tool."""
    replace: Replace | None = None
    """None where the client accepts no replacement: then the result is only kept."""
    most: int | None = None
    """Characters above which the client would cut a replacement itself."""
    numbered: bool = False
    """Whether the client numbers the lines, so that only the end may be cut."""
    unchanged: bool = False
    """Whether the client only reported that an earlier result is still valid."""
    reads_back: bool = False
    """Whether the call reads a stored result."""
    media: tuple[MediaPart, ...] = ()
    """Images, documents and other bytes in the result, which the client shows as they are."""


class Boundary(NamedTuple):
    """A conversation begins, goes on or is compacted."""

    event: str
    details: Json
    tell: Replace | None = None
    """Makes the hook's answer that gives the model a text; None where the client accepts none."""


HookPayload: TypeAlias = ToolReturn | Boundary | None


def mapping(value: object) -> Json:
    """`value` where it is an object, else an empty one: what a client sends is not trusted."""
    return cast("Json", value) if isinstance(value, dict) else {}


def text(value: object) -> str | None:
    """`value` where it is a non-empty text, else None."""
    return value if isinstance(value, str) and value else None


class Blocks(NamedTuple):
    """Content blocks of a result: their texts, and the others, which are images, documents and the like."""

    text: str
    others: list[object]
    media: tuple[MediaPart, ...]


def read_blocks(blocks: object) -> Blocks | None:
    """The texts and images of MCP content blocks; None where one of them is neither."""
    if not isinstance(blocks, list):
        return None
    from keepwhole.wire.embedded_media import take_out  # most results have no images

    given = [(block, _text_of(block)) for block in cast("list[object]", blocks)]
    others = [block for block, words in given if words is None]
    if not all(take_out(block).media for block in others):
        return None
    words = "\n".join(words for _, words in given if words is not None)
    return Blocks(words, others, take_out(others).media)


def _text_of(block: object) -> str | None:
    fields: Mapping[str, Any] = mapping(block)
    words = fields.get("text")
    return words if fields.get("type") == "text" and isinstance(words, str) else None


def tool_return(event: Json, output: str, **more: Any) -> ToolReturn:
    """A result from the fields that Claude Code and Codex use."""
    return ToolReturn(
        tool=str(event.get("tool_name", "")),
        arguments=event.get("tool_input"),
        call_id=text(event.get("tool_use_id")),
        output=output,
        agent=text(event.get("agent_id")),
        **more,
    )


def untried_return(event: Json, response: object, **more: Any) -> ToolReturn:
    """A result of a shape for which no replacement is known: kept, its images as bytes and the rest as JSON text."""
    if isinstance(response, str):
        return tool_return(event, response, **more)
    from keepwhole.wire.embedded_media import take_out

    left, media = take_out(response)
    return tool_return(event, json.dumps(left, ensure_ascii=False), media=media, **more)


def boundary(event: Json) -> Boundary | None:
    """The boundary of a PreCompact or SessionStart event of Claude Code and Codex; None for any other event."""
    name = event.get("hook_event_name")
    if name == "PreCompact":
        return Boundary(name, {"trigger": event.get("trigger")})
    if name == "SessionStart":
        source = event.get("source")
        return Boundary(name, {"source": source}, _as_context if source in ("resume", "compact") else None)
    return None


def _as_context(words: str) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": words}}
