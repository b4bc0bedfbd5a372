"""What the servers behind a gateway offer, as one list in a stable order: the file's, then by name, Keepwhole's last.

Owns: names outside, pages, pins, and that no output schema is promised which a cut result would break.
Must not know: how anything listed is called.
"""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from keepwhole.apps.mcp.allowed_tools import AllowedTools, client_name
from keepwhole.apps.mcp.pins import Difference, Pins, pin_key
from keepwhole.apps.mcp.recall_tools import TEMPLATE
from keepwhole.apps.mcp.routes import Cursor, Routes, parsed_cursor
from keepwhole.apps.mcp.servers_file import Pinning
from keepwhole.apps.mcp.upstreams import Upstream

MARKS: dict[Difference, str] = {"changed": "keepwhole/changed", "new": "keepwhole/new"}
"""In `_meta` of what differs from what is pinned."""
CHANGED = MARKS["changed"]
LIST_SECONDS = 30.0
"""How long a page of a list may take; then the server has none."""
MOST_PAGES = 1_000
"""Pages of one list of one server; what follows is not asked for."""
_PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "arguments")
_SENTENCES = {
    "changed": "is described differently than when it was pinned",
    "new": "was not there when the others were pinned",
}
_log = logging.getLogger("keepwhole.mcp")


class _Kind(NamedTuple):
    method: str
    key: str
    one: str
    identity: str


_KINDS = {
    kind.method: kind
    for kind in (
        _Kind("tools/list", "tools", "tool", "name"),
        _Kind("prompts/list", "prompts", "prompt", "name"),
        _Kind("resources/list", "resources", "resource", "uri"),
        _Kind("resources/templates/list", "resourceTemplates", "template", "uriTemplate"),
    )
}


