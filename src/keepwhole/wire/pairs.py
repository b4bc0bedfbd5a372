"""Which calls a message makes and which it answers, in each dialect's spelling.

Owns: finding the ids. Must not know: what is done about them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from keepwhole.canonical.message import Role
from keepwhole.canonical.steps import Ties
from keepwhole.errors import UsageError
from keepwhole.wire.as_dict import fields_of, parts_of
from keepwhole.wire.dialect import dialect_named

Wire: TypeAlias = Mapping[str, Any]
"""A message, an input item or a block as it is sent."""

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""What answers what in OpenAI Responses, where the answer may be plain text."""
ANSWERS = frozenset(OUTPUTS.values())


def _role(message: Wire) -> Role:
    role = message.get("role")
    return _ROLES.get(role, "other") if isinstance(role, str) else "other"


def blocks_of(message: Wire) -> list[Wire]:
    """The content blocks of a message; none where it is plain text."""
    return [fields_of(block) for block in parts_of(message.get("content"))]


def contents(message: Wire) -> list[Any]:
    """The content of a message as blocks, plain text as one of them; a new list of the same blocks."""
    content: Any = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(parts_of(content))


def ties_in_chat(message: Wire) -> Ties:
    """The ties of an OpenAI Chat message."""
    role = _role(message)
    if role == "tool":
        return Ties(role, (), (str(message.get("tool_call_id")),))
    calls = parts_of(message.get("tool_calls"))
    return Ties(role, tuple(str(fields_of(call).get("id")) for call in calls)) if role == "assistant" else Ties(role)


def ties_in_anthropic(message: Wire) -> Ties:
    """The ties of an Anthropic message. What Anthropic's own tools did is none of ours."""
    blocks = blocks_of(message)
    calls = tuple(str(block.get("id")) for block in blocks if block.get("type") == "tool_use")
    results = tuple(str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result")
    return Ties(_role(message), calls, results)


def ties_in_responses(item: Wire) -> Ties:
    """The ties of an OpenAI Responses input item."""
    kind, call_id = item.get("type"), item.get("call_id")
    if isinstance(kind, str) and kind.endswith("_call_output"):
        return Ties("tool", (), (str(call_id or item.get("id")),))
    if isinstance(call_id, str):
        return Ties("assistant", (call_id,))
    return Ties(_role(item))


_TIES: dict[str, Callable[[Wire], Ties]] = {
    "openai_chat": ties_in_chat,
    "openai_responses": ties_in_responses,
    "anthropic": ties_in_anthropic,
}


def ties_in(dialect: str) -> Callable[[Wire], Ties]:
    """How to find the ties of a message in this dialect."""
    name = dialect_named(dialect)
    if name not in _TIES:
        raise UsageError(f"`{name}` has no conversations. Use one of {', '.join(f'`{known}`' for known in _TIES)}.")
    return _TIES[name]


def pending_items(items: Sequence[Wire]) -> set[Any]:
    """The ids of the calls that end a Responses input, with nothing after them: their results are still to come."""
    found: set[Any] = set()
    for item in reversed(items):
        if item.get("type") in ANSWERS or item.get("role") in ("user", "system", "developer"):
            break
        if item.get("type") in OUTPUTS:
            found.add(item.get("call_id"))
    return found
