"""What a transport asks for each request: whose session it is, and the exchange that it begins.

A transport inside of one agent has one session, unless a request names another. A process that serves many gives each
conversation its own.

Owns: sessions by id over one store, what was passed on untouched and why, and that nothing here ever breaks a call.
Must not know: any HTTP library.
"""

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from keepwhole import events
from keepwhole.config import Settings
from keepwhole.errors import KeepwholeError
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.hidden_rounds import Rounds
from keepwhole.exchange.request_log import Sent
from keepwhole.session import Session
from keepwhole.wire.endpoint import Endpoint, endpoint_of
from keepwhole.wire.identity import Identity, conversation, identity_of, sender_of, session_id
from keepwhole.wire.request_body import RequestBody, read_request

_MOST_SESSIONS = 64
"""Sessions that are remembered; another one is read from the record again."""
_FEWEST_SESSIONS, _MOST_WEIGHT = 4, 16 * 1024 * 1024
"""Bytes of latest requests up to which more than these few are; what is held of one is several times its request."""
_MOST_REMEMBERED = 16
"""Senders whose latest request is remembered, so that the next one need not be read from its beginning."""
_LARGEST_REMEMBERED = 4 * 1024 * 1024
"""Bytes above which a request is not: it costs less to read it again than to hold it."""


class Refused(NamedTuple):
    """An answer of our own in place of the provider's."""

    status: int
    body: bytes


class Desk:
    """The sessions of one client, or with `each` of every conversation that comes. Safe from threads."""

    def __init__(
        self,
        session: Session | str | None = None,
        *,
        each: bool = False,
        settles: bool = False,
        settings_of: Callable[[str], Settings] | None = None,
        **options: Any,
    ) -> None:
        """With `settles`, whoever sends settles each exchange; `settings_of` gives each session its own settings."""
        self.own = session if isinstance(session, Session) else Session(session, **options)
        """The session of requests that do not name one; with `each` it stays empty."""
        self._is_fixed, self._each = session is not None, each and session is None
        self._owns, self._settles = not isinstance(session, Session), settles
        self._settings_of: Callable[[str], Settings] = settings_of or self._own_settings
        self._options: dict[str, Any] = {**options, "store": self.own.store}
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, tuple[Session, Rounds, Sent]] = OrderedDict()
        self._weights: dict[str, int] = {}
        """Bytes of the latest request of each session that is remembered."""
        self._latest: OrderedDict[tuple[str | None, ...], RequestBody] = OrderedDict()
        self.counts: Counter[str] = Counter()
        """Requests by what became of them."""

    def begin(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, scope: Callable[[str], str] = str
    ) -> Exchange | Refused | None:
        """The exchange that a request begins; None for one that is passed on as it came.

        `scope` makes the final name of the session from the one that the request has: for whom it is.
        """
        endpoint = endpoint_of(path) if method == "POST" else None
        if endpoint is None or self.own.settings.mode == "off":
            return None
        self.counts["requests"] += 1
        try:
            return self._begun(endpoint, headers, body, scope)
        except KeepwholeError as error:
            return self._untouched(type(error).__name__)
        except Exception as error:  # a conversation is worth more than our part in it
            events.log_passed_on("request", type(error).__name__)
            return self._untouched(type(error).__name__)

    def close(self) -> None:
        """Close the sessions, and the store if it is ours."""
        with self._lock:
            for session, *_ in self._sessions.values():
                session.close()
        if self._owns:
            self.own.close()

    def _begun(
        self, endpoint: Endpoint, headers: Mapping[str, str], body: bytes, scope: Callable[[str], str]
    ) -> Exchange | Refused | None:
        request = self._read(headers, body)
        if request is None:
            return self._untouched("not understood")
        if "thread" in request.fields and endpoint.dialect == "anthropic":
            self.counts["threads refused"] += 1
            return Refused(400, _UNTHREADED)
        identity = identity_of(endpoint, headers, request)
        self.counts[identity.purpose] += 1
        if identity.purpose == "side":
            return None
        session, rounds, sent = self._meant(identity, scope)
        self._weigh(session.id, len(body))
        named = partial(self._named, scope)
        return Exchange(session, rounds, endpoint, request, identity, self._settles, named, sent)

    def _read(self, headers: Mapping[str, str], body: bytes) -> RequestBody | None:
        """The request, read like the one before it of whoever sends it: most of it is the same."""
        if "content-encoding" in headers:
            return None
        sender = sender_of(headers)
        request = read_request(body, self._latest.get(sender))
        if request is not None and len(body) < _LARGEST_REMEMBERED:
            with self._lock:
                self._latest[sender] = request.remembered()
                self._latest.move_to_end(sender)
                if len(self._latest) > _MOST_REMEMBERED:
                    self._latest.popitem(last=False)
        return request

    def _meant(self, identity: Identity, scope: Callable[[str], str]) -> tuple[Session, Rounds | None, Sent | None]:
        """The session that is meant: the one given, unless a request names another in so many words."""
        is_named = identity.explicit if self._is_fixed else identity.by in ("header", "client") or self._each
        if not is_named:
            return self._session(self.own.id)
        if identity.session is None:
            return self.own, None, None
        return self._session(session_id(identity.session, scope))

    def _named(self, scope: Callable[[str], str], messages: list[Any]) -> Rounds | None:
        """The rounds of a conversation that has a name from its first answer on; None where it still has none."""
        name = conversation(messages)
        return None if name is None else self._session(session_id(name, scope))[1]

    def _session(self, name: str) -> tuple[Session, Rounds, Sent]:
        with self._lock:
            if name not in self._sessions:
                own: dict[str, Any] = {**self._options, "settings": self._settings_of(name)}
                session = self.own if name == self.own.id else Session(name, **own)
                self._sessions[name] = session, Rounds(session), Sent(session)
            self._sessions.move_to_end(name)
            if len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
            return self._sessions[name]

    def _weigh(self, name: str, size: int) -> None:
        """Hold fewer sessions where their requests are large, the latest ones always."""
        with self._lock:
            self._weights[name] = size
            while len(self._sessions) > _FEWEST_SESSIONS and sum(map(self._weight, self._sessions)) > _MOST_WEIGHT:
                self._sessions.popitem(last=False)
            for gone in self._weights.keys() - self._sessions.keys():
                del self._weights[gone]

    def _weight(self, name: str) -> int:
        return self._weights.get(name, 0)

    def _own_settings(self, _: str) -> Settings:
        return self.own.settings

    def _untouched(self, why: str) -> None:
        self.counts["untouched"] += 1
        self.counts[f"untouched: {why}"] += 1


_UNTHREADED = json.dumps(
    {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "Keepwhole needs the whole conversation, so it serves no threads. Send all messages.",
            "details": {"error_code": "thread_unsupported_request", "unsupported": ["thread"]},
        },
    }
).encode()
"""Makes Anthropic's SDK send the whole conversation at once, and go on so."""
