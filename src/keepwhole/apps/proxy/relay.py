"""One request on its way: sent to its upstream, its answer streamed back to the client.

Owns: the order of the steps, what a client gets when a provider fails, that nothing is sent twice after its first byte,
and that an answer whose connection is gone is never waited for.
Must not know: what is hidden and why (`conversation`), how a provider spells it (`wire`).
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from keepwhole.apps.proxy.answer_buffer import AnswerBuffer, AnswerTooLarge, Unpacker, Unreadable, can_unpack
from keepwhole.apps.proxy.connection import (
    BodyTimeout,
    ClientGone,
    error_body,
    error_response,
    hang_up,
    headers_to_client,
    headers_to_upstream,
    write,
)
from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.exchange.exchange import Exchange
from keepwhole.wire.event_stream import is_framed
from keepwhole.wire.sse import is_between_events, is_event_stream

Later: TypeAlias = Callable[[Callable[[], None]], None]
"""Runs an action on another thread without waiting for it."""
_SETTLE_AFTER = 0.02
"""Seconds after an answer's head at which the exchange is settled: the client gets its first bytes before that."""
_ADDED_HEADERS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that the HTTP library would add by itself."""
_BROKEN_OFF = (aiohttp.ClientError, TimeoutError, ConnectionError, zlib.error)
"""The exceptions with which an answer breaks off."""


class Unreachable(Exception):
    """An upstream did not answer, or its answer must not be forwarded."""


class Relay:
    """Sends one request and its hidden rounds, and the answer back."""

    def __init__(
        self,
        client: aiohttp.ClientSession,
        request: web.BaseRequest,
        url: URL,
        network_proxy: str | None,
        proxied: ProxiedRequest,
    ) -> None:
        """`network_proxy` is the network's own proxy on the way to `url`."""
        self._client, self._request, self._proxied = client, request, proxied
        self._url, self._network_proxy = url, network_proxy
        self._response: web.StreamResponse | None = None

    async def pass_through(self, body: Any) -> web.StreamResponse:
        """Forward a request and its answer unread."""
        async with await self._send(body, is_read=False) as upstream:
            response = await self._begin_response(upstream, is_changed=False)
            try:
                async for piece in stream_answer(upstream):
                    await write(response, self._request, piece)
            except _BROKEN_OFF as error:
                self._note_broken(error)
                hang_up(self._request)
                return response
            await response.write_eof()
            return response

    async def run_exchange(self, exchange: Exchange, later: Later) -> web.StreamResponse:
        """Send an edited request, and hidden rounds of it while the model calls Keepwhole's own tools."""
        while True:
            self._proxied.note_sent(exchange.count)
            self._proxied.broken = "incomplete"  # until its answer is complete
            try:
                async with await self._send(exchange.body, is_read=True) as upstream:
                    if exchange.is_unsettled:
                        asyncio.get_running_loop().call_later(_SETTLE_AFTER, later, exchange.settle)
                    response = await self._relay_round(exchange, upstream)
            except Unreachable as error:
                if self._response is None:
                    raise
                await self._end_broken(exchange, b"", True, error)
                return self._response
            self._proxied.broken = ""
            if response is not None:
                return response

    async def _relay_round(self, exchange: Exchange, upstream: aiohttp.ClientResponse) -> web.StreamResponse | None:
        if upstream.status != 200 or not exchange.offers:
            return await self._relay_answer(exchange, upstream)
        if _is_stream(upstream):
            return await self._relay_stream(exchange, upstream)
        if self._response is not None:
            raise Unreachable(f"{self._url.host} continued the stream in another format.")
        return await self._relay_whole(exchange, upstream)

    async def _relay_whole(self, exchange: Exchange, upstream: aiohttp.ClientResponse) -> web.StreamResponse | None:
        """Read an answer that comes at once; None where another round follows. One too large goes on as it comes."""
        buffer = AnswerBuffer(upstream.headers.get("content-encoding", ""))
        pieces = stream_answer(upstream)
        if not await self._hold(buffer, pieces):
            return await self._pass_on(exchange, upstream, buffer, pieces)
        try:
            data = await asyncio.to_thread(buffer.unpacked)
        except (AnswerTooLarge, Unreadable):
            return await self._pass_on(exchange, upstream, buffer, pieces)
        self._proxied.note_answer(exchange, upstream.status, lambda: data, is_stream=False)
        out = await asyncio.to_thread(exchange.read_answer, data)
        if out is None:
            return None
        response = await self._begin_response(upstream, is_changed=True)
        await write(response, self._request, out)
        await response.write_eof()
        return response

    async def _hold(self, buffer: AnswerBuffer, pieces: AsyncIterator[bytes]) -> bool:
        """Read an answer to its end; False where it is too large, with the pieces so far still in the buffer."""
        try:
            async for piece in pieces:
                if buffer.would_be_too_large(piece):
                    buffer.pieces.append(piece)
                    return False
                buffer.add(piece)
        except _BROKEN_OFF as error:
            raise Unreachable(f"{self._url.host} was cut off ({type(error).__name__}).") from error
        return True

    async def _pass_on(
        self,
        exchange: Exchange,
        upstream: aiohttp.ClientResponse,
        buffer: AnswerBuffer,
        pieces: AsyncIterator[bytes],
    ) -> web.StreamResponse:
        """Forward an answer unread: what is held of it, then the rest as it comes."""
        self._proxied.note_answer(exchange, upstream.status, bytes, is_stream=False)
        response = await self._begin_response(upstream, is_changed=False)
        try:
            for piece in buffer.pieces:
                await write(response, self._request, piece)
            buffer.pieces.clear()
            async for piece in pieces:
                await write(response, self._request, piece)
        except _BROKEN_OFF as error:
            self._note_broken(error)
            hang_up(self._request)
            return response
        await response.write_eof()
        return response

    async def _relay_answer(self, exchange: Exchange, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
        """Forward an answer unchanged while it arrives, and hold it to be read at its end."""
        is_stream = _is_stream(upstream)
        if self._response is not None:  # a later round was refused
            buffer = AnswerBuffer(upstream.headers.get("content-encoding", ""))
            is_held = await self._hold(buffer, stream_answer(upstream))
            data = await asyncio.to_thread(buffer.data) if is_held else b""
            self._proxied.note_answer(exchange, upstream.status, lambda: data, is_stream)
            await write(self._response, self._request, exchange.error_event(upstream.status, data))
            await self._response.write_eof()
            return self._response
        response = await self._begin_response(upstream, is_changed=False)
        buffer = AnswerBuffer(upstream.headers.get("content-encoding", ""))
        try:
            async for piece in stream_answer(upstream):
                buffer.add(piece)
                await write(response, self._request, piece)
        except _BROKEN_OFF as error:
            self._proxied.note_answer(exchange, upstream.status, buffer.data, is_stream, is_cut=True)
            await self._end_broken(exchange, buffer.last, is_stream, error)
            return response
        except (asyncio.CancelledError, ClientGone):
            self._proxied.note_answer(exchange, upstream.status, buffer.data, is_stream, is_cut=True)
            raise
        self._proxied.note_answer(exchange, upstream.status, buffer.data, is_stream)
        await response.write_eof()
        return response

    async def _relay_stream(self, exchange: Exchange, upstream: aiohttp.ClientResponse) -> web.StreamResponse | None:
        """Forward a stream without Keepwhole's own calls in it; None where another round follows."""
        response = self._response or await self._begin_response(upstream, is_changed=True)
        buffer = AnswerBuffer()
        unpacker = Unpacker(upstream.headers.get("content-encoding", ""))
        last = b""
        try:
            with _watched(upstream):
                async for packed in upstream.content.iter_any():
                    for piece in unpacker.feed(packed):
                        buffer.add(piece)
                        out = self._read_piece(exchange, piece, unpacker.is_too_large)
                        if out:
                            last = out
                            await write(response, self._request, out)
        except _BROKEN_OFF as error:
            self._proxied.note_answer(exchange, upstream.status, buffer.data, is_stream=True, is_cut=True)
            await self._end_broken(exchange, last, True, error)
            return response
        except (asyncio.CancelledError, ClientGone):
            self._proxied.note_answer(exchange, upstream.status, buffer.data, is_stream=True, is_cut=True)
            raise
        self._proxied.note_answer(exchange, upstream.status, buffer.data, is_stream=True)
        rest = exchange.end_stream() if exchange.is_unread else await asyncio.to_thread(exchange.end_stream)
        if rest is None:
            return None
        if rest:
            await write(response, self._request, rest)
        await response.write_eof()
        return response

    @staticmethod
    def _read_piece(exchange: Exchange, piece: bytes, is_too_large: bool) -> bytes:
        """What the client gets of a piece of a stream; a stream that is too large is no longer read."""
        if not is_too_large:
            return exchange.feed_chunk(piece)
        unread = exchange.pass_unread(piece)
        if unread is None:
            raise aiohttp.ClientPayloadError("the stream is too large to be read on")
        return unread

    async def _end_broken(self, exchange: Exchange, last: bytes, is_stream: bool, error: Exception) -> None:
        """End an answer that the provider broke off: between two events with an error of the dialect, else abruptly."""
        self._note_broken(error)
        if self._response is None:
            return
        if is_stream and is_between_events(last):
            body = error_body(502, "The upstream's answer was cut off.", self._proxied.endpoint)
            event = exchange.error_event(502, body)
            await write(self._response, self._request, event)
            await self._response.write_eof()
        else:
            hang_up(self._request)

    def _note_broken(self, error: Exception) -> None:
        self._proxied.broken, self._proxied.note = "incomplete", f"the upstream was cut: {type(error).__name__}"

    async def _send(self, body: Any, is_read: bool) -> aiohttp.ClientResponse:
        headers: CIMultiDict[str] = headers_to_upstream(self._request.headers, is_read)
        length = self._request.headers.get("content-length")
        if not isinstance(body, bytes) and length is not None:
            headers["content-length"] = length
        try:
            upstream = await self._client.request(
                self._request.method,
                self._url,
                data=body if body is None or not isinstance(body, bytes) or body else None,
                headers=headers,
                allow_redirects=False,
                proxy=self._network_proxy,
                skip_auto_headers=_ADDED_HEADERS,
            )
        except BodyTimeout:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unreachable(f"{self._url.host} cannot be reached ({type(error).__name__}).") from error
        if upstream.status in (301, 302, 303, 307, 308):
            upstream.close()
            raise Unreachable(f"{self._url.host} answered with a redirect, and none is followed.")
        self._proxied.note_first_byte(upstream.status, upstream.headers)
        return upstream

    async def _begin_response(self, upstream: aiohttp.ClientResponse, is_changed: bool) -> web.StreamResponse:
        """Send the head of the answer to the client."""
        is_decompressed = is_changed and can_unpack(upstream.headers.get("content-encoding", ""))
        headers = headers_to_client(upstream.headers, is_decompressed, self._proxied.figures())
        if is_changed:
            headers.popall("content-length", None)
        self._response = response = web.StreamResponse(status=upstream.status, reason=upstream.reason, headers=headers)
        await response.prepare(self._request)
        return response


def _is_stream(upstream: aiohttp.ClientResponse) -> bool:
    kind = upstream.headers.get("content-type", "")
    return is_event_stream(kind) or is_framed(kind)


def unreachable_response(error: Unreachable, proxied: ProxiedRequest) -> web.Response:
    """The answer to a client where an upstream failed before its first byte."""
    proxied.status, proxied.broken, proxied.note = 502, "refused", str(error)
    return error_response(502, str(error), proxied.endpoint)


async def stream_answer(upstream: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield an answer as it arrives; one of `_BROKEN_OFF` where it breaks off."""
    with _watched(upstream):
        async for piece in upstream.content.iter_any():
            yield piece


@contextmanager
def _watched(upstream: aiohttp.ClientResponse) -> Generator[None]:
    """Watch the connection of an answer while it is read.

    The HTTP library closes the connection when bytes that are not HTTP arrive in an answer, but does not tell the
    reader of that answer.
    """
    connection = upstream.connection
    closed = getattr(connection.protocol, "closed", None) if connection is not None else None
    fail = partial(_fail_reader, upstream.content)
    if closed is not None:
        closed.add_done_callback(fail)
    elif connection is not None:
        fail(None)
    try:
        yield
    finally:
        if closed is not None:
            closed.remove_done_callback(fail)
            closed.remove_done_callback(_retrieve_exception)  # one is enough for all answers of a connection
            closed.add_done_callback(_retrieve_exception)


def _retrieve_exception(closed: asyncio.Future[None]) -> None:
    """Take the exception of a closed connection that no answer waits for, so that asyncio does not log it."""
    if not closed.cancelled():
        closed.exception()


def _fail_reader(content: aiohttp.StreamReader, closed: asyncio.Future[None] | None) -> None:
    """Raise an error in the reader that still waits for bytes of a closed connection."""
    if closed is not None:
        _retrieve_exception(closed)
    if not content.is_eof() and content.exception() is None:
        content.set_exception(aiohttp.ClientPayloadError("the answer is not HTTP"))
