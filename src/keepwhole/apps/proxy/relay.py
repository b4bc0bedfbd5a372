"""One request on its way: let in, viewed, sent on, its answer streamed back, and put on record.

Owns: the order of these, what a client gets when a provider fails, and that nothing is sent twice after its first byte.
Must not know: what is hidden and why (`session`), how a provider spells (`wire`).
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from keepwhole.apps.proxy import headers as passing
from keepwhole.apps.proxy.answer import CUT, Held, pieces, unpacked, unpacker
from keepwhole.apps.proxy.errors import error_body, refusal
from keepwhole.apps.proxy.request_reader import Gone, Late, hang_up, write
from keepwhole.apps.proxy.turn import Turn
from keepwhole.exchange.exchange import Exchange
from keepwhole.wire.sse import is_between_events, is_event_stream

Later: TypeAlias = Callable[[Callable[[], None]], None]
"""Does something on another thread that nobody waits for."""
_SETTLE_AFTER = 0.02
"""Seconds after an answer's head that what was sent whole is put on record: first the client gets its first bytes."""
_SKIPPED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that the client library would add by itself."""


class Unreachable(Exception):
    """An upstream did not answer, or answered what must not be passed on."""


class Relay:
    """Sends one request and its further rounds, and the answer back."""

    def __init__(
        self, client: aiohttp.ClientSession, request: web.BaseRequest, url: URL, way: str | None, turn: Turn
    ) -> None:
        """`way` is the network's own proxy on the way to `url`."""
        self._client, self._request, self._url, self._way, self._turn = client, request, url, way, turn
        self._response: web.StreamResponse | None = None

    async def passed(self, body: Any) -> web.StreamResponse:
        """Send a request on as it came, and the answer back as it comes."""
        async with await self._sent(body, is_read=False) as upstream:
            response = await self._begun(upstream, is_changed=False)
            try:
                async for piece in pieces(upstream):
                    await write(response, self._request, piece)
            except CUT as error:
                self._cut(error)
                hang_up(self._request)
                return response
            await response.write_eof()
            return response

    async def exchanged(self, exchange: Exchange, later: Later) -> web.StreamResponse:
        """Send a viewed request, and further rounds of it while calls of ours are answered."""
        while True:
            self._turn.sent(exchange.count)
            self._turn.broken = "incomplete"  # until its answer has come
            try:
                async with await self._sent(exchange.body, is_read=True) as upstream:
                    if exchange.is_unsettled:
                        asyncio.get_running_loop().call_later(_SETTLE_AFTER, later, exchange.settle)
                    done = await self._round(exchange, upstream)
            except Unreachable as error:
                if self._response is None:
                    raise
                await self._end_cut(exchange, b"", True, error)
                return self._response
            self._turn.broken = ""
            if done is not None:
                return done

    async def _round(self, exchange: Exchange, upstream: aiohttp.ClientResponse) -> web.StreamResponse | None:
        if upstream.status != 200 or not exchange.offers:
            return await self._watched(exchange, upstream)
        if is_event_stream(upstream.headers.get("content-type", "")):
            return await self._streamed(exchange, upstream)
        if self._response is not None:
            raise Unreachable(f"{self._url.host} went on with a stream in another form.")
        data = await self._all(upstream)
        self._turn.came(exchange, upstream.status, data, is_stream=False)
        out = await asyncio.to_thread(exchange.whole, data)
        if out is None:
            return None
        response = await self._begun(upstream, is_changed=True)
        await write(response, self._request, out)
        await response.write_eof()
        return response

    async def _watched(self, exchange: Exchange, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
        """Pass an answer on as it comes, and look at it when it has ended."""
        is_stream = is_event_stream(upstream.headers.get("content-type", ""))
        if self._response is not None:  # a later round was refused
            data = await self._all(upstream)
            self._turn.came(exchange, upstream.status, data, is_stream)
            await write(self._response, self._request, exchange.failed(upstream.status, data))
            await self._response.write_eof()
            return self._response
        response = await self._begun(upstream, is_changed=False)
        held = Held(upstream.headers.get("content-encoding", ""))
        try:
            async for piece in pieces(upstream):
                held.add(piece)
                await write(response, self._request, piece)
        except CUT as error:
            self._turn.came(exchange, upstream.status, held.data(), is_stream, is_cut=True)
            await self._end_cut(exchange, held.last, is_stream, error)
            return response
        except (asyncio.CancelledError, Gone):
            self._turn.came(exchange, upstream.status, held.data(), is_stream, is_cut=True)
            raise
        self._turn.came(exchange, upstream.status, held.data(), is_stream)
        await response.write_eof()
        return response

    async def _streamed(self, exchange: Exchange, upstream: aiohttp.ClientResponse) -> web.StreamResponse | None:
        """Pass a stream on without what is ours in it; None where another round follows."""
        response = self._response or await self._begun(upstream, is_changed=True)
        held = Held("")
        last = b""
        try:
            async for piece in unpacked(upstream):
                held.add(piece)
                if out := exchange.feed(piece):
                    last = out[-4:]
                    await write(response, self._request, out)
        except CUT as error:
            self._turn.came(exchange, upstream.status, held.data(), is_stream=True, is_cut=True)
            await self._end_cut(exchange, last, True, error)
            return response
        except (asyncio.CancelledError, Gone):
            self._turn.came(exchange, upstream.status, held.data(), is_stream=True, is_cut=True)
            raise
        self._turn.came(exchange, upstream.status, held.data(), is_stream=True)
        rest = exchange.ended() if exchange.is_unread else await asyncio.to_thread(exchange.ended)
        if rest is None:
            return None
        if rest:
            await write(response, self._request, rest)
        await response.write_eof()
        return response

    async def _end_cut(self, exchange: Exchange, last: bytes, is_stream: bool, error: Exception) -> None:
        """End an answer whose provider was cut off: between two events with the wire's own error, else as abruptly."""
        self._cut(error)
        if self._response is None:
            return
        if is_stream and is_between_events(last):
            said = exchange.failed(502, error_body(502, "The upstream's answer was cut.", self._turn.endpoint))
            await write(self._response, self._request, said)
            await self._response.write_eof()
        else:
            hang_up(self._request)

    def _cut(self, error: Exception) -> None:
        self._turn.broken, self._turn.note = "incomplete", f"the upstream was cut: {type(error).__name__}"

    async def _sent(self, body: Any, is_read: bool) -> aiohttp.ClientResponse:
        headers: CIMultiDict[str] = passing.to_upstream(self._request.headers, is_read)
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
                proxy=self._way,
                skip_auto_headers=_SKIPPED,
            )
        except Late:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unreachable(f"{self._url.host} cannot be reached ({type(error).__name__}).") from error
        if upstream.status in (301, 302, 303, 307, 308):
            upstream.close()
            raise Unreachable(f"{self._url.host} answered with a redirect, and none is followed.")
        self._turn.first_byte(upstream.status)
        return upstream

    async def _begun(self, upstream: aiohttp.ClientResponse, is_changed: bool) -> web.StreamResponse:
        """The head of the answer, sent to the client."""
        is_unpacked = is_changed and unpacker(upstream.headers.get("content-encoding", "")) is not None
        headers = passing.to_client(upstream.headers, is_unpacked, self._turn.said())
        if is_changed:
            headers.popall("content-length", None)
        self._response = response = web.StreamResponse(status=upstream.status, reason=upstream.reason, headers=headers)
        await response.prepare(self._request)
        return response

    async def _all(self, upstream: aiohttp.ClientResponse) -> bytes:
        try:
            return b"".join([piece async for piece in unpacked(upstream)])
        except CUT as error:
            raise Unreachable(f"{self._url.host} was cut off ({type(error).__name__}).") from error


def refused(error: Exception, turn: Turn) -> web.Response:
    """What a client gets where an upstream failed before its first byte."""
    turn.status, turn.broken, turn.note = 502, "refused", str(error)
    return refusal(502, str(error), turn.endpoint)
