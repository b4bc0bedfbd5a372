"""The sessions of all owners behind one proxy.

Owns: one desk for each owner over one store, the fewest-used given up first.
Must not know: how a request is sent.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from holdfast.apps.proxy.tenants import Tenants
from holdfast.config import Settings
from holdfast.integrations.desk import Desk, Refused
from holdfast.session.exchange import Exchange
from holdfast.store.protocol import Store

_MOST_OWNERS = 64


class Desks:
    """The desks, by owner. Safe from threads."""

    def __init__(self, settings: Settings, store: Store, tenants: Tenants, **options: Any) -> None:
        self.settings = settings
        self._tenants = tenants
        self._options: dict[str, Any] = {**options, "settings": settings, "store": store}
        self._lock = threading.Lock()
        self._desks: OrderedDict[str, Desk] = OrderedDict()

    def begin(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Exchange | Refused | None:
        """The exchange that a request begins; None for one that is passed on as it came."""
        return self._desk(self._tenants.of(headers)).begin(method, path, headers, body)

    def _desk(self, owner: str) -> Desk:
        with self._lock:
            if owner not in self._desks:
                self._desks[owner] = Desk(**self._options)
            self._desks.move_to_end(owner)
            if len(self._desks) > _MOST_OWNERS:
                self._desks.popitem(last=False)
            return self._desks[owner]
