"""Which tools a gateway offers to which client: an explicit list per client, the same from its first request on.

Every tool that is offered is described in every request of an agent. The list is the user's, in the file of servers:

    "keepwhole": {"allow": {"claude-code": ["git__git_log", "fs__*"], "*": ["git__*"]}}

A client is known by the name that it gives itself; `*` is for all others. A client that no entry names, where there is
no `*`, gets every tool, as it does without a list.

Owns: the list, and the name of a client. Must not know: servers, what a tool is.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from mcp.server.context import ServerRequestContext

EVERYBODY = "*"


class AllowedTools:
    """The tools that each client may see and call, by their names outside; Keepwhole's recall tools are not listed."""

    def __init__(self, patterns: Mapping[str, tuple[str, ...]]) -> None:
        self._patterns = patterns

    def is_allowed(self, ctx: ServerRequestContext[Any, Any], name: str) -> bool:
        """Return whether the client of a request may use a tool."""
        if not self._patterns:
            return True
        patterns = self._patterns.get(client_name(ctx), self._patterns.get(EVERYBODY))
        return patterns is None or any(fnmatchcase(name, pattern) for pattern in patterns)


def client_name(ctx: ServerRequestContext[Any, Any]) -> str:
    """Return what the client of a request calls itself; empty where it does not say."""
    params = ctx.session.client_params
    return params.client_info.name if params is not None else ""
