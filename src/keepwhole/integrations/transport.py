"""The pipeline as a transport of httpx2, which the SDKs of OpenAI, Anthropic and Google use. Needs no port.

Owns: requests and responses of httpx2, sync and async. The exchange does everything else.
"""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, cast

from keepwhole.install import install_hint

try:
    import anyio.to_thread
    import httpx2
except ImportError as error:
    raise ImportError(f"The SDKs send with httpx2. Install it with {install_hint('sdk')}.") from error

from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import OwnAnswer, SessionRouter
from keepwhole.wire.event_stream import is_framed
from keepwhole.wire.identity import SESSION_HEADER
from keepwhole.wire.sse import is_event_stream

_CHANGED = ("content-length", "content-encoding", "transfer-encoding")
"""Headers that no longer match a body that was rewritten."""


class Transport(httpx2.BaseTransport):
    """Edits every request of a conversation on its way out, and answers the model's calls of Keepwhole's tools."""

    def __init__(self, inner: httpx2.BaseTransport, router: SessionRouter) -> None:
        self._inner = inner
        self.router = router

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; an answer may take several rounds."""
        exchange = self.router.begin(request.method, request.url.path, request.headers, request.read())
        if not isinstance(exchange, Exchange):
            return (
                _own_response(exchange)
                if exchange
                else self._inner.handle_request(_with_body(request, request.content))
            )
        while True:
            response = self.send(request, exchange)
            if response.status_code != 200:
                return response
            if not exchange.offers:
                return _copy_response(response, _RecordedStream(exchange, response))
            if _is_stream(response):
                return _with_stream(response, _Stream(self, request, exchange, response))
            raw = b"".join(cast("Iterable[bytes]", response.stream))
            response.close()
            data = _decode(response, raw)
            out = exchange.read_answer(data)
            exchange.learn_bill(response.status_code, data, complete=True)
            if out is not None:
                return _return_unchanged(response, raw) if out is data else _with_answer(response, out, exchange)

    def send(self, request: httpx2.Request, exchange: Exchange) -> httpx2.Response:
        """Send one round."""
        return self._inner.handle_request(_with_body(request, exchange.body))

    def close(self) -> None:
        """Close the connections and the sessions."""
        self._inner.close()
        self.router.close()


class AsyncTransport(httpx2.AsyncBaseTransport):
    """The same for event loops; work on the record runs on a worker thread."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, router: SessionRouter) -> None:
        self._inner = inner
        self.router = router

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; an answer may take several rounds."""
        body, begin = await request.aread(), self.router.begin
        exchange = await anyio.to_thread.run_sync(begin, request.method, request.url.path, request.headers, body)
        if not isinstance(exchange, Exchange):
            return (
                _own_response(exchange)
                if exchange
                else await self._inner.handle_async_request(_with_body(request, body))
            )
        while True:
            response = await self.send(request, exchange)
            if response.status_code != 200:
                return response
            if not exchange.offers:
                return _copy_response(response, _AsyncRecordedStream(exchange, response))
            if _is_stream(response):
                return _with_stream(response, _AsyncStream(self, request, exchange, response))
            raw = b"".join([chunk async for chunk in cast("AsyncIterable[bytes]", response.stream)])
            await response.aclose()
            data = _decode(response, raw)
            out = await anyio.to_thread.run_sync(exchange.read_answer, data)
            await anyio.to_thread.run_sync(exchange.learn_bill, response.status_code, data, True)
            if out is not None:
                return _return_unchanged(response, raw) if out is data else _with_answer(response, out, exchange)

    async def send(self, request: httpx2.Request, exchange: Exchange) -> httpx2.Response:
        """Send one round."""
        return await self._inner.handle_async_request(_with_body(request, exchange.body))

    async def aclose(self) -> None:
        """Close the connections and the sessions."""
        await self._inner.aclose()
        await anyio.to_thread.run_sync(self.router.close)


class _AnswerRound:
    """The answer to one round, collected until the exchange learns from it, exactly once however it ends."""

    def __init__(self, exchange: Exchange, response: httpx2.Response) -> None:
        self._exchange, self._response = exchange, response
        self.pieces: list[bytes] = []
        self._is_done = False

    def end(self, complete: bool, is_packed: bool = False) -> None:
        """Finish the round: the answer ended, or the client stopped reading."""
        if not self._is_done:
            self._is_done = True
            raw, self.pieces = b"".join(self.pieces), []
            data = _decode(self._response, raw) if is_packed else raw
            # Some SDKs close a stream after its last event without reading to its end.
            whole = complete or self._exchange.is_whole(data, _is_stream(self._response))
            self._exchange.learn_bill(self._response.status_code, data, whole)


class _RecordedStream(httpx2.SyncByteStream):
    """An answer that is forwarded unchanged, and learned from at its end."""

    def __init__(self, exchange: Exchange, response: httpx2.Response) -> None:
        self._response, self._round = response, _AnswerRound(exchange, response)

    def __iter__(self) -> Iterator[bytes]:
        for chunk in cast("Iterable[bytes]", self._response.stream):
            self._round.pieces.append(chunk)
            yield chunk
        self._round.end(complete=True, is_packed=True)

    def close(self) -> None:
        self._response.close()
        self._round.end(complete=False, is_packed=True)


class _AsyncRecordedStream(httpx2.AsyncByteStream):
    """The same for event loops."""

    def __init__(self, exchange: Exchange, response: httpx2.Response) -> None:
        self._response, self._round = response, _AnswerRound(exchange, response)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in cast("AsyncIterable[bytes]", self._response.stream):
            self._round.pieces.append(chunk)
            yield chunk
        await anyio.to_thread.run_sync(self._round.end, True, True)

    async def aclose(self) -> None:
        await self._response.aclose()
        await anyio.to_thread.run_sync(self._round.end, False, True)


class _Stream(httpx2.SyncByteStream):
    """A streamed answer, round after round."""

    def __init__(
        self, transport: Transport, request: httpx2.Request, exchange: Exchange, response: httpx2.Response
    ) -> None:
        self._transport, self._request, self._exchange, self._response = transport, request, exchange, response
        self._round = _AnswerRound(exchange, response)

    def __iter__(self) -> Iterator[bytes]:
        exchange = self._exchange
        while True:
            for chunk in self._response.iter_bytes():
                self._round.pieces.append(chunk)
                if out := exchange.feed_chunk(chunk):
                    yield out
            self._response.close()
            last = exchange.end_stream()
            if last is not None:
                yield last
                self._round.end(complete=True)
                return
            self._round.end(complete=True)
            self._response = self._transport.send(self._request, exchange)
            self._round = _AnswerRound(exchange, self._response)
            if self._response.status_code != 200:
                yield exchange.error_event(self._response.status_code, self._response.read())
                return

    def close(self) -> None:
        self._response.close()
        self._round.end(complete=False)


class _AsyncStream(httpx2.AsyncByteStream):
    """The same for event loops."""

    def __init__(
        self, transport: AsyncTransport, request: httpx2.Request, exchange: Exchange, response: httpx2.Response
    ) -> None:
        self._transport, self._request, self._exchange, self._response = transport, request, exchange, response
        self._round = _AnswerRound(exchange, response)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        exchange = self._exchange
        while True:
            async for chunk in self._response.aiter_bytes():
                self._round.pieces.append(chunk)
                if out := exchange.feed_chunk(chunk):
                    yield out
            await self._response.aclose()
            last = await anyio.to_thread.run_sync(exchange.end_stream)
            if last is not None:
                yield last
                await anyio.to_thread.run_sync(self._round.end, True)
                return
            await anyio.to_thread.run_sync(self._round.end, True)
            self._response = await self._transport.send(self._request, exchange)
            self._round = _AnswerRound(exchange, self._response)
            if self._response.status_code != 200:
                yield exchange.error_event(self._response.status_code, await self._response.aread())
                return

    async def aclose(self) -> None:
        await self._response.aclose()
        await anyio.to_thread.run_sync(self._round.end, False)


def _with_body(request: httpx2.Request, body: bytes) -> httpx2.Request:
    """The request with another body; the same one where nothing changes."""
    if body == request.content and SESSION_HEADER not in request.headers:
        return request
    left_out = ("content-length", "transfer-encoding", SESSION_HEADER)
    headers = [(key, value) for key, value in request.headers.multi_items() if key.lower() not in left_out]
    return httpx2.Request(request.method, request.url, headers=headers, content=body, extensions=request.extensions)


def _is_stream(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "")
    return is_event_stream(kind) or is_framed(kind)


def _decode(response: httpx2.Response, raw: bytes) -> bytes:
    """The body decompressed; unchanged where that is impossible."""
    if "content-encoding" not in response.headers:
        return raw
    try:
        return httpx2.Response(200, headers=response.headers, content=raw).content
    except httpx2.DecodingError:
        return raw


_new = httpx2.Response


def _return_unchanged(response: httpx2.Response, raw: bytes) -> httpx2.Response:
    """A response that was read, unchanged."""
    return _copy_response(response, httpx2.ByteStream(raw))


def _copy_response(response: httpx2.Response, stream: Any) -> httpx2.Response:
    return _new(response.status_code, headers=response.headers, stream=stream, extensions=response.extensions)


def _with_stream(response: httpx2.Response, stream: Any) -> httpx2.Response:
    return _new(response.status_code, headers=_headers_to_keep(response), stream=stream, extensions=response.extensions)


def _with_answer(response: httpx2.Response, body: bytes, exchange: Exchange) -> httpx2.Response:
    """The last round's response with another body; its headers carry the sums over all rounds."""
    sums = [(f"x-keepwhole-{name.replace('_', '-')}", str(count)) for name, count in exchange.tokens.items()]
    headers = [*_headers_to_keep(response), ("x-keepwhole-rounds", str(exchange.count + 1)), *sums]
    return _new(response.status_code, headers=headers, content=body, extensions=response.extensions)


def _headers_to_keep(response: httpx2.Response) -> list[tuple[str, str]]:
    return [(key, value) for key, value in response.headers.multi_items() if key.lower() not in _CHANGED]


def _own_response(answer: OwnAnswer) -> httpx2.Response:
    return _new(answer.status, headers={"content-type": "application/json"}, content=answer.body)
