"""The clients of a gateway: which of them have calls at which server, and which get a server's notices.

Owns: that a server's question reaches the client whose call it works on, and no other.
Must not know: tools, results.
"""

from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from keepwhole.apps.mcp.server_requests import Asker, CallEnded, Direct
from keepwhole.apps.mcp.upstreams import Upstream

ROOTS_SECONDS = 10.0
"""How long a server that asks for roots waits for a client that can be asked."""
_MOST = 256
_STDIO = "stdio"


class Clients:
    """The connected clients; in revisions without a handshake only those with a call under way are known."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._connected: OrderedDict[str, ServerRequestContext[Any, Any]] = OrderedDict()
        self._under_way: dict[Upstream, list[tuple[Asker, ServerRequestContext[Any, Any]]]] = {}
        self._changed = anyio.Event()
        self._waiting: dict[Upstream, list[anyio.Event]] = {}

    def greet(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """Remember a client after its handshake."""
        self._connected[who_of(ctx)] = ctx
        while len(self._connected) > _MOST:
            self._connected.popitem(last=False)
        self._note_change()

    @contextmanager
    def calling(self, upstream: Upstream, asker: Asker, ctx: ServerRequestContext[Any, Any]) -> Generator[None]:
        """Send the questions of a server to this client while its call is under way."""
        calls, own = self._under_way.setdefault(upstream, []), (asker, ctx)
        calls.append(own)
        self._note_change()
        try:
            yield
        finally:
            calls.remove(own)
            self._note_change()

    def _note_change(self) -> None:
        """Wake up the questions that wait for a client."""
        self._changed.set()
        self._changed = anyio.Event()

    async def ask(self, upstream: Upstream, request: types.InputRequest) -> Any:
        """Return the answer of the client that a server's question is for, or the error why there is none."""
        try:
            if isinstance(request, types.ListRootsRequest):
                return await self._ask_for_roots(upstream, request)
            return await self._asker(upstream).ask(request)
        except MCPError as error:
            return error.error
        except TimeoutError:
            return types.ErrorData(code=types.REQUEST_TIMEOUT, message="The client gave no answer.")

    async def _ask_for_roots(self, upstream: Upstream, request: types.ListRootsRequest) -> Any:
        """The client's roots; none where it has none, or where no client can be asked in time.

        Servers ask as soon as they are connected, and some never ask again. So the question waits for a client: in
        revisions with a handshake until one is connected, in those without until one has a call at this server.
        """
        answered = anyio.Event()
        try:
            while True:
                try:
                    await self._wait_for_asker(upstream, answered)
                    return await self._asker(upstream).ask(request)
                except CallEnded:
                    continue
                except MCPError:
                    return types.ListRootsResult(roots=[])
        finally:
            answered.set()

    async def _wait_for_asker(self, upstream: Upstream, answered: anyio.Event) -> None:
        """Wait until it is clear which client to ask, but not for long."""
        waiting = self._waiting.setdefault(upstream, [])
        waiting.append(answered)
        try:
            with anyio.move_on_after(ROOTS_SECONDS):
                while len({asker.who for asker in self._askers(upstream)}) != 1:
                    await self._changed.wait()
        finally:
            waiting.remove(answered)

    def waiting_for_roots(self, upstream: Upstream) -> list[anyio.Event]:
        """The questions of a server for roots that wait for a client, each as the event of its answer."""
        return list(self._waiting.get(upstream, ()))

    def _asker(self, upstream: Upstream) -> Asker:
        askers = self._askers(upstream)
        if len({asker.who for asker in askers}) != 1:
            why = "calls of several clients are under way" if askers else "no client is connected that can be asked"
            raise MCPError(code=types.INVALID_REQUEST, message=f"The gateway cannot tell whom to ask: {why}.")
        return askers[-1]

    def _askers(self, upstream: Upstream) -> list[Asker]:
        """The clients that a question of a server may be for."""
        under_way = [asker for asker, _ in self._under_way.get(upstream, ())]
        return under_way or [Direct(ctx, who) for who, ctx in self._connected.items()]

    async def tell(self, upstream: Upstream, message: types.ServerNotification) -> None:
        """Pass on a notice of a server: its log to the client it works for, changes to all clients."""
        if isinstance(message, types.LoggingMessageNotification):
            await self._tell_log(upstream, message)
            return
        event = _event(message)
        if event is not None:
            await self.bus.publish(event)
        if event is not None or isinstance(message, types.ElicitCompleteNotification):
            for ctx in list(self._connected.values()):
                await ctx.session.send_notification(message)

    async def _tell_log(self, upstream: Upstream, message: types.LoggingMessageNotification) -> None:
        calls = self._under_way.get(upstream, ())
        for ctx in [ctx for _, ctx in calls[-1:]] or list(self._connected.values()):
            if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS or LOG_LEVEL_META_KEY in (ctx.meta or {}):
                await ctx.session.send_notification(message, related_request_id=ctx.request_id)


def who_of(ctx: ServerRequestContext[Any, Any]) -> str:
    """Return which client a request is from: its session over HTTP, else the one on standard input.

    Revisions without handshake have no sessions: over HTTP each call is a client of its own.
    """
    if ctx.request is None:
        return _STDIO
    return ctx.request.headers.get("mcp-session-id") or f"call-{id(ctx)}"


def _event(message: types.ServerNotification) -> Any:
    match message:
        case types.ToolListChangedNotification():
            return ToolsListChanged()
        case types.PromptListChangedNotification():
            return PromptsListChanged()
        case types.ResourceListChangedNotification():
            return ResourcesListChanged()
        case types.ResourceUpdatedNotification(params=params):
            return ResourceUpdated(uri=str(params.uri))
        case _:
            return None
