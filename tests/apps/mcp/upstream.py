"""A server with one tool for every thing a server may do. `python -m tests.apps.mcp.upstream` serves it over stdio."""

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

LINES = "".join(f"{n:05} a line of a long log\n" for n in range(5_000))
PAGES = base64.b64encode(b"%PDF-1.4\n1 0 obj<</Type/Page>>endobj %%EOF").decode()
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Name(BaseModel):
    name: str


def made(name: str = "upstream") -> MCPServer:
    """The server, fresh."""
    server = MCPServer(name, instructions="Ask it anything.")
    for tool in (big, rows, small, fail, picture, files, slow, crash, environment, told, steps, many, who, summary):
        server.tool()(tool)
    for tool in (plain, both):
        server.tool(structured_output=False)(tool)

    @server.tool()
    async def grow(ctx: Context) -> str:  # type: ignore[type-arg]
        "Add a tool."
        server.add_tool(plain, name="grown")
        await ctx.session.send_tool_list_changed()
        await ctx.notify_tools_changed()
        return "grown"

    @server.tool()
    async def touch(ctx: Context) -> str:  # type: ignore[type-arg]
        "Say that a note has changed."
        await ctx.notify_resource_updated("notes://one")
        return "touched"

    @server.prompt()
    def greeting(name: str) -> list[Message]:
        "Greet."
        return [UserMessage(f"Hello {name}")]

    @server.resource("notes://one")
    def note() -> str:
        return "a note"

    @server.resource("notes://by/{name}")
    def note_by(name: str) -> str:
        return f"a note by {name}"

    @server.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
        return types.Completion(values=[f"{argument.value}-done"])

    return server


def big() -> str:
    "A long text."
    return LINES


def plain() -> str:
    "A long text without structure."
    return LINES


def rows(n: int) -> list[dict[str, Any]]:
    "Rows."
    return [{"i": i, "pad": "y" * 50} for i in range(n)]


def summary(n: int) -> types.CallToolResult:
    "A short text about long structured content."
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=f"{n} rows")],
        structured_content={"rows": [{"i": i, "pad": "y" * 50} for i in range(n)]},
    )


def small(a: str = "", nothing: str | None = None) -> str:
    "A short text."
    return f"small {a}"


def fail() -> types.CallToolResult:
    "Fails at length."
    return types.CallToolResult(content=[types.TextContent(type="text", text=LINES)], is_error=True)


def files() -> types.CallToolResult:
    "A file as bytes, one as text, and a link."
    blob = types.BlobResourceContents(uri="notes://a.pdf", mime_type="application/pdf", blob=PAGES)
    return types.CallToolResult(
        content=[
            types.EmbeddedResource(type="resource", resource=blob),
            types.EmbeddedResource(
                type="resource",
                resource=types.TextResourceContents(uri="notes://a", mime_type="text/markdown", text="# a"),
            ),
            types.ResourceLink(type="resource_link", uri="notes://b", name="b", description="another note", size=7),
        ]
    )


def picture() -> types.CallToolResult:
    "A picture, a sound and a file."
    return types.CallToolResult(
        content=[
            types.ImageContent(type="image", data=PIXEL, mime_type="image/png"),
            types.AudioContent(type="audio", data=PIXEL, mime_type="audio/wav"),
            types.EmbeddedResource(
                type="resource", resource=types.TextResourceContents(uri="notes://long", text=LINES)
            ),
        ]
    )


def many(n: int) -> types.CallToolResult:
    "Many short texts."
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"{i} " + "z" * 500) for i in range(n)])


async def slow(seconds: float, mark: str = "") -> str:
    "Takes its time; writes a file when it is cancelled."
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        Path(mark).write_text("cancelled")
        raise
    return "slept"


def crash() -> str:
    "Dies."
    os._exit(3)


def environment() -> str:
    "The names in its environment."
    return " ".join(sorted(os.environ))


async def told(ctx: Context) -> str:  # type: ignore[type-arg]
    "Logs."
    await ctx.session.send_notification(
        types.LoggingMessageNotification(
            params=types.LoggingMessageNotificationParams(level="warning", data="careful")
        ),
        related_request_id=ctx.request_id,
    )
    return "told"


async def steps(ctx: Context) -> str:  # type: ignore[type-arg]
    "Reports progress."
    for n in range(3):
        await ctx.report_progress(n, 3, f"step {n}")
    return "done"


async def both(ctx: Context) -> str | types.InputRequiredResult:  # type: ignore[type-arg]
    "Asks for a name, in the way of the revision it is spoken to in."
    schema = Name.model_json_schema()
    if ctx.session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        answer = await ctx.session.elicit_form("Your name?", schema, related_request_id=ctx.request_id)
        return f"hello {(answer.content or {}).get('name')}"
    if ctx.input_responses is None:
        params = types.ElicitRequestFormParams(message="Your name?", requested_schema=schema)
        return types.InputRequiredResult(input_requests={"name": types.ElicitRequest(params=params)})
    answered: Any = ctx.input_responses["name"]
    return f"hello {answered.content['name']}"


async def who(ctx: Context) -> str:  # type: ignore[type-arg]
    "Asks a model, and for roots."
    roots = await ctx.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
    said = await ctx.session.send_request(
        types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[types.SamplingMessage(role="user", content=types.TextContent(type="text", text="who?"))],
                max_tokens=10,
            )
        ),
        types.CreateMessageResult,
    )
    return f"{said.content.text} in {roots.roots[0].uri}"  # type: ignore[union-attr]


if __name__ == "__main__":
    made().run("stdio")
