"""Calls through a gateway: to the server that has the tool, prompt or resource, and back within budget.

Owns: which parts of a request are passed on, and what happens to a result before the client gets it.
Must not know: connections, how lists are made.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import anyio.abc
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from keepwhole.apps.mcp.clients import ROOTS_SECONDS, Clients, who_of
from keepwhole.apps.mcp.offers import Listing
from keepwhole.apps.mcp.questions import signed_result
from keepwhole.apps.mcp.recall_tools import SCHEME, read_artifact, recall, text_item
from keepwhole.apps.mcp.results import Kept
from keepwhole.apps.mcp.routes import Routes
from keepwhole.apps.mcp.server_requests import Direct, Parked, driven
from keepwhole.apps.mcp.upstreams import Lost, Upstream
from keepwhole.recall.names import NAMES, is_recall
from keepwhole.session import Session

_ENVELOPE = "io.modelcontextprotocol/"
_OURS_IN_META = ("progressToken",)
_MOST_PARKED = 256
_log = logging.getLogger("keepwhole.mcp")
Context = ServerRequestContext[Any, Any]


class Calling:
    """Answers every kind of call."""

    def __init__(
        self, session: Session, routes: Routes, listing: Listing, clients: Clients, tasks: anyio.abc.TaskGroup
    ) -> None:
        self._session, self._routes, self._listing = session, routes, listing
        self._clients, self._tasks = clients, tasks
        self._parked: dict[str, Parked] = {}

    async def tool(self, ctx: Context, _: Any) -> dict[str, Any]:
        """`tools/call`: a recall tool, or a server's tool, whose result is kept."""
        params = passed_on(ctx.params)
        name = str(params["name"])
        arguments: dict[str, Any] = params.get("arguments") or {}
        if name in NAMES:
            return await recall(self._session, name, arguments)
        self._listing.refuse_tool(ctx, name)
        upstream, params["name"] = self._routes.inside(name)
        await self._listing.refuse_withheld(upstream, "tools/list", params["name"])
        try:
            result = await self._through(ctx, upstream, params, again=False)
        except Lost as error:
            return {"content": [text_item(error.message)], "isError": True}
        if result.get("resultType", "complete") != "complete" or is_recall(name):
            return result
        try:
            return await Kept(self._session, name, arguments, ctx.protocol_version).within_budget(result)
        except Exception:  # a result that is not in the record is passed on whole, whatever the reason
            _log.exception("a result of %r could not be kept; it is passed on in full", upstream.name)
            return result

    async def prompt(self, ctx: Context, _: Any) -> dict[str, Any]:
        """`prompts/get`."""
        params = passed_on(ctx.params)
        upstream, params["name"] = self._routes.inside(str(params["name"]))
        await self._listing.refuse_withheld(upstream, "prompts/list", params["name"])
        return await self._through(ctx, upstream, params)

    async def resource(self, ctx: Context, _: Any) -> dict[str, Any]:
        """`resources/read`: a stored result in pages, or a server's resource as it is."""
        params = passed_on(ctx.params)
        uri = str(params["uri"])
        if uri.startswith(SCHEME):
            return await read_artifact(self._session, uri)
        return await self._first(uri, lambda upstream: self._through(ctx, upstream, params))

    async def completion(self, ctx: Context, _: Any) -> dict[str, Any]:
        """`completion/complete`, for a prompt or a resource template."""
        params = passed_on(ctx.params)
        ref: dict[str, Any] = dict(params["ref"])
        if "name" in ref:
            upstream, ref["name"] = self._routes.inside(str(ref["name"]))
            return await upstream.send(ctx.method, {**params, "ref": ref})
        return await self._first(str(ref.get("uri")), lambda upstream: upstream.send(ctx.method, params))

    async def watch(self, uri: str, on: bool) -> None:
        """Start or stop watching a resource for changes; stored results never change."""
        if not uri.startswith(SCHEME):
            await self._first(uri, lambda upstream: upstream.watch(uri, on))

    async def _first(self, uri: str, ask: Callable[[Upstream], Awaitable[Any]]) -> Any:
        """The answer of the first server that has this address."""
        error = MCPError(code=INVALID_PARAMS, message=f"No server here has `{uri[:200]}`.")
        for upstream in self._routes.holders(uri):
            try:
                return await ask(upstream)
            except MCPError as refused:
                error = refused
        raise error

    async def _through(self, ctx: Context, upstream: Upstream, params: dict[str, Any], again: bool = True) -> Any:
        """Return a server's answer; questions are translated where client and server speak different revisions."""
        await upstream.connected()
        asked = "progressToken" in ((ctx.params or {}).get("_meta") or {})
        progress = ctx.session.report_progress if asked else None

        async def send(given: dict[str, Any]) -> dict[str, Any]:
            return signed_result(await upstream.send(ctx.method, given, progress, again), upstream.name)

        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if modern and not upstream.is_modern:
            return await self._parking(ctx, upstream, params, partial(send, _without_input(params)))
        asker = Direct(ctx, who_of(ctx))
        with self._clients.calling(upstream, asker, ctx):
            result = await send(params)
            return result if modern else await driven(result, asker, lambda more: send({**params, **more}))

    async def _parking(
        self, ctx: Context, upstream: Upstream, params: dict[str, Any], send: Callable[[], Awaitable[Any]]
    ) -> dict[str, Any]:
        parked = self._parked.pop(str(params.get("requestState")), None)
        if parked is None:
            parked = Parked(who_of(ctx), ctx)
            self._tasks.start_soon(parked.work, partial(_send_after, self._clients.waiting_for_roots(upstream), send))
        else:
            parked.answer(params.get("inputResponses") or {})
        with self._clients.calling(upstream, parked, ctx):
            try:
                result = await parked.turn()
            except anyio.get_cancelled_exc_class():
                parked.scope.cancel()
                raise
        if result.get("resultType") == "input_required":
            self._parked[parked.state] = parked
            if len(self._parked) > _MOST_PARKED:
                self._parked.pop(next(iter(self._parked))).scope.cancel()
        return result


async def _send_after(questions: Sequence[anyio.Event], send: Callable[[], Awaitable[Any]]) -> Any:
    """Send a call once the client has answered what the server asked before it, but do not wait for long."""
    with anyio.move_on_after(ROOTS_SECONDS):
        for answered in questions:
            await answered.wait()
    return await send()


def passed_on(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameters that a server gets: all but those between the client and the gateway."""
    passed = dict(params or {})
    meta: Mapping[str, Any] = passed.pop("_meta", None) or {}
    kept = {key: value for key, value in meta.items() if key == LOG_LEVEL_META_KEY or not _is_ours(key)}
    return {**passed, "_meta": kept} if kept else passed


def _is_ours(key: str) -> bool:
    return key in _OURS_IN_META or key.startswith(_ENVELOPE)


def _without_input(params: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key not in ("inputResponses", "requestState")}
