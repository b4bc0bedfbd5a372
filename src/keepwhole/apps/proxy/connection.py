"""A client's connection: what is read from it, what is written to it, and which headers cross it.

Owns: how long a client may take, how much it may send, how many clients there may be; which headers are forwarded;
the shape of the proxy's own errors in each dialect.
Must not know: what a request asks for, what went wrong.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict, CIMultiDictProxy

from keepwhole.wire.dialects import DEFAULT, Endpoint

_log = logging.getLogger("keepwhole.proxy")
HEADERS_WITHIN = 10.0
"""Seconds after connecting within which the first request must arrive."""
BODY_WITHIN = 60.0
"""Seconds that a client may pause within a body."""
_WRITE_WITHIN = 60.0
"""Seconds that a client may refuse to read."""
_BUFFERED = 32_768
_JOINED_AT_ONCE = 1 << 20
OWN = "x-keepwhole-"
BYPASS = "x-keepwhole-bypass"
BEDROCK = "bedrock"
"""The upstream whose requests may be signed."""
_HOP = frozenset(
    (
        "connection",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_LONE = re.compile("[\udc80-\udcff]")
_OF_BODY = frozenset(("content-encoding", "content-length"))
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    408: "timeout_error",
    413: "request_too_large",
    426: "invalid_request_error",
}


class BodyTooLarge(Exception):
    """A request's body is larger than the limit."""


class BodyTimeout(TimeoutError):
    """A request's body did not arrive in time."""


class ClientGone(Exception):
    """The client left, or does not read its answer."""