class Listing:
    """Answers every kind of listing."""

    def __init__(
        self, routes: Routes, pins: Pins, pinning: Pinning, allowed: AllowedTools, tools: list[dict[str, Any]]
    ) -> None:
        """`tools` are Keepwhole's own."""
        self._routes, self._pins, self._pinning, self._tools = routes, pins, pinning, tools
        self._allowed = allowed
        self._offered: set[tuple[Upstream, str, str]] = set()

    async def answer(self, ctx: ServerRequestContext[Any, Any], _: Any) -> dict[str, Any]:
        """One page: servers without pages of their own together, a server's page as it comes."""
        kind = _KINDS[ctx.method]
        params: Any = ctx.params or {}
        at = parsed_cursor(params.get("cursor"), len(self._routes.upstreams))
        items: list[dict[str, Any]] = []
        for number in range(at.server, len(self._routes.upstreams)):
            at = at if number == at.server else Cursor(number)
            found, following = await self._page(self._routes.upstreams[number], kind, at)
            items += [item for item in found if kind.key != "tools" or self._allowed.is_allowed(ctx, item["name"])]
            if following is not None:
                return {kind.key: items, "nextCursor": following.written()}
        ours = {"tools": self._tools, "resourceTemplates": [TEMPLATE]}
        return {kind.key: [*items, *ours.get(kind.key, [])]}

    def said(self, upstream: Upstream, instructions: str | None) -> str | None:
        """A server's instructions; none where they changed and changes are blocked."""
        differs = self._compare(upstream, "instructions", {"": instructions or ""}, is_last_page=True)
        return None if differs and self._pinning == "block" else instructions

    def refuse_tool(self, ctx: ServerRequestContext[Any, Any], name: str) -> None:
        """`MCPError` where a tool, by its name outside, is not on the client's list."""
        if not self._allowed.is_allowed(ctx, name):
            client = client_name(ctx)[:80] or "this client"
            words = f"The tool `{name[:80]}` is not offered to {client}: `keepwhole.allow` in the file of servers."
            raise MCPError(code=INVALID_PARAMS, message=words)

    async def refuse_withheld(self, upstream: Upstream, method: str, name: str) -> None:
        """`MCPError` where changes are blocked and this tool or prompt is not offered."""
        kind = _KINDS[method]
        if self._pinning != "block" or (upstream, kind.one, name) in self._offered:
            return
        at: Cursor | None = Cursor(0)
        while at is not None:
            _, at = await self._page(upstream, kind, at)
            if (upstream, kind.one, name) in self._offered:
                return
        raise MCPError(
            code=INVALID_PARAMS,
            message=f"The {kind.one} `{name[:80]}` of the MCP server `{upstream.name}` is not offered: not listed, or "
            f"differs from what is pinned. `keepwhole mcp-gateway accept --server {upstream.name}` accepts it.",
        )

    async def _page(self, upstream: Upstream, kind: _Kind, at: Cursor) -> tuple[list[dict[str, Any]], Cursor | None]:
        """A server's page as it is shown, and where the next one is."""
        page = await _fetched(upstream, kind, at.inner)
        inner: Any = page.get("nextCursor")
        following = Cursor(at.server, at.page + 1, inner) if isinstance(inner, str) else None
        if following is not None and following.page >= MOST_PAGES:
            _log.warning(
                "server %r: more than %s pages of %s; the rest is left out", upstream.name, MOST_PAGES, kind.key
            )
            following = None
        found: list[dict[str, Any]] = page.get(kind.key) or []
        if kind.identity != "name":
            return self._routes.claimed(upstream, kind.identity, found), following
        return self._pinned(upstream, kind, found, following is None), following

    def _pinned(
        self, upstream: Upstream, kind: _Kind, found: list[dict[str, Any]], is_last_page: bool
    ) -> list[dict[str, Any]]:
        """The items under their names outside, marked where they differ from the pins, or left out."""
        by_name: dict[str, list[dict[str, Any]]] = {}
        for item in found:
            if self._routes.is_reachable(upstream, item["name"]):
                by_name.setdefault(item["name"], []).append(item)
            else:
                name = ascii(item["name"][:80])
                _log.warning(
                    "server %r: %s %s has the name of another one, and is left out", upstream.name, kind.one, name
                )
        said = {name: _described(items) for name, items in by_name.items()}
        differs = self._compare(upstream, kind.one, said, is_last_page)
        shown: list[dict[str, Any]] = []
        for name in sorted(by_name):
            if len(by_name[name]) > 1:
                _log.warning("server %r: %s %s is listed twice", upstream.name, kind.one, ascii(name[:80]))
            withheld = name in differs and self._pinning == "block"
            (self._offered.discard if withheld else self._offered.add)((upstream, kind.one, name))
            if not withheld:
                shown.append(self._named(upstream, by_name[name][0], differs.get(name)))
        return sorted(shown, key=lambda item: item["name"])

    def _named(self, upstream: Upstream, item: dict[str, Any], difference: Difference | None) -> dict[str, Any]:
        """The item under its name outside; structured content is dropped where it is too long, so its schema is."""
        kept = {key: value for key, value in item.items() if key != "outputSchema"}
        said: dict[str, Any] = kept.pop("_meta", None) or {}
        meta = {key: value for key, value in said.items() if key not in MARKS.values()}
        if difference is not None:
            meta[MARKS[difference]] = True
        return {**kept, "name": self._routes.outside(upstream, item["name"]), **({"_meta": meta} if meta else {})}

    def _compare(
        self, upstream: Upstream, kind: str, said: dict[str, Any], is_last_page: bool
    ) -> dict[str, Difference]:
        try:
            differs = self._pins.compare(upstream.spec.identity, kind, said, is_last_page)
        except (OSError, ValueError, RecursionError) as error:
            _log.warning("server %r: pins cannot be read or written (%s)", upstream.name, error)
            return dict.fromkeys(said, "changed") if self._pinning == "block" else {}
        for name, difference in sorted(differs.items()):
            _log.warning(
                "server %r: %s %s. Look at it, then run `keepwhole mcp-gateway accept --server %s`.",
                upstream.name,
                ascii(pin_key(kind, name)[:80]),
                _SENTENCES[difference],
                upstream.name,
            )
        return differs


def _described(items: Sequence[dict[str, Any]]) -> Any:
    """What is pinned of a name: all that is said of it, by every item that has it."""
    whole = [{**dict.fromkeys(_PINNED), **item} for item in items]
    return whole[0] if all(one == whole[0] for one in whole) else whole


async def _fetched(upstream: Upstream, kind: _Kind, cursor: str | None) -> dict[str, Any]:
    """A server's page; nothing of a server that is not there or has no such list, so that the others are seen."""
    try:
        with anyio.fail_after(LIST_SECONDS):
            client = await upstream.connected()
            if getattr(client.server_capabilities, kind.method.partition("/")[0]) is None:
                return {}
            if kind.key == "tools":
                return await upstream.tools(cursor)
            params = cast("dict[str, Any]", {} if cursor is None else {"cursor": cursor})
            return await upstream.send(kind.method, params)
    except Exception as error:  # whatever one server answers, the others are listed
        _log.warning("server %r: no %s (%s)", upstream.name, kind.key, str(error)[:300] or type(error).__name__)
        return {}
