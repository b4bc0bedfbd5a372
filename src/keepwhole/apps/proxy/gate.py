"""Who may speak to the proxy: right host, no page of another origin, the token.

Owns: the order of the checks and what is said to those who are turned away. The token goes into the address, because
an agent's own headers carry its provider's key: `http://127.0.0.1:8787/kw-…/v1`.
Must not know: what is asked.
"""

from collections.abc import Mapping
from typing import NamedTuple

from keepwhole.apps.listener import Address, is_same

PREFIX = "kw-"
TOKEN_HEADER = "x-keepwhole-token"
_OPEN = ("/healthz",)


class TurnedAway(NamedTuple):
    """An answer of the gate's own."""

    status: int
    message: str


class Gate:
    """What one listener lets in."""

    def __init__(self, address: Address, token: str | None, hosts: tuple[str, ...] = ()) -> None:
        self._token = token
        self._hosts = address.hosts | frozenset(hosts) if address.is_loopback or hosts else None
        self._origins = frozenset(f"{scheme}://{host}" for host in self._hosts or () for scheme in ("http", "https"))

    def admit(self, target: str, headers: Mapping[str, str]) -> str | TurnedAway:
        """The path and query that are asked for, without the token; or why they are not served."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if not target.startswith("/"):
            return TurnedAway(400, "Ask for a path: this is no proxy for other hosts.")
        if self._hosts is not None and host.lower() not in self._hosts:
            return TurnedAway(403, "This host is not served here. If it should be, add it to `proxy.hosts`.")
        if origin is not None and origin not in self._origins:
            return TurnedAway(403, "Pages of this origin are not served here.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return TurnedAway(403, "Pages of other sites are not served here.")
        return self._without_token(target, headers.get(TOKEN_HEADER))

    def _without_token(self, target: str, given: str | None) -> str | TurnedAway:
        first, slash, rest = target[1:].partition("/")
        if first.startswith(PREFIX):
            given, target = first[len(PREFIX) :], slash + rest or "/"
        if self._token is None or target in _OPEN or is_same(given or "", self._token):
            return target
        return TurnedAway(
            401,
            "The proxy's token is missing or wrong. It belongs into the base URL, as `keepwhole proxy` prints it, or "
            f"into the header `{TOKEN_HEADER}`.",
        )
