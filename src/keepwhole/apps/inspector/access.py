"""Who may see the page's data: the right host, the inspector's own page, the token once, then a cookie.

Owns: the order of the checks and the words of a refusal. A loopback address is no protection: pages of other sites
reach it, and so does every other user of the machine.
Must not know: what a request asks for, sockets.
"""

import hashlib
import hmac
from collections.abc import Mapping
from enum import Enum

from keepwhole.apps.listener import Address, Refusal, is_same

HEADER = "x-keepwhole-inspector"
"""A header that no form and no image can send; a page of another site would need permission, which it never gets."""


class Rule(Enum):
    """What a route requires besides the right host and origin."""

    OPEN = "open"
    """Nothing: the route serves no data of the record."""
    ENTER = "enter"
    """The header: this route exchanges the token for the cookie."""
    READ = "read"
    """The cookie."""
    CHANGE = "change"
    """The cookie and the header."""


class PageGuard:
    """Checks the origin and the cookie of each request to one listener."""

    def __init__(self, address: Address, token: str) -> None:
        self._token = token
        self._hosts = address.hosts
        self.cookie = f"keepwhole_inspector_{address.port}"
        """Cookies do not distinguish ports, so two inspectors need two names."""
        self._secret = hmac.new(token.encode(), b"keepwhole inspector cookie", hashlib.sha256).hexdigest()

    def refusal_by_origin(self, headers: Mapping[str, str]) -> Refusal | None:
        """Why a request is refused for its host or its origin; None where it is not."""
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        if host not in self._hosts:
            return Refusal(403, "This host is not served here. Open the address that `keepwhole inspect` printed.")
        if origin is not None and origin != f"http://{host}":
            return Refusal(403, "Pages of this origin are not served here.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return Refusal(403, "Pages of other sites are not served here. Type the address, or copy it.")
        return None

    def refusal_by_rule(self, rule: Rule, headers: Mapping[str, str]) -> Refusal | None:
        """Why a route is not served to this request; None where it is."""
        if rule in (Rule.ENTER, Rule.CHANGE) and headers.get(HEADER) != "1":
            return Refusal(403, f"Send the header `{HEADER}: 1`, as the page does.")
        if rule in (Rule.READ, Rule.CHANGE) and not is_same(self._cookie_in(headers), self._secret):
            return Refusal(401, "Open the address with its token, as `keepwhole inspect` printed it.")
        return None

    def _cookie_in(self, headers: Mapping[str, str]) -> str:
        """The value of the inspector's cookie in a request."""
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        return next((value for name, _, value in pairs if name == self.cookie), "")

    def cookie_for(self, token: object) -> str | None:
        """The cookie's value in exchange for the token; None for a wrong token."""
        return self._secret if isinstance(token, str) and is_same(token, self._token) else None
