"""MCP as a dialect: tools that are listed and called, without a conversation.

Owns: its spelling of a definition, a call and a result. Must not know: MCP's transport (`apps.mcp`).
"""

from typing import final

from keepwhole.canonical.media import MediaBytes
from keepwhole.wire.dialect import ToolDialect
from keepwhole.wire.fields import Json, field_of
from keepwhole.wire.media import IMAGE_TYPES, encoded
from keepwhole.wire.tools import ToolCall, ToolSpec


@final
class McpDialect(ToolDialect):
    """The Model Context Protocol's tools."""

    name = "mcp"
    aliases = ()
    needs_call_id = False
    shown_types = IMAGE_TYPES

    def read_call(self, call: object) -> ToolCall | None:
        """A name and arguments, without a type."""
        name = field_of(call, "name")
        if not isinstance(name, str):
            return None
        return ToolCall(name=name, arguments=field_of(call, "arguments"), call_id=field_of(call, "id"), dialect=self)

    def result_block(
        self, call_id: str | None, content: str, is_error: bool = False, media: MediaBytes | None = None, tool: str = ""
    ) -> Json:
        """The result of `tools/call`; the protocol itself says which call it answers."""
        shown = [] if media is None else [self.media_part(media)]
        return {"content": [{"type": "text", "text": content}, *shown], "isError": is_error}

    def media_part(self, media: MediaBytes) -> Json:
        """Image content, or audio; a document is an embedded resource."""
        kind, data = media.kind, encoded(media.data)
        if kind in ("image", "audio"):
            return {"type": kind, "data": data, "mimeType": media.media_type}
        resource = {"uri": "keepwhole:document", "mimeType": media.media_type, "blob": data}
        return {"type": "resource", "resource": resource}

    def tool_definition(self, tool: ToolSpec) -> Json:
        """The schema is called `inputSchema`."""
        return {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}


MCP = McpDialect()
