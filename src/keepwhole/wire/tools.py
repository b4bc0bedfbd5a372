"""A tool's definition in each provider's spelling. The same bytes every time: tools come first in a prompt."""

from typing import Any

from keepwhole.canonical.value import Value
from keepwhole.wire.dialect import Dialect


class ToolSpec(Value):
    """What a model is told of a tool."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments."""


def define(tool: ToolSpec, dialect: Dialect) -> dict[str, Any]:
    """The definition of `tool` in this dialect."""
    about = {"name": tool.name, "description": tool.description}
    if dialect == "anthropic":
        return {**about, "input_schema": tool.parameters}
    if dialect == "mcp":
        return {**about, "inputSchema": tool.parameters}
    if dialect == "openai_responses":
        return {"type": "function", **about, "parameters": tool.parameters}
    return {"type": "function", "function": {**about, "parameters": tool.parameters}}
