"""A client's request as it comes in: no larger and no slower than is good for the others.

Owns: how long a client may take, how much it may send, how many there may be at a time.
Must not know: what it asks for.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from keepwhole.apps.proxy.errors import refusal

_log = logging.getLogger("keepwhole.proxy")
HEADERS_WITHIN = 10.0
"""Seconds until the first request of a connection has to be there."""
BODY_WITHIN = 60.0
"""Seconds that a body may pause."""
_WRITE_WITHIN = 60.0
"""Seconds that a client may refuse to read."""
_BUFFERED = 32_768


class TooLarge(Exception):
    """A body over the limit."""


class Late(TimeoutError):
    """A body that does not come."""


class Gone(Exception):
    """A client that left, or does not read what it gets."""


class Connection(RequestHandler):
    """One client. What it sent is in no log and in no answer: a line that is not understood may have its key in it."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what is no HTTP, or to a request that we fail at."""
        if status >= 500:
            _log.error("a request failed: %s", type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        said = "This is no HTTP that is understood here." if status < 500 else "The proxy failed at this request."
        response = refusal(status, said)
        response.force_close()
        return response


class Connections(web.Server):
    """The server, with an eye on clients that connect and say nothing."""

    def __init__(self, handler: Any, most: int, **options: Any) -> None:
        super().__init__(handler, handler_cancellation=True, auto_decompress=False, **options)
        self._most = most
        self._spoke: set[Any] = set()

    def __call__(self) -> RequestHandler:
        """One more client."""
        return Connection(self, loop=asyncio.get_running_loop(), **self._kwargs)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """A client connected."""
        super().connection_made(handler, transport)
        if len(self.connections) > self._most:
            transport.abort()
            return
        asyncio.get_running_loop().call_later(HEADERS_WITHIN, self._close_if_silent, handler, transport)

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """A client left."""
        self._spoke.discard(handler)
        super().connection_lost(handler, exc)

    def spoke(self, handler: Any) -> None:
        """A client sent a whole request's head."""
        self._spoke.add(handler)

    def _close_if_silent(self, handler: Any, transport: asyncio.Transport) -> None:
        if handler not in self._spoke and not transport.is_closing():
            transport.abort()


async def body_of(request: web.BaseRequest, most: int) -> bytes:
    """All of a request's body. `TooLarge` over the limit, `Late` where it does not come."""
    if (request.content_length or 0) > most:
        raise TooLarge
    parts: list[bytes] = []
    size = 0
    async for part in body_pieces(request):
        parts.append(part)
        size += len(part)
        if size > most:
            raise TooLarge
    return b"".join(parts)


async def body_pieces(request: web.BaseRequest) -> AsyncIterator[bytes]:
    """A request's body as it comes; `Late` where it does not."""
    await greet(request)
    while True:
        try:
            async with asyncio.timeout(BODY_WITHIN):
                part = await request.content.readany()
        except TimeoutError as error:
            raise Late from error
        if not part:
            return
        yield part


async def greet(request: web.BaseRequest) -> None:
    """Tell a client that waits for it to go on."""
    if request.headers.get("expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def write(response: web.StreamResponse, request: web.BaseRequest, data: bytes) -> None:
    """Write to a client; `Gone` for one that does not read. Only a full buffer is worth a timer."""
    transport = request.transport
    if transport is None:
        raise Gone
    try:
        if transport.get_write_buffer_size() + len(data) < _BUFFERED:
            await response.write(data)
            return
        async with asyncio.timeout(_WRITE_WITHIN):
            await response.write(data)
    except (TimeoutError, ConnectionError) as error:
        raise Gone from error


def hang_up(request: web.BaseRequest) -> None:
    """Cut a client off, so that it cannot take what it has for all there is."""
    if request.transport is not None:
        request.transport.abort()
