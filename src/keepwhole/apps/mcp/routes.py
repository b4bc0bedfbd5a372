"""Which server a name or an address belongs to, and what it is called outside.

One server's names stay as they are. With several, each goes by `server__name`, always: a name that depended on what
other servers have would change under a client's feet.
Must not know: how a server is spoken to.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from keepwhole.apps.mcp.upstreams import Upstream
from keepwhole.recall.names import NAMES

_BETWEEN = "__"


class Routes(NamedTuple):
    """The servers in the order of the file, and where addresses were seen."""

    upstreams: Sequence[Upstream]
    addresses: dict[str, Upstream]

    def outside(self, upstream: Upstream, name: str) -> str:
        """What a client calls it. A name of one of our own tools is theirs only with the server's before it."""
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

    def holders(self, uri: str) -> Sequence[Upstream]:
        """The servers to ask for an address: the one that listed it, else all, in order."""
        known = self.addresses.get(uri)
        return self.upstreams if known is None else (known,)


def parsed_cursor(cursor: str | None, servers: int) -> tuple[int, str | None]:
    """Where a listing goes on: the server's place in the file, and the server's own cursor."""
    if cursor is None:
        return 0, None
    number, colon, rest = cursor.partition(":")
    if not colon or not number.isdecimal() or int(number) >= servers:
        raise MCPError(code=INVALID_PARAMS, message="This cursor is not one of ours. List from the beginning.")
    return int(number), rest
