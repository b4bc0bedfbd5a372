"""How a server of the file is reached: a process of our own, or an address with the headers of the file.

Owns: that nothing of our clients' credentials goes there, and noticing that a connection has ended.
Must not know: what is said over it.
"""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from keepwhole.apps.mcp.servers_file import ServerSpec


def transport(spec: ServerSpec) -> AbstractAsyncContextManager[Any]:
    """The streams to a server."""
    if spec.kind == "stdio":
        return stdio_client(
            StdioServerParameters(command=spec.command, args=list(spec.args), env=dict(spec.env), cwd=spec.cwd)
        )
    if spec.kind == "sse":
        return sse_client(spec.url, headers=dict(spec.headers))
    return _over_http(spec)


@asynccontextmanager
async def _over_http(spec: ServerSpec) -> AsyncGenerator[Any]:
    async with (
        create_mcp_http_client(headers=dict(spec.headers)) as client,
        streamable_http_client(spec.url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def watched(inner: AbstractAsyncContextManager[Any], ended: anyio.Event) -> AsyncGenerator[Any]:
    """The same streams; `ended` is set when the server sends no more, as when its process has died."""
    async with inner as (read, write):
        yield _Watched(read, ended), write


class _Watched:
    """A stream that says when it has ended."""

    def __init__(self, inner: Any, ended: anyio.Event) -> None:
        self._inner, self._ended = inner, ended

    @property
    def last_context(self) -> Any:
        """What the inner stream knows of who sent its last message."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        """The next message."""
        try:
            return await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended.set()
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)
