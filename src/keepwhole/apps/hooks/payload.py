"""What a client's hook has to say, as values.

Owns: what the files of the clients and the shell that runs them agree on.
Must not know: any client, files, the record.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

Json: TypeAlias = dict[str, Any]
Replace: TypeAlias = Callable[[str], Json]
"""The hook's answer that puts a text in place of a result, in the shape its tool answers in."""


class Returned(NamedTuple):
    """A tool returned something."""

    tool: str
    arguments: object
    call_id: str | None
    output: str
    """What it returned, as far as the hook was given it."""
    file: str | None = None
    """The client's own file that holds all of it, where the hook was given a part."""
    is_error: bool = False
    exit_code: int | None = None
    agent: str | None = None
    """The sub-agent that called."""
    replace: Replace | None = None
    """None where the client takes no other text: then the result is only kept."""
    most: int | None = None
    """Characters above which the client would cut a replacement itself."""
    numbered: bool = False
    """Whether the client numbers the lines, so that only the end may be left out."""
    unchanged: bool = False
    """Whether the client only said that an earlier result still holds."""


class Boundary(NamedTuple):
    """A conversation begins, goes on or is compacted."""

    event: str
    details: Json
    tell: Replace | None = None
    """The hook's answer that tells the model something; None where there is nothing to tell."""


Heard: TypeAlias = Returned | Boundary | None


def mapping(value: object) -> Json:
    """`value` where it is an object, else an empty one: what a client sends is not ours to trust."""
    return cast("Json", value) if isinstance(value, dict) else {}


def text(value: object) -> str | None:
    """`value` where it is text, and not empty."""
    return value if isinstance(value, str) and value else None


def texts(blocks: object) -> list[str] | None:
    """The texts of content blocks as MCP has them; None where there is anything else among them."""
    if not isinstance(blocks, list):
        return None
    found = [_text_of(block) for block in cast("list[object]", blocks)]
    return [one for one in found if one is not None] if None not in found else None


def _text_of(block: object) -> str | None:
    fields: Mapping[str, Any] = mapping(block)
    words = fields.get("text")
    return words if fields.get("type") == "text" and isinstance(words, str) else None


def result(event: Json, output: str, **more: Any) -> Returned:
    """A result as Claude Code and Codex name its fields."""
    return Returned(
        tool=str(event.get("tool_name", "")),
        arguments=event.get("tool_input"),
        call_id=text(event.get("tool_use_id")),
        output=output,
        agent=text(event.get("agent_id")),
        **more,
    )


def boundary(event: Json) -> Boundary | None:
    """What PreCompact and SessionStart of Claude Code and Codex say; None for any other event."""
    name = event.get("hook_event_name")
    if name == "PreCompact":
        return Boundary(name, {"trigger": event.get("trigger")})
    if name == "SessionStart":
        source = event.get("source")
        return Boundary(name, {"source": source}, _telling if source in ("resume", "compact") else None)
    return None


def _telling(words: str) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": words}}
