"""`keepwhole mcp`: the recall tools and `keep` over the local record."""

from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from keepwhole.apps.mcp.recall_tools import SCHEME, TEMPLATE, complete, read_artifact, recall, shown_items, text_item
from keepwhole.canonical.media import MediaBytes
from keepwhole.recall.names import NAMES
from keepwhole.session import Session
from keepwhole.standalone.normalize import normalize
from keepwhole.version import VERSION
from keepwhole.wire.embedded_media import take_out

Context = ServerRequestContext[Any, Any]
KEEP: dict[str, Any] = {
    "name": "keep",
    "description": "Store a text whole; returns what fits of it and how to read the rest",
    "inputSchema": {
        "type": "object",
        "properties": {
            "output": {"type": "string"},
            "tool": {"type": "string", "description": "what it is from"},
            "arguments": {"type": "object"},
        },
        "required": ["output"],
    },
}
_ABOUT = "Tool results that were stored whole. A notice in a shortened result prints the call that reads the rest."
_FOREVER_MS = 86_400_000


def record_server(session: Session) -> Server[Any]:
    """The server of one session; the same tools in the same bytes every time."""
    tools = [*session.tools("mcp"), KEEP]

    async def listing(ctx: Context, _: Any) -> dict[str, Any]:
        every: dict[str, dict[str, Any]] = {
            "tools/list": {"tools": tools},
            "resources/list": {"resources": []},
            "resources/templates/list": {"resourceTemplates": [TEMPLATE]},
        }
        return every[ctx.method]

    async def call(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        arguments = params.arguments or {}
        if params.name == "keep":
            return await _kept(session, arguments, ctx.protocol_version)
        if params.name not in NAMES or session.recall_by != "tools":
            raise MCPError(code=types.INVALID_PARAMS, message=f"There is no tool `{params.name[:80]}` here.")
        return await recall(session, params.name, arguments)

    async def read(_: Context, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        if not str(params.uri).startswith(SCHEME):
            raise MCPError(code=types.INVALID_PARAMS, message=f"Addresses here begin with `{SCHEME}`.")
        return await read_artifact(session, str(params.uri))

    hints = {"tools/list": CacheHint(_FOREVER_MS), "resources/templates/list": CacheHint(_FOREVER_MS)}
    hints |= {"resources/list": CacheHint(), "resources/read": CacheHint()}
    server = Server[Any]("keepwhole", version=VERSION, instructions=_ABOUT, cache_hints=hints)  # type: ignore[arg-type]
    for method in ("tools/list", "resources/list", "resources/templates/list"):
        server.add_request_handler(method, types.PaginatedRequestParams, complete(listing))
    server.add_request_handler("tools/call", types.CallToolRequestParams, complete(call))
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, complete(read))
    return server


async def _kept(session: Session, arguments: dict[str, Any], version: str) -> dict[str, Any]:
    output, media = take_out(arguments.get("output", ""))
    tool, given = str(arguments.get("tool") or "keep"), arguments.get("arguments")
    await session.akeep_media(tool, given, [MediaBytes(part.facts.media_type, part.body()) for part in media])
    shown = await session.akeep(tool, given, normalize(output, mode="canonical"))
    if shown.problem is not None:
        return {"content": [text_item(f"Not stored: {shown.problem}")], "isError": True}
    return {"content": shown_items(shown, version), "isError": False}
