"""Which server a name or an address belongs to, and what it is called outside.

One server's names stay as they are. With several, each goes by `server__name`, always: a name that depended on what
other servers have would change while a client uses it.
Must not know: how a server is spoken to.
"""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from keepwhole.apps.mcp.recall_tools import SCHEME
from keepwhole.apps.mcp.upstreams import Upstream
from keepwhole.recall.names import NAMES

_BETWEEN = "__"
_MOST_ADDRESSES = 100_000
"""Addresses whose server is remembered; for any other, every server is asked in order."""
_log = logging.getLogger("keepwhole.mcp")


class Routes(NamedTuple):
    """The servers in the order of the file, and which of them listed an address."""

    upstreams: Sequence[Upstream]
    addresses: dict[str, Upstream]

    def outside(self, upstream: Upstream, name: str) -> str:
        """What a client calls it. The name of a recall tool is a server's only with the server's name before it."""
        if len(self.upstreams) == 1 and name not in NAMES:
            return name
        return f"{upstream.name}{_BETWEEN}{name}"

    def inside(self, name: str) -> tuple[Upstream, str]:
        """The server, and what the server calls it."""
        fitting = [own for own in self.upstreams if name.startswith(own.name + _BETWEEN)]
        best = max(fitting, key=lambda own: len(own.name), default=None)
        bare = name[len(best.name) + len(_BETWEEN) :] if best else name
        if len(self.upstreams) == 1 and bare not in NAMES:
            return self.upstreams[0], name
        if best is None:
            raise MCPError(code=INVALID_PARAMS, message=f"No server here has `{name[:80]}`.")
        return best, bare

    def is_reachable(self, upstream: Upstream, name: str) -> bool:
        """Whether a call of the name outside gets there; `a` with `b__x` and `a__b` with `x` have one name outside."""
        return self.inside(self.outside(upstream, name)) == (upstream, name)

    def claimed(self, upstream: Upstream, key: str, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The items whose address is this server's, by address: of several servers, the first in the file has it."""
        own: dict[str, dict[str, Any]] = {}
        for item in items:
            address = str(item.get(key))
            if address.startswith(SCHEME):
                _log.warning("server %r: addresses that begin with %s are Keepwhole's", upstream.name, SCHEME)
                continue
            holder = self.addresses.get(address)
            if holder is not None and self.upstreams.index(holder) < self.upstreams.index(upstream):
                _log.warning("server %r: %s is %r's already", upstream.name, ascii(address[:80]), holder.name)
                continue
            if holder is not None or len(self.addresses) < _MOST_ADDRESSES:
                self.addresses[address] = upstream
            own.setdefault(address, item)
        return [own[address] for address in sorted(own)]

    def holders(self, uri: str) -> Sequence[Upstream]:
        """The servers to ask for an address: the one that listed it, else all, in order."""
        known = self.addresses.get(uri)
        return self.upstreams if known is None else (known,)


class Cursor(NamedTuple):
    """Where a listing goes on."""

    server: int
    """The server's place in the file."""
    page: int = 0
    """How many pages of this server there were."""
    inner: str | None = None
    """The server's own cursor."""

    def written(self) -> str:
        """The cursor as clients get it."""
        return f"{self.server}:{self.page}:{self.inner}"


def parsed_cursor(cursor: str | None, servers: int) -> Cursor:
    """Where a listing goes on; `MCPError` for a cursor that no gateway wrote."""
    if cursor is None:
        return Cursor(0)
    number, page, rest = (*cursor.split(":", 2), "", "")[:3]
    if not (_is_number(number) and _is_number(page)) or int(number) >= servers:
        raise MCPError(code=INVALID_PARAMS, message="This cursor is unknown here. List from the beginning.")
    return Cursor(int(number), int(page), rest)


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) < 10
