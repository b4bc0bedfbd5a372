"""The gateway in front of other MCP servers: forwards everything, keeps the results of their tools.

Owns: putting the parts together, and which capabilities the gateway declares.
Must not know: how it is reached (`listener`), what becomes of a result (`results`).
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError

from keepwhole.apps.mcp.allowed_tools import AllowedTools
from keepwhole.apps.mcp.answers import valid_answer
from keepwhole.apps.mcp.calls import Calling, Context
from keepwhole.apps.mcp.clients import Clients
from keepwhole.apps.mcp.offers import Listing
from keepwhole.apps.mcp.pins import Pins
from keepwhole.apps.mcp.recall_tools import Handler, complete
from keepwhole.apps.mcp.routes import Routes
from keepwhole.apps.mcp.servers_file import ServersFile
from keepwhole.apps.mcp.upstreams import Hooks, Upstream
from keepwhole.session import Session
from keepwhole.version import VERSION

START_SECONDS = 10.0
"""How long the gateway waits for its servers before it answers its first client."""
_CACHED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
_ABOUT = "Long results are stored whole and shown in part; each says how to read the rest."


class Gateway:
    """Servers behind one front, over one session of the record."""

    def __init__(
        self,
        session: Session,
        file: ServersFile,
        *,
        recall: bool = True,
        connect: Mapping[str, Callable[[], Any]] | None = None,
    ) -> None:
        self.session, self.clients = session, Clients()
        hooks = Hooks(self.clients.ask, self.clients.tell)
        self.upstreams = [Upstream(spec, hooks, (connect or {}).get(spec.name)) for spec in file.servers]
        self._routes = Routes(self.upstreams, {})
        tools = session.tools("mcp") if recall else []
        pins, allowed = Pins(session.settings.home), AllowedTools(file.allow)
        self._listing = Listing(self._routes, pins, file.pins, allowed, tools)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator["Front"]:
        """Yield the front; servers that answer in time are connected by then."""
        async with anyio.create_task_group() as tasks:
            for upstream in self.upstreams:
                tasks.start_soon(upstream.run)
            with anyio.move_on_after(START_SECONDS):
                async with anyio.create_task_group() as starting:
                    for upstream in self.upstreams:
                        starting.start_soon(_start, upstream)
            yield self._front(Calling(self.session, self._routes, self._listing, self.clients, tasks))
            tasks.cancel_scope.cancel()

    def _front(self, calling: Calling) -> "Front":
        front = Front(
            "keepwhole-gateway",
            version=VERSION,
            instructions=self._instructions(),
            cache_hints={method: CacheHint() for method in _CACHED},
        )
        front.middleware.clear()  # spans that nobody exports cost a call a millisecond of CPU
        listing, page = checked(self._listing.answer), types.PaginatedRequestParams
        front.add_request_handler("tools/list", page, listing)
        front.add_request_handler("tools/call", types.CallToolRequestParams, checked(calling.tool))
        front.add_request_handler("resources/list", page, listing)
        front.add_request_handler("resources/templates/list", page, listing)
        front.add_request_handler("resources/read", types.ReadResourceRequestParams, checked(calling.resource))
        if self._some_have("prompts"):
            front.add_request_handler("prompts/list", page, listing)
            front.add_request_handler("prompts/get", types.GetPromptRequestParams, checked(calling.prompt))
        if self._some_have("completions"):
            front.add_request_handler("completion/complete", types.CompleteRequestParams, checked(calling.completion))
        if self._some_have("logging"):
            front.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        self._add_changes(front, calling)
        return front

    def _add_changes(self, front: "Front", calling: Calling) -> None:
        """Add the handlers of notices about changes, in both directions."""
        listen = ListenHandler(self.clients.bus)

        async def on_listen(ctx: Context, params: types.SubscriptionsListenRequestParams) -> Any:
            for uri in params.notifications.resource_subscriptions or ():
                with suppress(MCPError):  # the server does not report changes
                    await calling.watch(uri, on=True)
            return await listen(ctx, params)

        async def on_subscribe(ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
            await calling.watch(str(params.uri), on=ctx.method == "resources/subscribe")
            return types.EmptyResult()

        async def on_client(ctx: Context, _: Any) -> None:
            self.clients.greet(ctx)
            await self._tell_of_roots(ctx)

        front.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, on_listen)
        front.add_request_handler("resources/subscribe", types.SubscribeRequestParams, on_subscribe)
        front.add_request_handler("resources/unsubscribe", types.SubscribeRequestParams, on_subscribe)
        front.add_notification_handler("notifications/initialized", types.NotificationParams, on_client)
        front.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, on_client)

    async def _tell_of_roots(self, ctx: Context) -> None:
        """Tell servers that roots changed: they asked for them before a client was connected."""
        offered = ctx.session.client_capabilities
        if offered is not None and offered.roots is not None:
            for upstream in self.upstreams:
                await upstream.notify(types.RootsListChangedNotification())

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        for upstream in self.upstreams:
            upstream.log_level = params.level
            if _has(upstream, "logging") and not upstream.is_modern:
                await upstream.send(ctx.method, {"level": params.level})
        return types.EmptyResult()

    def _some_have(self, capability: str) -> bool:
        """Whether a server has this capability, or is not connected and may have it."""
        return any(upstream.client is None or _has(upstream, capability) for upstream in self.upstreams)

    def _instructions(self) -> str:
        said = [(up.name, self._listing.said(up, up.client.instructions)) for up in self.upstreams if up.client]
        several = len(self.upstreams) > 1
        return "\n\n".join([*(f"{name}: {text}" if several else text for name, text in said if text), _ABOUT])


class Front(Server[Any]):
    """The server that clients connect to; it declares that its lists may change, on every transport."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """The options of the server, with changes of lists."""
        every = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(every, experimental_capabilities, extensions)


def checked(handler: Handler) -> Handler:
    """The handler with results made valid for the client's revision, which may be another than the server's."""

    async def answer(ctx: Context, params: Any) -> dict[str, Any]:
        result = valid_answer(ctx.method, ctx.protocol_version, await complete(handler)(ctx, params))
        if result is None:
            words = f"The answer to `{ctx.method}` cannot be expressed in protocol revision {ctx.protocol_version}."
            raise MCPError(code=types.INTERNAL_ERROR, message=words)
        return result

    return answer


async def _start(upstream: Upstream) -> None:
    with suppress(MCPError):
        await upstream.connected()


def _has(upstream: Upstream, capability: str) -> bool:
    return upstream.client is not None and getattr(upstream.client.server_capabilities, capability) is not None
