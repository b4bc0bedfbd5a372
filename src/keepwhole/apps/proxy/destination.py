"""Where a request goes: to which upstream, and into which session of which tenant.

Hosts come from the settings alone; nothing that a client sends can name another. A tenant is the owner of the
credentials that a request shows, known by a keyed hash that reveals nothing about them; none is kept, written or
compared beyond the request that carries it.

Owns: the upstream of a path and its URL, the names of tenants and of their sessions, and which sessions are held out.
Must not know: what is in a session, how a request is sent.
"""

import hashlib
import hmac
import logging
import os
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from keepwhole.apps.listener import read_secret
from keepwhole.apps.proxy.accounts import AccountSessions
from keepwhole.apps.proxy.credentials import Credential, account_forms, credentials_of
from keepwhole.config import Settings
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import OwnAnswer, Scope, SessionRouter
from keepwhole.metrics import Metrics
from keepwhole.proxy_settings import check_upstream
from keepwhole.store.protocol import ReportsTrouble, Store
from keepwhole.wire import dialects
from keepwhole.wire.dialects import dialect_of_headers, endpoint_of, provider_of
from keepwhole.wire.identity import session_id
from keepwhole.wire.request_body import RequestBody

_log = logging.getLogger("keepwhole.proxy")
_VERSION = "/v1"
_SECRET = "tenants.secret"
_LONGEST_NAME = 100
_EVERYBODY = ""


class UnknownUpstream(Exception):
    """A path belongs to a provider whose address only the settings can name, and they do not."""

    def __init__(self, name: str) -> None:
        super().__init__(f"This path belongs to `{name}`, which has no default address. Set `proxy.upstreams.{name}`.")


class Upstreams:
    """The providers by name, with their URLs."""

    def __init__(self, given: Mapping[str, str]) -> None:
        urls = {name: check_upstream(name, url) for name, url in {**dialects.TABLE.upstreams, **given}.items()}
        self._urls = {name: URL(url, encoded=True) for name, url in urls.items()}
        self._network_proxies = {name: network_proxy(url) for name, url in self._urls.items()}

    def network_proxy(self, name: str) -> str | None:
        """The network's own proxy on the way to an upstream; None where the connection is direct."""
        return self._network_proxies[name]

    def target(self, target: str, headers: Mapping[str, str]) -> tuple[str, str]:
        """The name of the upstream for a path, and the path at that upstream."""
        first, slash, rest = target[1:].partition("/")
        provider = provider_of(target)
        # Azure's paths begin with `/openai/`, which is no upstream's name there.
        if slash and first in self._urls and provider in (None, first, provider_of(slash + rest)):
            return first, slash + rest
        name = provider or dialect_of_headers(headers).provider
        if name not in self._urls:
            raise UnknownUpstream(name)
        return name, target

    def url(self, name: str, target: str) -> URL:
        """The full URL of a path at an upstream, with every character of the path unchanged."""
        base = self._urls[name]
        path = base.raw_path.rstrip("/")
        if path.endswith(_VERSION) and target.startswith(f"{_VERSION}/"):
            target = target[len(_VERSION) :]
        return URL(f"{base.scheme}://{base.raw_authority}{path}{target}", encoded=True)


def network_proxy(url: URL) -> str | None:
    """The proxy that `HTTPS_PROXY` or `HTTP_PROXY` names for a URL; None where `NO_PROXY` excludes it."""
    host = url.host or ""
    return None if proxy_bypass(host) else getproxies().get(url.scheme)


