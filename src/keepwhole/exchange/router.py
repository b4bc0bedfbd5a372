"""Finds the session of each request, and begins its exchange. Every transport (proxy, SDK) asks here.

A transport inside one agent has one session, unless a request names another. A process that serves many agents gives
each conversation its own.

Owns: sessions by id over one store, which requests were passed on untouched and why, and that no failure here ever
breaks a call.
Must not know: any HTTP library.
"""

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

from keepwhole import events
from keepwhole.clients.table import facts_of
from keepwhole.config import Settings
from keepwhole.errors import KeepwholeError
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.fork import ForkCheck
from keepwhole.exchange.outgoing_request import HiddenRounds
from keepwhole.exchange.request_log import RequestLog
from keepwhole.logs.client_originals import ClientFolders
from keepwhole.session import Session
from keepwhole.store.wait_guard import AnswersAtOnce, MustWait, check_may_wait, held_meanwhile, without_waiting
from keepwhole.wire.dialects import Endpoint, enclosed_in, endpoint_of
from keepwhole.wire.identity import Identity, conversation, identity_of, sender_of, session_id
from keepwhole.wire.request_body import RequestBody, read_request

_MOST_SESSIONS = 64
"""Sessions that are remembered; another one is read from the record again."""
_FEWEST_SESSIONS, _MOST_WEIGHT = 4, 16 * 1024 * 1024
"""Where the latest requests have more bytes than this in all, only the fewest sessions are remembered: what is held of
a session takes several times its latest request."""
_LONGEST_AT_ONCE, _MOST_NEW = 512 * 1024, 4 * 1024
"""Bytes of a request that is begun at once, and those of it that are more than in the sender's latest one."""
_MOST_SENDERS = 16
"""Senders whose latest request is remembered, so that the next one need not be read from its beginning."""
_LARGEST_REMEMBERED = 4 * 1024 * 1024
"""Bytes above which a request is not remembered: reading it again costs less than holding it."""

Scope: TypeAlias = Callable[[str], str]
"""Makes the final name of a session from the one that a request has: it says whose it is."""
ScopeOf: TypeAlias = Callable[[RequestBody], Scope]
"""Finds out whose a request is."""


class OwnAnswer(NamedTuple):
    """An answer of Keepwhole's own in place of the provider's."""

    status: int
    body: bytes


class _Routed(NamedTuple):
    """A session with what belongs to it."""

    session: Session
    rounds: HiddenRounds
    log: RequestLog
    fork: ForkCheck


