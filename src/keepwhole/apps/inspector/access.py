"""Who may see the page's data: right host, our own page, the token once, then a cookie.

Owns: the order of the checks and what is said to those who are turned away. Loopback is no boundary: pages of other
sites reach it, and so does every other user of the machine.
Must not know: what is asked, sockets.
"""

import hashlib
import hmac
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from keepwhole.apps.listener import Address, is_same

HEADER = "x-keepwhole-inspector"
"""A header that no form and no image can send; a page of another site would have to ask first, and is refused."""


class Rule(Enum):
    """What a route asks for, besides the right host and origin."""

    OPEN = "open"
    """Nothing: it holds no data."""
    ENTER = "enter"
    """Our header: here the token is given."""
    READ = "read"
    """The cookie."""
    CHANGE = "change"
    """The cookie and our header."""


class TurnedAway(NamedTuple):
    """Why a request is not served."""

    status: int
    words: str


class Guard:
    """What one listener lets in."""

    def __init__(self, address: Address, token: str) -> None:
        self._token = token
        self._hosts = address.hosts
        self.cookie = f"keepwhole_inspector_{address.port}"
        """Cookies know no ports, so that two inspectors need two names."""
        self._secret = hmac.new(token.encode(), b"keepwhole inspector cookie", hashlib.sha256).hexdigest()

    def refuses(self, headers: Mapping[str, str]) -> TurnedAway | None:
        """Why a request is not served whatever it asks for: it comes from elsewhere, or means another host."""
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        if host not in self._hosts:
            return TurnedAway(403, "This host is not served here. Open the address that `keepwhole inspect` printed.")
        if origin is not None and origin != f"http://{host}":
            return TurnedAway(403, "Pages of this origin are not served here.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return TurnedAway(403, "Pages of other sites are not served here. Type the address, or copy it.")
        return None

    def admits(self, rule: Rule, headers: Mapping[str, str]) -> TurnedAway | None:
        """Why a route is not served to this request."""
        if rule in (Rule.ENTER, Rule.CHANGE) and headers.get(HEADER) != "1":
            return TurnedAway(403, f"Send the header `{HEADER}: 1`, as the page does.")
        if rule in (Rule.READ, Rule.CHANGE) and not is_same(self._shown(headers), self._secret):
            return TurnedAway(401, "Open the address with its token, as `keepwhole inspect` printed it.")
        return None

    def _shown(self, headers: Mapping[str, str]) -> str:
        """The cookie that a request shows."""
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        return next((value for name, _, value in pairs if name == self.cookie), "")

    def swapped(self, token: object) -> str | None:
        """What a client gets for the token: the cookie's value; None for another token."""
        return self._secret if isinstance(token, str) and is_same(token, self._token) else None
