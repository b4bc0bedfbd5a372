"""The proxy: every request that comes in, from its head to its last byte.

Owns: what is ours to answer, what is refused, and which requests are looked at.
Must not know: how a session views, how bytes are relayed.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import aiohttp
from aiohttp import HttpVersion10, web

from keepwhole.apps.proxy.counters import Counters
from keepwhole.apps.proxy.errors import refusal
from keepwhole.apps.proxy.gate import Gate, TurnedAway
from keepwhole.apps.proxy.headers import BYPASS
from keepwhole.apps.proxy.relay import Relay, Unreachable, refused
from keepwhole.apps.proxy.request_reader import Gone, Late, TooLarge, body_of, body_pieces, hang_up
from keepwhole.apps.proxy.tenant_router import Desks
from keepwhole.apps.proxy.turn import Turn
from keepwhole.apps.proxy.upstreams import Upstreams
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import Refusal
from keepwhole.version import VERSION
from keepwhole.wire.dialects import Endpoint, endpoint_of

_TRACE = ("traceparent", "tracestate")


class Setup(NamedTuple):
    """What the settings say; another one takes its place when they are read again."""

    gate: Gate
    upstreams: Upstreams
    desks: Desks


class Proxy:
    """Answers requests until it is told to stop."""

    def __init__(self, setup: Setup, client: aiohttp.ClientSession, told: Sequence[Callable[[Turn], None]]) -> None:
        self.setup = setup
        self._client = client
        self._told = told
        self.counters = Counters()
        self.spoke: Callable[[Any], None] = lambda _: None
        """Told of every connection that sent a request."""
        self._pending: set[asyncio.Future[Any]] = set()
        self._latest: dict[str, asyncio.Future[Any]] = {}
        """What is still to be done last, by its order."""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        self.spoke(request.protocol)
        setup = self.setup
        if request.version < HttpVersion10:
            return refusal(400, "Ask in HTTP/1.1.")
        target = setup.gate.admit(request.raw_path, request.headers)
        if isinstance(target, TurnedAway):
            self.counters.refused(target.status)
            return refusal(target.status, target.message, endpoint_of(request.raw_path.partition("?")[0]))
        own = self._own(request.method, target)
        if own is not None:
            return own
        endpoint = endpoint_of(target.partition("?")[0]) if request.method == "POST" else None
        turn = Turn(endpoint, {name: value for name in _TRACE if (value := request.headers.get(name))})
        with self.counters.open():
            try:
                return await self._relayed(setup, request, target, turn)
            finally:
                turn.end()
                self._later(partial(self._finish, turn, asyncio.get_running_loop()), _order_of(turn))

    async def drain(self) -> None:
        """Wait for what is still to be put on record."""
        while self._pending:
            await asyncio.gather(*self._pending, return_exceptions=True)

    def _own(self, method: str, target: str) -> web.Response | None:
        """An answer of the proxy's own."""
        if method != "GET" or target not in ("/healthz", "/metrics"):
            return None
        if target == "/metrics":
            return web.Response(
                text=self.counters.text() + self.setup.desks.metrics.prometheus(),
                content_type="text/plain",
                charset="utf-8",
            )
        return web.Response(text=json.dumps({"status": "ok", "version": VERSION}), content_type="application/json")

    async def _relayed(self, setup: Setup, request: web.BaseRequest, target: str, turn: Turn) -> web.StreamResponse:
        if "websocket" in request.headers.get("upgrade", "").lower():
            return _refused(turn, 426, "WebSockets are not served here; send the request over HTTP.")
        name, path = setup.upstreams.target(target, request.headers)
        relay = Relay(self._client, request, setup.upstreams.url(name, path), setup.upstreams.way(name), turn)
        try:
            begun, body = await self._begun(setup, request, path, turn.endpoint)
            if isinstance(begun, Refusal):
                turn.outcome = "refused"
                return web.Response(status=begun.status, body=begun.body, content_type="application/json")
            if begun is None:
                return await relay.passed(body)
            turn.exchange = begun
            return await relay.exchanged(begun, self._later)
        except Unreachable as error:
            return refused(error, turn)
        except TooLarge:
            return _refused(turn, 413, "The request is larger than `proxy.max_body`. Raise it, or send less.")
        except Late:
            return _refused(turn, 408, "The request did not come in time. Send it again.")
        except Gone:
            turn.broken = "incomplete"
            hang_up(request)
            return web.Response()  # nobody gets it

    async def _begun(
        self, setup: Setup, request: web.BaseRequest, path: str, endpoint: Endpoint | None
    ) -> tuple[Exchange | Refusal | None, Any]:
        """The exchange that a request begins, and its body; a body that nobody looks at is not waited for."""
        if endpoint is None or setup.desks.settings.mode == "off" or request.headers.get(BYPASS) == "1":
            return None, body_pieces(request) if request.body_exists else None
        body = await body_of(request, setup.desks.settings.proxy.max_body)
        begin = setup.desks.begin
        return await asyncio.to_thread(begin, request.method, path.partition("?")[0], request.headers, body), body

    def _finish(self, turn: Turn, loop: asyncio.AbstractEventLoop) -> None:
        """On a worker thread: learn from an answer, put it on record, then let it be counted and told."""
        try:
            turn.finish()
        finally:
            loop.call_soon_threadsafe(self._tell, turn)

    def _tell(self, turn: Turn) -> None:
        self.counters.add(turn)
        for told in self._told:
            with suppress(OSError, ValueError):  # nobody may read along any more
                told(turn)

    def _later(self, act: Callable[[], None], order: str | None = None) -> None:
        """Do something on a worker thread that nobody waits for; `drain` does. One after another within an `order`."""
        before = self._latest.get(order) if order is not None else None
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(None, act) if before is None else loop.create_task(_after(before, act))
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        if order is not None:
            self._latest[order] = future
            future.add_done_callback(partial(self._is_done, order))

    def _is_done(self, order: str, future: asyncio.Future[Any]) -> None:
        if self._latest.get(order) is future:
            del self._latest[order]


async def _after(before: asyncio.Future[Any], act: Callable[[], None]) -> None:
    await asyncio.wait([before])
    await asyncio.to_thread(act)


def _order_of(turn: Turn) -> str | None:
    """The session: an answer is learned from and put on record after the one before it, which may take longer."""
    exchange = turn.exchange
    return exchange.session if exchange is not None and exchange.has_record else None


def _refused(turn: Turn, status: int, message: str) -> web.Response:
    """A request that the proxy does not take."""
    turn.status, turn.outcome = status, "refused"
    return refusal(status, message, turn.endpoint)