class SessionRouter:
    """The sessions of one client, or with `each` of every conversation that comes. Safe from threads."""

    def __init__(
        self,
        session: Session | str | None = None,
        *,
        each: bool = False,
        settles: bool = False,
        settings_of: Callable[[str], Settings] | None = None,
        client_folders: ClientFolders | None = None,
        **options: Any,
    ) -> None:
        """With `settles`, the transport settles each exchange; `settings_of` gives each session its own settings.
        `client_folders` are read for what clients cut; they are given only where the clients run on this machine."""
        self.own = session if isinstance(session, Session) else Session(session, **options)
        """The session of requests that do not name one; with `each` it stays empty."""
        self._is_fixed, self._each = session is not None, each and session is None
        self._owns, self._settles = not isinstance(session, Session), settles
        self._settings_of: Callable[[str], Settings] = settings_of or (lambda _: self.own.settings)
        self._client_folders = client_folders
        self._options: dict[str, Any] = {**options, "store": self.own.store}
        self._answers_at_once = isinstance(self.own.store, AnswersAtOnce)
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Routed] = OrderedDict()
        self._weights: dict[str, int] = {}
        """Bytes of the latest request of each session that is remembered."""
        self._latest: OrderedDict[tuple[str | None, ...], RequestBody] = OrderedDict()
        self._untried: set[tuple[str, str]] = set()
        """Clients and versions that were warned of."""
        self.counts: Counter[str] = Counter()
        """Requests by what became of them."""

    def begin(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, scope_of: ScopeOf = lambda _: str
    ) -> Exchange | OwnAnswer | None:
        """Begin the exchange of a request; None for a request that is passed on as it came."""
        endpoint = endpoint_of(path) if method == "POST" else None
        if endpoint is None or self.own.settings.mode == "off":
            return None
        self.counts["requests"] += 1
        try:
            if endpoint.enclosure is None:
                return self._begin(endpoint, headers, body, scope_of)
            found = enclosed_in(path, body)
            if found is None:
                return self._pass_on("not understood")
            return self._begin(found[0], headers, found[1].data, scope_of, around=found[1].around)
        except MustWait:
            self.counts["requests"] -= 1
            raise
        except KeepwholeError as error:
            return self._pass_on(type(error).__name__)
        except Exception as error:  # a conversation is worth more than our part in it
            events.log_passed_on("request", type(error).__name__)
            return self._pass_on(type(error).__name__)

    def begin_at_once(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, scope_of: ScopeOf = lambda _: str
    ) -> Exchange | OwnAnswer | None:
        """`begin` on a thread that must not wait: `MustWait` where that takes long, or something has to be written."""
        latest = self._latest.get(sender_of(headers))
        new = len(body) - (0 if latest is None else len(latest.text))
        if len(body) > _LONGEST_AT_ONCE or new > _MOST_NEW or not self._answers_at_once:
            raise MustWait
        with without_waiting():
            return self.begin(method, path, headers, body, scope_of)

    def session(self, name: str) -> Session:
        """The session with this final name."""
        return self._open(name).session

    def close(self) -> None:
        """Close the sessions, and the store if it is the router's own."""
        with self._lock:
            for routed in self._sessions.values():
                routed.session.close()
        if self._owns:
            self.own.close()

    def _begin(
        self,
        endpoint: Endpoint,
        headers: Mapping[str, str],
        body: bytes,
        scope_of: ScopeOf,
        around: Callable[[bytes], bytes] = bytes,
    ) -> Exchange | OwnAnswer | None:
        request = self._read(headers, body)
        if request is None:
            return self._pass_on("not understood")
        if endpoint.own_field and endpoint.own_field not in request.fields:
            return self._pass_on("of another vendor")
        refusal = endpoint.dialect.refusal(request.fields)
        if refusal is not None:
            self.counts["threads refused"] += 1
            return OwnAnswer(400, json.dumps(refusal).encode())
        identity = identity_of(endpoint, headers, request)
        self._note_version(identity)
        if identity.purpose == "side":
            self.counts["side"] += 1
            return None
        scope = scope_of(request)
        routed = self._route(identity, scope)
        session = routed.session if routed is not None else self.own
        self._weigh(session.id, len(body))
        exchange = Exchange(
            session,
            routed.rounds if routed is not None else None,
            endpoint,
            request,
            identity,
            may_settle=self._settles,
            name_conversation=partial(self._name_conversation, scope),
            log=routed.log if routed is not None and routed.session.settings.store_words == "on" else None,
            find_original=None if self._client_folders is None else self._client_folders.finder(headers),
            around=around,
        )
        with held_meanwhile(session.conversations.journal.lock):
            if session.is_unsettled:
                check_may_wait()
            if routed is not None and not endpoint.counts:
                is_fork = routed.fork.take_over(endpoint.dialect, request, identity.branch, identity.client)
                self.counts.update(["forks"] if is_fork else ())
            exchange.begin()
        self.counts[identity.purpose] += 1
        return exchange

    def _read(self, headers: Mapping[str, str], body: bytes) -> RequestBody | None:
        """Read a request with the help of the sender's latest one: most of it is the same."""
        if "content-encoding" in headers:
            return None
        sender = sender_of(headers)
        request = read_request(body, self._latest.get(sender))
        if request is not None and len(body) < _LARGEST_REMEMBERED:
            with self._lock:
                self._latest[sender] = request.remembered()
                self._latest.move_to_end(sender)
                if len(self._latest) > _MOST_SENDERS:
                    self._latest.popitem(last=False)
        return request

    def _note_version(self, identity: Identity) -> None:
        """Warn of a client that is newer than all versions that were tried: once for each version."""
        if (identity.client, identity.version) in self._untried or not _is_untried(identity.client, identity.version):
            return
        self._untried.add((identity.client, identity.version))
        client = facts_of(identity.client)
        events.log_untried_version(client.name, identity.version, client.versions[-1])

    def _route(self, identity: Identity, scope: Scope) -> _Routed | None:
        """The session of a request: the router's own, unless the request names another; None while it has no name."""
        is_named = identity.explicit if self._is_fixed else identity.by in ("header", "client") or self._each
        if not is_named:
            return self._open(self.own.id)
        return None if identity.session is None else self._open(session_id(identity.session, scope))

    def _name_conversation(self, scope: Scope, messages: list[Any]) -> HiddenRounds | None:
        """The rounds of a conversation that has a name from its first answer on; None where it still has none."""
        name = conversation(messages)
        return None if name is None else self._open(session_id(name, scope)).rounds

    def _open(self, name: str) -> _Routed:
        with self._lock:
            if name not in self._sessions:
                own: dict[str, Any] = {**self._options, "settings": self._settings_of(name)}
                session = self.own if name == self.own.id else Session(name, **own)
                self._sessions[name] = _Routed(session, HiddenRounds(session), RequestLog(session), ForkCheck(session))
            self._sessions.move_to_end(name)
            if len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
            return self._sessions[name]

    def _weigh(self, name: str, size: int) -> None:
        """Remember fewer sessions where their requests are large; the latest ones always."""
        with self._lock:
            self._weights[name] = size
            while len(self._sessions) > _FEWEST_SESSIONS and self._weight() > _MOST_WEIGHT:
                self._sessions.popitem(last=False)
            for gone in self._weights.keys() - self._sessions.keys():
                del self._weights[gone]

    def _weight(self) -> int:
        return sum(self._weights.get(name, 0) for name in self._sessions)

    def _pass_on(self, why: str) -> None:
        self.counts["untouched"] += 1
        self.counts[f"untouched: {why}"] += 1


@lru_cache(maxsize=64)
def _is_untried(client: str, version: str) -> bool:
    """Whether a version of a client is newer than all that were tried."""
    return facts_of(client).is_untried(version)
