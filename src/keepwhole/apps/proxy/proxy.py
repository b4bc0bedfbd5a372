"""The proxy: every request from its head to its last byte, and its record afterwards.

Owns: what the proxy answers by itself, what it refuses, and which requests it reads.
Must not know: how a session edits a request, how bytes are relayed.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import aiohttp
from aiohttp import HttpVersion10, web

from keepwhole.apps.listener import ALIVE, HEALTH, READY, Gate, Refusal
from keepwhole.apps.proxy.connection import (
    BEDROCK,
    BYPASS,
    BodyTimeout,
    BodyTooLarge,
    ClientGone,
    error_response,
    hang_up,
    read_body,
    stream_body,
)
from keepwhole.apps.proxy.credentials import credentials_of
from keepwhole.apps.proxy.destination import TenantRouter, UnknownUpstream, Upstreams
from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.apps.proxy.relay import Relay, Unreachable, unreachable_response
from keepwhole.apps.proxy.telemetry import Counters, Reporter
from keepwhole.apps.proxy.turns import Turns
from keepwhole.apps.redaction import redacted
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import OwnAnswer
from keepwhole.store.wait_guard import MustWait
from keepwhole.version import VERSION
from keepwhole.wire.dialects import endpoint_of

_TRACE = ("traceparent", "tracestate")
_SIGNED = "AWS4-HMAC-SHA256"
_SIGNED_MESSAGE = (
    "This request is signed for this host and body, so no proxy can send it on. Use an API key of Bedrock "
    "(`AWS_BEARER_TOKEN_BEDROCK`), or `keepwhole.integrations.bedrock` in the program, which signs after editing."
)
_RECORDING = 4
"""Threads that record answers."""
_HEALTH_WITHIN = 2.0
"""Seconds that the record may take to say how it is."""


class Setup(NamedTuple):
    """The parts that depend on the settings; replaced as a whole when the settings are read again."""

    gate: Gate
    upstreams: Upstreams
    router: TenantRouter


class Proxy:
    """Answers requests until it is stopped."""

    def __init__(self, setup: Setup, client: aiohttp.ClientSession, reporters: Sequence[Reporter]) -> None:
        self.setup = setup
        self._client = client
        self._reporters = reporters
        self.counters = Counters()
        self.is_stopping = False
        """Whether the process only ends what it has begun."""
        self.on_request: Callable[[Any], None] = lambda _: None
        """Called with the connection of every request."""
        self.on_admitted: Callable[[Any], bool] = lambda _: True
        """Called with the connection of every request that is let in; False where there are too many."""
        self._turns = Turns()
        """In which requests are begun on this thread."""
        self._recording = ThreadPoolExecutor(_RECORDING, "recording")
        """Threads of their own, so that no request has to wait until other answers are recorded."""
        self._pending: set[asyncio.Future[Any]] = set()
        self._is_drained = False
        """Whether nobody waits for actions any more."""
        self._latest: dict[str, asyncio.Future[Any]] = {}
        """The last action of each queue that still runs."""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        self.on_request(request.protocol)
        setup = self.setup
        if request.version < HttpVersion10:
            return error_response(400, "Use HTTP/1.1.")
        target = setup.gate.admit(request.raw_path, request.headers)
        if isinstance(target, Refusal):
            self.counters.add_refused(target.status)
            refused = error_response(target.status, target.message, endpoint_of(request.raw_path.partition("?")[0]))
            refused.force_close()
            return refused
        is_probe = target in (ALIVE, HEALTH, READY)
        is_client = not is_probe or not setup.gate.asks_for_token
        if is_client and not self.on_admitted(request.protocol):
            hang_up(request)
            return web.Response()  # nobody reads it
        if is_probe:
            return await self._health(setup) if target == HEALTH else self._probe(setup, target)
        if target == "/metrics" and request.method == "GET":
            return self._metrics()
        endpoint = endpoint_of(target.partition("?")[0]) if request.method == "POST" else None
        trace = {name: value for name in _TRACE if (value := request.headers.get(name))}
        proxied = ProxiedRequest(endpoint, trace, credentials_of(target, request.headers, {}))
        with self.counters.open():
            try:
                return await self._relay(setup, request, target, proxied)
            finally:
                proxied.end()
                self._run_later(partial(self._finish, proxied, asyncio.get_running_loop()), _queue_of(proxied))

    async def drain(self) -> None:
        """Wait until all answers are recorded; one that ends later is recorded at once."""
        while self._pending:
            await asyncio.gather(*self._pending, return_exceptions=True)
        self._is_drained = True

    def _metrics(self) -> web.Response:
        text = self.counters.text() + self.setup.router.metrics.prometheus()
        return web.Response(text=text, content_type="text/plain", charset="utf-8")

    def _probe(self, setup: Setup, target: str) -> web.Response:
        """Whether the process answers; or whether a balancer should send requests here, which it should with a record
        that is away too: they are relayed, and results are sent in full."""
        is_ready = target == ALIVE or not self.is_stopping
        body = json.dumps({"status": "ok" if is_ready else "stopping", "version": VERSION})
        response = web.Response(status=200 if is_ready else 503, text=body, content_type="application/json")
        if setup.gate.asks_for_token:
            response.force_close()  # who asks may be a stranger
        return response

    async def _health(self, setup: Setup) -> web.Response:
        """Whether results can be stored now; 503 with the reason where they cannot, and are sent in full."""
        try:
            async with asyncio.timeout(_HEALTH_WITHIN):
                trouble = await asyncio.to_thread(setup.router.trouble)
        except TimeoutError:
            trouble = "the record does not answer"
        health = {"status": "trouble" if trouble else "ok", "record": "away" if trouble else "ok", "version": VERSION}
        body = json.dumps({**health, **({"reason": redacted(trouble)} if trouble else {})})
        response = web.Response(status=503 if trouble else 200, text=body, content_type="application/json")
        if setup.gate.asks_for_token:
            response.force_close()  # who asks may be a stranger
        return response

    async def _relay(
        self, setup: Setup, request: web.BaseRequest, target: str, proxied: ProxiedRequest
    ) -> web.StreamResponse:
        if "websocket" in request.headers.get("upgrade", "").lower():
            return _refuse(proxied, 426, "WebSockets are not served here; send the request over HTTP.")
        try:
            name, path = setup.upstreams.target(target, request.headers)
        except UnknownUpstream as error:
            return _refuse(proxied, 400, str(error))
        proxied.upstream = name
        relay = Relay(
            self._client, request, setup.upstreams.url(name, path), setup.upstreams.network_proxy(name), proxied
        )
        try:
            if name == BEDROCK and request.headers.get("authorization", "").startswith(_SIGNED):
                return _refuse(proxied, 400, _SIGNED_MESSAGE)
            exchange, body = await self._begin_exchange(setup, request, path, proxied)
            if isinstance(exchange, OwnAnswer):
                proxied.outcome = "refused"
                return web.Response(status=exchange.status, body=exchange.body, content_type="application/json")
            if exchange is None:
                return await relay.pass_through(body)
            proxied.begin(exchange)
            return await relay.run_exchange(exchange, self._run_later)
        except Unreachable as error:
            return unreachable_response(error, proxied)
        except BodyTooLarge:
            return _refuse(proxied, 413, "The request is larger than `proxy.max_body`. Raise it, or send less.")
        except BodyTimeout:
            return _refuse(proxied, 408, "The request did not arrive in time. Send it again.")
        except ClientGone:
            proxied.broken = "incomplete"
            hang_up(request)
            return web.Response()  # the client is gone

    async def _begin_exchange(
        self, setup: Setup, request: web.BaseRequest, path: str, proxied: ProxiedRequest
    ) -> tuple[Exchange | OwnAnswer | None, Any]:
        """Begin the exchange of a request; return it with the body. A body that is not read here is not waited for."""
        if proxied.endpoint is None or setup.router.settings.mode == "off" or request.headers.get(BYPASS) == "1":
            return None, stream_body(request) if request.body_exists else None
        body = await read_body(request, setup.router.settings.proxy.max_body)
        given = request.method, path, request.headers, body

        def begin() -> Exchange | OwnAnswer | None:
            proxied.note_begun()  # on the worker thread: waiting for one is no work of Keepwhole's
            return setup.router.begin(*given)

        async with self._turns.turn():
            with suppress(MustWait):
                proxied.note_begun()
                return setup.router.begin_at_once(*given), body
        return await asyncio.to_thread(begin), body

    def _finish(self, proxied: ProxiedRequest, loop: asyncio.AbstractEventLoop) -> None:
        """Learn from the answers and record them on a worker thread, then report the request on the event loop."""
        try:
            proxied.finish()
        finally:
            loop.call_soon_threadsafe(self._report, proxied)

    def _report(self, proxied: ProxiedRequest) -> None:
        self.counters.add(proxied)
        for report in self._reporters:
            with suppress(OSError, ValueError):  # the reader of a report may be gone
                report(proxied)

    def _run_later(self, act: Callable[[], None], queue: str | None = None) -> None:
        """Run an action on a worker thread; only `drain` waits for it. Actions of one `queue` run one after another."""
        if self._is_drained:
            act()
            return
        before = self._latest.get(queue) if queue is not None else None
        future = asyncio.get_running_loop().create_task(self._run_after(before, act))
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        if queue is not None:
            self._latest[queue] = future
            future.add_done_callback(partial(self._close_queue, queue))

    async def _run_after(self, before: asyncio.Future[Any] | None, act: Callable[[], None]) -> None:
        if before is not None:
            await asyncio.wait([before])
        await self._turns.wait_until_idle()
        await asyncio.get_running_loop().run_in_executor(self._recording, act)

    def _close_queue(self, queue: str, future: asyncio.Future[Any]) -> None:
        if self._latest.get(queue) is future:
            del self._latest[queue]


def _queue_of(proxied: ProxiedRequest) -> str | None:
    """The session: its answers are recorded in their order, although an earlier one may take longer."""
    exchange = proxied.exchange
    return exchange.session if exchange is not None and exchange.has_record else None


def _refuse(proxied: ProxiedRequest, status: int, message: str) -> web.Response:
    """Note that the proxy refuses a request, and return its answer."""
    proxied.status, proxied.outcome = status, "refused"
    return error_response(status, message, proxied.endpoint)
