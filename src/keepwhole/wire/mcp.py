"""MCP as a dialect: tools that are listed and called, without a conversation.

Owns: its spelling of a definition, a call and a result. Must not know: MCP's transport (`apps.mcp`).
"""

from typing import final

from keepwhole.wire.content import Json, field_of
from keepwhole.wire.dialect import ToolDialect
from keepwhole.wire.tools import ToolCall, ToolSpec


@final
class McpDialect(ToolDialect):
    """The Model Context Protocol's tools."""

    name = "mcp"
    aliases = ()
    needs_call_id = False

    def read_call(self, call: object) -> ToolCall | None:
        """A name and arguments, without a type."""
        name = field_of(call, "name")
        if not isinstance(name, str):
            return None
        return ToolCall(name=name, arguments=field_of(call, "arguments"), call_id=field_of(call, "id"), dialect=self)

    def result_block(self, call_id: str | None, content: str, is_error: bool = False) -> Json:
        """The result of `tools/call`; the protocol itself says which call it answers."""
        return {"content": [{"type": "text", "text": content}], "isError": is_error}

    def tool_definition(self, tool: ToolSpec) -> Json:
        """The schema is called `inputSchema`."""
        return {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}


MCP = McpDialect()
