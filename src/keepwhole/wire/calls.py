"""A tool call in any provider's spelling, and the result block that answers it.

Owns: reading a call from a dict or an SDK object, and writing a result for it.
Must not know: what the tool does.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError
from keepwhole.wire.dialect import Dialect


class Call(Value):
    """One call of a tool by a model."""

    name: str
    arguments: str | Mapping[str, Any] | None
    """As the provider spelled them: JSON text, or an object."""
    call_id: str | None
    dialect: Dialect

    def parsed(self) -> dict[str, Any]:
        """The arguments as an object; `UsageError` if the model wrote something else."""
        if self.arguments is None or self.arguments == "":
            return {}
        try:
            value = json.loads(self.arguments) if isinstance(self.arguments, str) else self.arguments
        except ValueError:
            value = None
        if not isinstance(value, Mapping):
            message = f"The arguments of `{self.name}` are not a JSON object. Send them as one."
            raise UsageError(message, message)
        return dict(cast("Mapping[str, Any]", value))


def parse_call(call: object) -> Call:
    """The call in any dialect's spelling, as a dict or as the SDK's object."""
    function = _get(call, "function")
    if isinstance(_get(function, "name"), str):
        return Call(
            name=_get(function, "name"),
            arguments=_get(function, "arguments"),
            call_id=_get(call, "id"),
            dialect="openai_chat",
        )
    kind, name = _get(call, "type"), _get(call, "name")
    if not isinstance(name, str):
        raise UsageError(
            "This is not a tool call in a known spelling. Give the provider's call object, or use "
            "`keep(tool, arguments, output)`."
        )
    if kind == "tool_use":
        return Call(name=name, arguments=_get(call, "input"), call_id=_get(call, "id"), dialect="anthropic")
    if kind == "function_call":
        return Call(
            name=name,
            arguments=_get(call, "arguments"),
            call_id=_get(call, "call_id"),
            dialect="openai_responses",
        )
    return Call(name=name, arguments=_get(call, "arguments"), call_id=_get(call, "id"), dialect="mcp")


def result_block(dialect: Dialect, call_id: str | None, content: str, is_error: bool = False) -> dict[str, Any]:
    """The message or block that gives `content` back to the model in this dialect."""
    if dialect == "anthropic":
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return {**block, "is_error": True} if is_error else block
    if dialect == "openai_responses":
        return {"type": "function_call_output", "call_id": call_id, "output": content}
    if dialect == "openai_chat":
        return {"role": "tool", "tool_call_id": call_id, "content": content}
    return {"content": [{"type": "text", "text": content}], "isError": is_error}


def _get(value: object, key: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(key)
    return getattr(value, key, None)
