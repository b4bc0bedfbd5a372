"""Requests of all owners at one desk.

Owns: that a session's name on record is its owner's own, and that sessions held out are left as they are.
Must not know: how a request is sent.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from keepwhole.apps.proxy.tenants import Tenants
from keepwhole.config import Settings
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import Refusal, SessionRouter
from keepwhole.metrics import Metrics
from keepwhole.store.protocol import Store


class Desks:
    """The sessions of everybody. Safe from threads."""

    def __init__(
        self, settings: Settings, store: Store, tenants: Tenants, metrics: Metrics | None = None, **options: Any
    ) -> None:
        self.settings = settings
        self._tenants = tenants
        self._held_out = settings.replace(mode="shadow")
        self.metrics = metrics or Metrics()
        """Of all sessions since the proxy started."""
        # A conversation that has no name yet may turn out to be one of those that are held out.
        first = self._held_out if settings.proxy.holdout and settings.mode == "on" else settings
        own: dict[str, Any] = {"settings": first, "store": store, "metrics": self.metrics, **options}
        self._desk = SessionRouter(each=True, settles=True, settings_of=self._settings_of, **own)

    def begin(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Exchange | Refusal | None:
        """The exchange that a request begins; None for one that is passed on as it came."""
        return self._desk.begin(method, path, headers, body, partial(self._scoped, headers))

    def _scoped(self, headers: Mapping[str, str], session: str) -> str:
        return self._tenants.scoped(self._tenants.of(headers), session)

    def _settings_of(self, session: str) -> Settings:
        return self._held_out if self._tenants.is_held_out(session) else self.settings
