"""One round's request on its way out: viewed, with a cache marker where a change makes one pay, and billed later.

Owns: the order of these. What a bill is expected to say is found out when it is asked for, after the answer went to the
client; before that, only a request whose prefix changes is looked at.
Hidden rounds on record are found here too, also after a restart and those of other processes (`HiddenRounds`).
Must not know: answers, further rounds (`exchange`); how a round is put back into a request (`wire.hidden_rounds`).
"""

import hashlib
import json
from functools import cache, cached_property
from typing import Any, cast

from keepwhole import events
from keepwhole.canonical.entry import Result
from keepwhole.conversation.context import ViewMode
from keepwhole.errors import StoreError
from keepwhole.models.forecast import LOOK_BACK
from keepwhole.models.tokens import estimate
from keepwhole.policies.account import Account
from keepwhole.policies.policy import Policy
from keepwhole.record.bills import Expected
from keepwhole.record.session_reader import offered_tools
from keepwhole.session import Session
from keepwhole.wire.cache_markers import cache_markers
from keepwhole.wire.content import contents, fields_of
from keepwhole.wire.dialects import Endpoint
from keepwhole.wire.hidden_rounds import Round
from keepwhole.wire.request_body import RequestBody, read_request
from keepwhole.wire.usage import Usage


class OutgoingRequest:
    """One request, as it is sent."""

    def __init__(self, session: Session, endpoint: Endpoint, body: bytes, account: Account, at: float) -> None:
        self._session, self._endpoint, self._at = session, endpoint, at
        self.body = body
        """What to send."""
        self.account = account
        """The figures of the view."""

    @cached_property
    def expected(self) -> Expected | None:
        """What this will be billed; None where it only counts tokens, or nothing can be known."""
        request = self._session.billing.read(self.body) if not self._endpoint.counts else None
        if request is None:
            return None
        billing = self._session.billing
        estimated = round(self.account.as_sent.tokens_sent / self.account.scale)
        billing.remember(self._at)
        return billing.expect(self._endpoint.dialect, request, self._endpoint.model_of(request), self._at, estimated)

    def learn(self, usage: Usage | None) -> None:
        """Learn that it was answered, and what it was billed."""
        if self.expected is not None:
            self._session.billing.learn(self.expected, usage, hashlib.sha256(self.body).hexdigest())


def view_request(
    session: Session, endpoint: Endpoint, data: bytes | RequestBody, mode: ViewMode | None, policy: Policy | None = None
) -> OutgoingRequest:
    """Make what is sent of a request; without a `mode` it is sent as it came, without a `policy` by the session's."""
    if mode is None:
        body, account = data if isinstance(data, bytes) else data.data, Account(policy="", mode="off")
    else:
        projection = session.projection(data, model=endpoint.model, policy=policy, explained=False, view_mode=mode)
        body, account = projection.messages, projection.account
    at = session.billing.now()
    is_round = mode is not None and mode.is_between_rounds
    return OutgoingRequest(session, endpoint, _with_marker(session, endpoint, body, account, is_round), account, at)


def _with_marker(session: Session, endpoint: Endpoint, body: bytes, account: Account, is_round: bool = False) -> bytes:
    """The request with a cache marker before the first change, where new decisions change what was sent before.

    A hidden round has one on what was read back: it is sent again with the client's next request, whose own marker
    would else be the first to have it cached, after it was paid for uncached.
    """
    changed_last = 0 if is_round else account.changed_last
    uncached_last = None if is_round else account.uncached_last
    if changed_last is None or account.mode != "on" or endpoint.counts:
        return body
    if not endpoint.dialect.caches_at_breakpoints:
        return body
    try:
        return _mark_before(session, endpoint, body, changed_last, uncached_last) or body
    except Exception as error:  # a marker saves something; a request without one is as good
        events.log_passed_on("marker", type(error).__name__)
        return body


def _mark_before(
    session: Session, endpoint: Endpoint, body: bytes, changed_last: int, uncached_last: int | None
) -> bytes | None:
    """The request with a marker before its last messages; made only of what every process knows, so that each sends
    the same bytes.

    A marker finds what the cache has only a few blocks before it. Where the cached prefix ends farther away, the marker
    is put on that end: it reads what was paid for, instead of having everything written once more.
    """
    request = read_request(body)
    if request is None or not any(marker.message >= 0 for marker in cache_markers(request)):
        return None  # a client that has no messages cached would pay for one cache write, and never read it
    breakpoints = session.billing.profile(endpoint.model_of(request)).breakpoints
    changed = len(request.messages) - changed_last
    users = (at for at in range(changed - 1, -1, -1) if fields_of(request.messages[at]).get("role") == "user")
    newest = next(users, None)
    if newest is not None and uncached_last is not None:
        end = len(request.messages) - uncached_last - 1
        between = request.messages[max(0, end + 1) : newest + 1]
        if end >= 0 and sum(len(contents(fields_of(message))) for message in between) >= LOOK_BACK:
            newest = end
    return None if newest is None else endpoint.dialect.with_cache_marker(request, newest, breakpoints)


@cache
def tokens_of_tools(dialect: str) -> int:
    """Return the tokens of the recall tools that a request may offer, in this dialect."""
    return estimate(str(offered_tools(dialect)))


TOOL = "keepwhole_round"
"""The tool name of a round on record. The round is in the entry's header, so that no search shows it to a model."""


class HiddenRounds:
    """The hidden rounds of one session. Safe from threads."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_key: dict[str, list[Round]] = {}
        self._read = 0
        """How many of those on record are known."""

    @property
    def is_empty(self) -> bool:
        """Whether there are none, as far as the record was read."""
        return not self._by_key and not self._session.conversations.notes(TOOL)

    def read_all(self) -> tuple[dict[str, list[Round]], bool]:
        """Every round by the key of its answer, in order, and whether the record could be read; what cannot be read is
        left out."""
        with self._session.conversations.journal.lock:
            is_record_read = self._catch_up()
            return {key: list(found) for key, found in self._by_key.items()}, is_record_read

    def add(self, new: Round) -> bool:
        """Record a round; where that cannot be done, this process remembers it all the same."""
        about = {"v": 1, **new._asdict()}
        try:
            self._session.writer.append_notes([(self._session.writer.new_result(TOOL, about), "")])
            return True
        except StoreError:
            with self._session.conversations.journal.lock:
                self._by_key.setdefault(new.key, []).append(new)
            return False

    def _catch_up(self) -> bool:
        is_record_read = self._session.conversations.catch_up()
        notes = self._session.conversations.notes(TOOL)
        self._read = self._read if self._read <= len(notes) else 0  # a purged session is read from its beginning
        for result in notes[self._read :]:
            self._learn(result)
        self._read = len(notes)
        return is_record_read

    def _learn(self, result: Result) -> None:
        found = read_round(result)
        if found is not None:
            self._by_key.setdefault(found.key, []).append(found)


def read_round(result: Result) -> Round | None:
    """The round that a result on record is; None for any other."""
    try:
        about = cast("dict[str, Any]", json.loads(result.arguments or ""))
        about.pop("v")
        return Round(**about)
    except (ValueError, KeyError, TypeError):
        return None
