"""What a user can decide about the proxy, under `proxy` in the settings.

Owns: the names, the defaults and what they may be.
Must not know: how the proxy uses them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError


class ProxySettings(Value):
    """The proxy's settings."""

    upstreams: Mapping[str, str] = MappingProxyType({})
    """Where requests go, by name: `openai`, `anthropic`, and others that are reached under `/NAME/`."""
    tenants: str = "key"
    """Whose sessions are apart: `key`, each provider key has its own; `one`, all requests are of one owner."""
    holdout: float = 0.0
    """Share of sessions that are left untouched, so that `keepwhole report` has something to compare with."""
    hosts: tuple[str, ...] = ()
    """What a `Host` header may say besides this machine's own names, for a proxy that others reach."""
    max_body: int = 67_108_864
    """Most bytes of a request."""
    max_connections: int = 256
    """Most clients at a time."""
    patience: int = 600
    """Seconds that an upstream may be silent."""

    def _check(self) -> None:
        for name, url in cast("Mapping[str, object]", self.upstreams).items():
            check_upstream(str(name), url)
        if self.tenants not in ("key", "one"):
            raise ConfigError(f"`proxy.tenants` is {self.tenants!r}; give one of key, one.")
        if isinstance(self.holdout, bool) or not isinstance(cast("object", self.holdout), int | float):
            raise ConfigError(f"`proxy.holdout` is {self.holdout!r}; give a share between 0 and 1, such as 0.1.")
        if not 0 <= self.holdout <= 1:
            raise ConfigError(f"`proxy.holdout` is {self.holdout!r}; give a share between 0 and 1, such as 0.1.")
        for key in ("max_body", "max_connections", "patience"):
            value = getattr(self, key)
            if type(value) is not int or value < 1:
                raise ConfigError(f"`proxy.{key}` is {value!r}; give a whole number of at least 1.")
        self.__dict__["hosts"] = tuple(map(str, self.hosts))


def check_upstream(name: str, url: object) -> str:
    """An upstream's address, checked: whole, and without a key in it."""
    from urllib.parse import urlsplit  # most commands never check one

    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"The upstream `{name}` is {url!r}; give an address such as https://api.openai.com.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(f"The upstream `{name}` has a user, a key or a query in it; the client sends its own key.")
    return str(url).rstrip("/")
