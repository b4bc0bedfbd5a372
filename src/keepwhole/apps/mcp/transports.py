"""How a server of the file is reached: as a process of the gateway's own, or at an address with the file's headers.

Owns: that no credential of a client goes there.
Must not know: what is said over it.
"""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from keepwhole.apps.mcp.line_reader import LONGEST_LINE
from keepwhole.apps.mcp.servers_file import ServerSpec
from keepwhole.apps.mcp.stdio_server import run_server


def transport(spec: ServerSpec) -> AbstractAsyncContextManager[Any]:
    """The streams to a server."""
    if spec.kind == "stdio":
        return run_server(spec)
    if spec.kind == "sse":
        return sse_client(spec.url, headers=dict(spec.headers))
    return _over_http(spec)


@asynccontextmanager
async def _over_http(spec: ServerSpec) -> AsyncGenerator[Any]:
    async with (
        create_mcp_http_client(headers=dict(spec.headers)) as client,
        streamable_http_client(spec.url, http_client=client, max_sse_event_size=LONGEST_LINE) as streams,
    ):
        yield streams
