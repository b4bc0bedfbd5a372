"""Whose record a request may see: one owner for each provider key, by a keyed hash that says nothing about the key.

Owns: the secret, an owner's name, how a session's name becomes one of the owner's own, and which sessions are
left untouched to compare with.
Must not know: what is in a session. No key is kept, written or compared beyond the request it came with.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from functools import cached_property

from keepwhole.apps.listener import secret_in
from keepwhole.store.protocol import SharesSecrets, Store

_FILE = "tenants.secret"
_KEYS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_LONGEST = 100
_ONE = ""


class Tenants:
    """The owners that a proxy tells apart."""

    def __init__(self, home: str, kind: str, holdout: float = 0.0, store: Store | None = None) -> None:
        """Proxies that share a `store` on a server share its secret, and so come to the same names."""
        self._local = secret_in(os.path.join(home, _FILE))
        self._store, self._kind, self._holdout = store, kind, holdout

    @cached_property
    def _secret(self) -> bytes:
        """Asked for when it is first needed, so that a server that is away keeps no proxy from starting."""
        if isinstance(self._store, SharesSecrets):
            return self._store.secret(_FILE, self._local).encode()
        return self._local.encode()

    def of(self, headers: Mapping[str, str]) -> str:
        """The owner of a request; the same word for everybody where owners are not told apart."""
        if self._kind == "one":
            return _ONE
        shown = [f"{name}={headers[name]}" for name in _KEYS if name in headers]
        return self._hash("tenant", "\n".join(shown))[:16]

    def scoped(self, owner: str, session: str) -> str:
        """A session's name on record: the owner is part of it, so that nobody can name another's."""
        if not owner:
            return session
        if len(session) > _LONGEST:
            session = "told-" + hashlib.sha256(session.encode()).hexdigest()[:32]
        return f"{session}@{owner}"

    def is_held_out(self, session: str) -> bool:
        """Whether a session is one of those left untouched: always the same answer for the same session."""
        return int(self._hash("holdout", session)[:8], 16) < self._holdout * 0x1_0000_0000

    def _hash(self, use: str, text: str) -> str:
        message = f"{use}\n{text}".encode("utf-8", "surrogateescape")
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()