class Tenants:
    """The owners that one proxy tells apart."""

    def __init__(self, home: str, kind: str, holdout: float = 0.0, store: Store | None = None) -> None:
        """Proxies that share a `store` on a server share its secret, so that they derive the same names."""
        self._store, self._kind, self._holdout = store, kind, holdout
        # Where no name is derived from it, it is not needed: the folder may be one that cannot be written.
        self._local = read_secret(os.path.join(home, _SECRET)) if self.are_apart or holdout else ""

    @cached_property
    def _secret(self) -> bytes:
        """Read at its first use, so that the proxy starts even while the server of the store is down."""
        shared = getattr(self._store, "secret", None)
        return (shared(_SECRET) if shared is not None else self._local).encode()

    @property
    def are_apart(self) -> bool:
        """Whether owners are told apart."""
        return self._kind != "one"

    def of(self, shown: Sequence[Credential], use: str = "tenant") -> str:
        """The tenant of a request by the credentials that it shows; the same for all where none are told apart.

        All requests that show none have one owner, which no request with a credential can be.
        """
        if not self.are_apart:
            return _EVERYBODY
        return self._hash(use, "\n".join(f"{place}={value}" for place, value in shown))[:16]

    def scoped(self, owner: str, session: str) -> str:
        """The stored name of a session: it contains the tenant, so that no client can name another tenant's."""
        if not owner:
            return session
        if len(session) > _LONGEST_NAME:
            session = "told-" + hashlib.sha256(session.encode()).hexdigest()[:32]
        return f"{session}@{owner}"

    def is_held_out(self, session: str) -> bool:
        """Whether a session is left unedited for comparison: always the same answer for the same session."""
        if not self._holdout:
            return False
        return int(self._hash("holdout", session)[:8], 16) < self._holdout * 0x1_0000_0000

    def _hash(self, use: str, text: str) -> str:
        message = f"{use}\n{text}".encode("utf-8", "surrogateescape")
        return hmac.digest(self._secret, message, "sha256").hex()


class TenantRouter:
    """Routes each request to a session of its tenant. Safe from threads."""

    def __init__(
        self, settings: Settings, store: Store, tenants: Tenants, metrics: Metrics | None = None, **options: Any
    ) -> None:
        self.settings = settings
        self._store, self._tenants = store, tenants
        self._accounts = AccountSessions()
        self._has_warned = False
        self._held_out = settings.replace(mode="shadow")
        self.metrics = metrics or Metrics()
        """Metrics of all sessions since the proxy started."""
        # A conversation without a name may turn out to be one that is held out, so it begins unedited.
        first = self._held_out if settings.proxy.holdout and settings.mode == "on" else settings
        own: dict[str, Any] = {"settings": first, "store": store, "metrics": self.metrics, **options}
        self._router = SessionRouter(each=True, settles=True, settings_of=self._settings_of, **own)

    def begin(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Exchange | OwnAnswer | None:
        """Begin the exchange of a request for a path with its query; None for one that is passed through unread."""
        bare = path.partition("?")[0]
        return self._router.begin(method, bare, headers, body, partial(self._scope_of, path, headers))

    def begin_at_once(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> Exchange | OwnAnswer | None:
        """`begin` on a thread that must not wait: `MustWait` where it would have to."""
        bare = path.partition("?")[0]
        return self._router.begin_at_once(method, bare, headers, body, partial(self._scope_of, path, headers))

    def trouble(self) -> str | None:
        """Why nothing can be stored now; None where all is in order. It may read from a disk."""
        return self._store.trouble() if isinstance(self._store, ReportsTrouble) else None

    def _scope_of(self, path: str, headers: Mapping[str, str], request: RequestBody) -> Scope:
        """Whose a request is: the owner of its credentials, or of the account that its sign-in token is of."""
        if not self._tenants.are_apart:
            return str
        shown = credentials_of(path, headers, request.fields)
        if not shown and not self._has_warned:
            self._has_warned = True
            _log.warning("requests arrive without a credential: they share one owner and see each other's sessions")
        owner = self._tenants.of(shown)
        forms = account_forms(shown, headers, request.fields)
        if forms is None:
            return partial(self._tenants.scoped, owner)
        endpoint = endpoint_of(path.partition("?")[0])
        may_write = endpoint is not None and not endpoint.counts
        return partial(self._scoped_by_account, owner, self._tenants.of(forms, "account"), request, may_write)

    def _scoped_by_account(self, owner: str, account: str, request: RequestBody, may_write: bool, session: str) -> str:
        """The session of an account, where this token may enter it; else one of the token's own."""
        shared = session_id(session, partial(self._tenants.scoped, account))
        if self._accounts.admit(self._router.session(shared), owner, request, may_write):
            return shared
        return self._tenants.scoped(owner, session)

    def _settings_of(self, session: str) -> Settings:
        return self._held_out if self._tenants.is_held_out(session) else self.settings
