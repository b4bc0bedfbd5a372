"""What a user can decide about the proxy, under `proxy` in the settings.

Owns: the names, the defaults and what they accept.
Must not know: how the proxy uses them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from keepwhole.errors import ConfigError
from keepwhole.settings_section import Count, SettingsSection, Share


class ProxySettings(SettingsSection):
    """The proxy's settings."""

    section = "proxy"

    upstreams: Mapping[str, str] = MappingProxyType({})
    """Where requests go, by name: `openai`, `anthropic`, and others that are reached under `/NAME/`."""
    tenants: Literal["key", "one"] = "key"
    """Who owns a session: with `key`, each set of credentials has its own sessions; with `one`, all requests have one
    owner."""
    holdout: Share = 0.0
    """Share of sessions that are left untouched, so that `keepwhole report` has something to compare with."""
    hosts: tuple[str, ...] = ()
    """Values of the `Host` header to accept besides this machine's own names, for a proxy that others reach."""
    max_body: Count = 67_108_864
    """Maximum number of bytes of a request."""
    max_connections: Count = 256
    """Maximum number of clients at a time."""
    patience: Count = 600
    """Seconds that an upstream may be silent."""
    client_files: bool = False
    """Whether all clients run on this machine as this user; then the originals of what they cut are read from their
    files. `keepwhole wrap` always does, since it starts the client."""

    def _check(self) -> None:
        super()._check()
        for name, url in self.upstreams.items():
            check_upstream(name, url)


def check_upstream(name: str, url: object) -> str:
    """Return the address of an upstream; refuse one that is not whole or that has a key in it."""
    from urllib.parse import urlsplit  # most commands never check one

    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        is_address = parts is not None and parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port above 65535, a bracket without its pair
        parts, is_address = None, False
    if parts is None or not is_address:
        raise ConfigError(f"The upstream `{name}` is {url!r}; give an address such as https://api.openai.com.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            f"The upstream `{name}` has a user, a key or a query in it. Leave it out: the client sends its own key."
        )
    return str(url).rstrip("/")
