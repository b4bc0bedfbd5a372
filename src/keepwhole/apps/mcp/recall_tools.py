"""The recall tools and the stored results in MCP's terms; the server and the gateway offer the same.

Owns: the address of an artifact, its template, and the form of answers.
Must not know: sessions of the protocol, transports.
"""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.version import is_version_at_least

from keepwhole.recall.answer import RecallAnswer, read_id
from keepwhole.recall.names import GET_ARTIFACT
from keepwhole.record.kept_result import KeptResult
from keepwhole.session import Session
from keepwhole.wire.mcp import MCP
from keepwhole.wire.media import encoded

SCHEME = "keepwhole://artifact/"
TEMPLATE: dict[str, Any] = {
    "uriTemplate": SCHEME + "{id}{?lines,start_char,length,pattern,path,part}",
    "name": "artifact",
    "description": "A stored tool result, in pages; each ends with the call for the next",
    "mimeType": "text/plain",
}
_LINKS_SINCE = "2025-06-18"


Handler = Callable[[ServerRequestContext[Any, Any], Any], Awaitable[dict[str, Any]]]


def complete(handler: Handler) -> Handler:
    """The handler with results marked as complete, which the newest revision requires; earlier ones drop the mark."""

    async def answer(ctx: ServerRequestContext[Any, Any], params: Any) -> dict[str, Any]:
        return {"resultType": "complete", **await handler(ctx, params)}

    return answer


def text_item(text: str) -> dict[str, Any]:
    """A text as content of a result; halves of characters, which JSON cannot carry, become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return {"type": "text", "text": text}


def link_items(artifact_id: str | None, size: int, version: str) -> list[dict[str, Any]]:
    """The link to a stored result; none where nothing was left out, or the revision knows no links."""
    if artifact_id is None or not is_version_at_least(version, _LINKS_SINCE):
        return []
    address = SCHEME + quote(artifact_id)
    return [
        {"type": "resource_link", "uri": address, "name": artifact_id, "mimeType": "text/plain", "size": size},
    ]


def shown_items(shown: KeptResult, version: str) -> list[dict[str, Any]]:
    """What is shown of a kept result, and the link to all of it."""
    return [text_item(shown.content), *link_items(shown.artifact_id, shown.metadata.original_bytes, version)]


async def recall(session: Session, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a call of one of our recall tools; an image or a sound comes as one."""
    answer: RecallAnswer = await session.acall_tool(name, arguments)
    media = [] if answer.media is None else [_with_address(MCP.media_part(answer.media), read_id(arguments))]
    return {"content": [text_item(answer.content), *media], "isError": answer.is_error}


def _with_address(part: dict[str, Any], id: str) -> dict[str, Any]:
    """A part of a result; one that is an embedded file has the address under which it can be read again."""
    return {**part, "resource": {**part["resource"], "uri": SCHEME + quote(id)}} if "resource" in part else part


async def read_artifact(session: Session, uri: str) -> dict[str, Any]:
    """A page of a stored result, by its address; what follows `?` is what `get_artifact` takes."""
    parts = urlsplit(uri)
    arguments: dict[str, Any] = dict(parse_qsl(parts.query)) | {"id": unquote(parts.path.lstrip("/"))}
    for key in ("start_char", "length", "start_line", "end_line", "from_end", "context"):
        if key in arguments and str(arguments[key]).isdecimal():
            arguments[key] = int(arguments[key])
    answer: RecallAnswer = await session.acall_tool(GET_ARTIFACT, arguments)
    if answer.is_error:
        raise MCPError(code=INVALID_PARAMS, message=answer.content)
    if answer.media is not None:
        return {"contents": [{"uri": uri, "mimeType": answer.media.media_type, "blob": encoded(answer.media.data)}]}
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text_item(answer.content)["text"]}]}
