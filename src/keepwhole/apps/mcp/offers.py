"""What the servers behind a gateway offer, as one list in a stable order: the file's, then by name, ours last.

Owns: names outside, pages, pins, and that no output schema is promised which a cut result would break.
Must not know: how anything listed is called.
"""

import logging
from typing import Any, NamedTuple, cast

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from keepwhole.apps.mcp.pins import Pins
from keepwhole.apps.mcp.recall_tools import TEMPLATE
from keepwhole.apps.mcp.routes import Routes, parsed_cursor
from keepwhole.apps.mcp.servers_file import Pinning
from keepwhole.apps.mcp.upstreams import Upstream

CHANGED = "keepwhole/changed"
"""In `_meta` of what differs from what is pinned."""
_PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "arguments")
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


class Listing(NamedTuple):
    """Answers every kind of listing."""

    routes: Routes
    pins: Pins
    pinning: Pinning
    tools: list[dict[str, Any]]
    """Our own."""

    async def answer(self, ctx: ServerRequestContext[Any, Any], _: Any) -> dict[str, Any]:
        """One page: servers without pages of their own together, a server's page as it comes."""
        kind = _KINDS[ctx.method]
        params: Any = ctx.params or {}
        start, cursor = parsed_cursor(params.get("cursor"), len(self.routes.upstreams))
        items: list[dict[str, Any]] = []
        for number in range(start, len(self.routes.upstreams)):
            upstream = self.routes.upstreams[number]
            page = await _page(upstream, kind, cursor)
            cursor = None
            items += self._outside(upstream, kind, page.get(kind.key) or [])
            if page.get("nextCursor") is not None:
                return {kind.key: items, "nextCursor": f"{number}:{page['nextCursor']}"}
        ours = {"tools": self.tools, "resourceTemplates": [TEMPLATE]}
        return {kind.key: [*items, *ours.get(kind.key, [])]}

    def said(self, upstream: Upstream, instructions: str | None) -> str | None:
        """A server's instructions; none where they changed and changes are blocked."""
        if not instructions or not self._changed(upstream, {"instructions": instructions}):
            return instructions
        return None if self.pinning == "block" else instructions

    def _outside(self, upstream: Upstream, kind: _Kind, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if kind.identity != "name":
            self.routes.addresses.update({str(item.get(kind.identity)): upstream for item in found})
            return sorted(found, key=lambda item: str(item.get(kind.identity)))
        said = {f"{kind.one} {item['name']}": {key: item.get(key) for key in _PINNED} for item in found}
        changed = self._changed(upstream, said)
        shown = [self._named(upstream, item, f"{kind.one} {item['name']}" in changed) for item in found]
        shown.sort(key=lambda item: item["name"])
        return [item for item in shown if self.pinning == "warn" or CHANGED not in item.get("_meta", {})]

    def _named(self, upstream: Upstream, item: dict[str, Any], changed: bool) -> dict[str, Any]:
        """The item under its name outside; structured content is dropped where it is too long, so its schema is."""
        kept = {key: value for key, value in item.items() if key != "outputSchema"}
        meta: dict[str, Any] = item.get("_meta") or {}
        marked = {"_meta": {**meta, CHANGED: True}} if changed else {}
        return {**kept, "name": self.routes.outside(upstream, item["name"]), **marked}

    def _changed(self, upstream: Upstream, said: dict[str, Any]) -> set[str]:
        try:
            changed = self.pins.changed(upstream.spec.identity, said)
        except (OSError, ValueError) as error:
            _log.warning("server %r: pins cannot be read or written (%s)", upstream.name, error)
            return set(said) if self.pinning == "block" else set()
        for what in sorted(changed):
            _log.warning(
                "server %r: %s is not described as when it was pinned. Look at it, then run "
                "`keepwhole mcp-gateway accept --server %s`.",
                upstream.name,
                ascii(what[:80]),
                upstream.name,
            )
        return changed


async def _page(upstream: Upstream, kind: _Kind, cursor: str | None) -> dict[str, Any]:
    """A server's page; nothing of a server that is not there or has no such list, so that the others are seen."""
    try:
        client = await upstream.connected()
        if getattr(client.server_capabilities, kind.method.partition("/")[0]) is None:
            return {}
        if kind.key == "tools":
            return await upstream.tools(cursor)
        return await upstream.send(kind.method, cast("dict[str, Any]", {} if cursor is None else {"cursor": cursor}))
    except MCPError as error:
        _log.warning("server %r: no %s (%s)", upstream.name, kind.key, error)
        return {}
