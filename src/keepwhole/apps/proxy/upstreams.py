"""Where a request goes. Hosts come from the settings alone; nothing that a client sends can name another.

Owns: which upstream a path belongs to, and its address there.
Must not know: what is sent.
"""

from collections.abc import Mapping
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from keepwhole.proxy_settings import check_upstream
from keepwhole.wire import dialects
from keepwhole.wire.dialects import dialect_of_headers, endpoint_of

_VERSION = "/v1"


class Upstreams:
    """The providers that are known here, by name."""

    def __init__(self, given: Mapping[str, str]) -> None:
        usual = {dialect.provider: dialect.upstream for dialect in dialects.TABLE.dialects}
        urls = {name: check_upstream(name, url) for name, url in {**usual, **given}.items()}
        self._urls = {name: URL(url, encoded=True) for name, url in urls.items()}
        self._ways = {name: way_to(url) for name, url in self._urls.items()}

    def __getitem__(self, name: str) -> URL:
        """The address of an upstream."""
        return self._urls[name]

    def way(self, name: str) -> str | None:
        """The network's own proxy on the way to an upstream; None where the way is direct."""
        return self._ways[name]

    def target(self, target: str, headers: Mapping[str, str]) -> tuple[str, str]:
        """The name of the upstream that a path belongs to, and the path there."""
        first, slash, rest = target[1:].partition("/")
        if slash and first in self._urls:
            return first, slash + rest
        endpoint = endpoint_of(target.partition("?")[0])
        dialect = endpoint.dialect if endpoint is not None else dialect_of_headers(headers)
        return dialect.provider, target

    def url(self, name: str, target: str) -> URL:
        """The whole address of a path at an upstream, every sign of it as it came."""
        base = self._urls[name]
        path = base.raw_path.rstrip("/")
        if path.endswith(_VERSION) and target.startswith(f"{_VERSION}/"):
            target = target[len(_VERSION) :]
        return URL(f"{base.scheme}://{base.raw_authority}{path}{target}", encoded=True)


def way_to(url: URL) -> str | None:
    """The proxy that the environment names for an address: `HTTPS_PROXY`, `HTTP_PROXY`, but for `NO_PROXY`."""
    host = url.host or ""
    return None if proxy_bypass(host) else getproxies().get(url.scheme)