class Connection(RequestHandler):
    """One client. No log and no answer quotes what it sent: a line that is not understood may contain its key."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer bytes that are not HTTP, or a request at which the proxy failed."""
        if status >= 500:
            _log.error("a request failed: %s", type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        failed = "The proxy failed on this request. Send it again."
        response = error_response(status, failed if status >= 500 else "This is not a valid HTTP request.")
        response.force_close()
        return response


class Connections(web.Server):
    """The server of all clients; it closes connections on which no request arrives.

    Strangers, who have shown no token yet, are counted apart from clients: when there are too many of either, the
    stranger that has been there longest goes, or the client that came last.
    """

    connection_type = Connection

    def __init__(self, handler: Any, most: int, **options: Any) -> None:
        super().__init__(handler, handler_cancellation=True, auto_decompress=False, **options)
        self._most = most
        self._spoke: set[Any] = set()
        self._strangers: dict[Any, asyncio.Transport] = {}
        self._clients: set[Any] = set()

    def __call__(self) -> RequestHandler:
        """Create the handler of one more client."""
        return self.connection_type(self, loop=asyncio.get_running_loop(), **self._kwargs)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Register a stranger that connected; above the limit, cut the oldest one off."""
        super().connection_made(handler, transport)
        self._strangers[handler] = transport
        if len(self._strangers) > self._most:
            self._strangers.pop(next(iter(self._strangers))).abort()
        asyncio.get_running_loop().call_later(HEADERS_WITHIN, self._close_if_silent, handler, transport)

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """Forget a client that left."""
        self._spoke.discard(handler)
        self._strangers.pop(handler, None)
        self._clients.discard(handler)
        super().connection_lost(handler, exc)

    def note_request(self, handler: Any) -> None:
        """Remember that a client sent the head of a request."""
        self._spoke.add(handler)

    def note_client(self, handler: Any) -> bool:
        """Remember that a request on a connection was let in; False where there are too many clients already."""
        self._strangers.pop(handler, None)
        if handler not in self._clients and len(self._clients) >= self._most:
            return False
        self._clients.add(handler)
        return True

    def _close_if_silent(self, handler: Any, transport: asyncio.Transport) -> None:
        if handler not in self._spoke and not transport.is_closing():
            transport.abort()


async def read_body(request: web.BaseRequest, most: int) -> bytes:
    """Read a request's whole body. `BodyTooLarge` over the limit, `BodyTimeout` where it does not arrive."""
    if (request.content_length or 0) > most:
        raise BodyTooLarge
    parts: list[bytes] = []
    size = 0
    async for part in stream_body(request):
        parts.append(part)
        size += len(part)
        if size > most:
            raise BodyTooLarge
    # A large one is joined on another thread: that takes a while, in which Python lets the event loop run.
    return await asyncio.to_thread(b"".join, parts) if size > _JOINED_AT_ONCE else b"".join(parts)


async def stream_body(request: web.BaseRequest) -> AsyncIterator[bytes]:
    """Yield a request's body as it arrives; `BodyTimeout` where it does not."""
    if request.headers.get("expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    while True:
        try:
            async with asyncio.timeout(BODY_WITHIN):
                part = await request.content.readany()
        except TimeoutError as error:
            raise BodyTimeout from error
        if not part:
            return
        yield part


async def write(response: web.StreamResponse, request: web.BaseRequest, data: bytes) -> None:
    """Write to a client; `ClientGone` where it does not read. Only a full buffer is worth a timer."""
    transport = request.transport
    if transport is None:
        raise ClientGone
    try:
        if transport.get_write_buffer_size() + len(data) < _BUFFERED:
            await response.write(data)
            return
        async with asyncio.timeout(_WRITE_WITHIN):
            await response.write(data)
    except (TimeoutError, ConnectionError) as error:
        raise ClientGone from error


def hang_up(request: web.BaseRequest) -> None:
    """Cut a client off, so that it cannot take an incomplete answer for a complete one."""
    if request.transport is not None:
        request.transport.abort()


def headers_to_upstream(headers: CIMultiDictProxy[str], is_read: bool) -> CIMultiDict[str]:
    """The headers for the provider; where its answer is read here, the provider is asked not to compress it."""
    dropped = _HOP | _named_in_connection(headers) | {"content-length"}
    sent = CIMultiDict(
        (name, _as_latin_1(value))
        for name, value in headers.items()
        if (low := name.lower()) not in dropped and not low.startswith(OWN)
    )
    if is_read and "accept-encoding" in sent:
        sent["accept-encoding"] = "identity"
    return sent


def headers_to_client(headers: CIMultiDictProxy[str], is_changed: bool, own: Mapping[str, str]) -> CIMultiDict[str]:
    """The headers for the client: the provider's, and Keepwhole's `own` figures."""
    dropped = _HOP | _named_in_connection(headers) | (_OF_BODY if is_changed else _HOP)
    sent = CIMultiDict((name, _as_latin_1(value)) for name, value in headers.items() if name.lower() not in dropped)
    sent.update({OWN + name: value for name, value in own.items()})
    return sent


def _named_in_connection(headers: CIMultiDictProxy[str]) -> frozenset[str]:
    """The headers that `Connection` declares to be for one hop only."""
    named = headers.getall("connection", ())
    return frozenset(name.strip().lower() for value in named for name in value.split(","))


def _as_latin_1(value: str) -> str:
    """A header's value with each byte that is not UTF-8 read as Latin-1: written as it is, it would be lost."""
    return value if value.isascii() else _LONE.sub(lambda found: chr(ord(found[0]) - 0xDC00), value)


def error_response(status: int, message: str, endpoint: Endpoint | None = None) -> web.Response:
    """An error of the proxy's own as an answer."""
    headers = {"content-type": "application/json", "x-keepwhole-error": "1"}
    return web.Response(status=status, body=error_body(status, message, endpoint), headers=headers)


def error_body(status: int, message: str, endpoint: Endpoint | None = None) -> bytes:
    """The body of an error in the dialect of the endpoint."""
    kind = _ERROR_TYPES.get(status, "api_error")
    dialect = endpoint.dialect if endpoint is not None else DEFAULT
    body = dialect.error_body(kind, f"keepwhole: {message}")
    # Amazon's clients read a message at the top, in every dialect.
    own = {"message": f"keepwhole: {message}"} if endpoint is not None and endpoint.provider == BEDROCK else {}
    return json.dumps({**body, **own}).encode()
