"""The clients of a gateway: which of them have calls at which server, and which get a server's notices.

Owns: that a server's question reaches the client whose call it works on, and no other.
Must not know: tools, results.
"""

from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from keepwhole.apps.mcp.server_requests import Asker, Direct
from keepwhole.apps.mcp.upstreams import Upstream

_MOST = 256
_STDIO = "stdio"


class Clients:
    """The connected clients; in revisions without a handshake only those with a call under way are known."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._connected: OrderedDict[str, ServerRequestContext[Any, Any]] = OrderedDict()
        self._under_way: dict[Upstream, list[tuple[Asker, ServerRequestContext[Any, Any]]]] = {}

    def greet(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """Remember a client after its handshake."""
        self._connected[who_of(ctx)] = ctx
        while len(self._connected) > _MOST:
            self._connected.popitem(last=False)

    @contextmanager
    def calling(self, upstream: Upstream, asker: Asker, ctx: ServerRequestContext[Any, Any]) -> Generator[None]:
        """Send the questions of a server to this client while its call is under way."""
        calls, own = self._under_way.setdefault(upstream, []), (asker, ctx)
        calls.append(own)
        try:
            yield
        finally:
            calls.remove(own)

    async def ask(self, upstream: Upstream, request: types.InputRequest) -> Any:
        """Return the answer of the client that a server's question is for, or the error why there is none.

        Where no client has roots, the list is empty: servers ask before a client is connected, and ask again later.
        """
        try:
            return await self._asker(upstream).ask(request)
        except MCPError as error:
            return types.ListRootsResult(roots=[]) if isinstance(request, types.ListRootsRequest) else error.error
        except TimeoutError:
            return types.ErrorData(code=types.REQUEST_TIMEOUT, message="The client gave no answer.")

    def _asker(self, upstream: Upstream) -> Asker:
        askers = [asker for asker, _ in self._under_way.get(upstream, ())]
        if not askers:
            askers = [Direct(ctx, who) for who, ctx in self._connected.items()]
        if len({asker.who for asker in askers}) != 1:
            why = "calls of several clients are under way" if askers else "no client is connected that can be asked"
            raise MCPError(code=types.INVALID_REQUEST, message=f"The gateway cannot tell whom to ask: {why}.")
        return askers[-1]

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
