"""One round's request on its way out: viewed, with a cache marker where a change makes one pay, and billed later.

Owns: the order of these. What is expected of a bill is found out when somebody asks, which is after the answer went
to the client; before, only a request whose prefix changes is looked at.
Must not know: answers, further rounds (`exchange`).
"""

import hashlib
from functools import cached_property
from itertools import islice

from keepwhole import events
from keepwhole.conversation.view_mode import Manner
from keepwhole.policies.account import Account, Projection
from keepwhole.record.billing import Expected
from keepwhole.session import Session
from keepwhole.wire.as_dict import fields_of
from keepwhole.wire.endpoint import Endpoint
from keepwhole.wire.markers import markers, with_marker
from keepwhole.wire.request_body import RequestBody, read_request
from keepwhole.wire.usage import Usage


class Sending:
    """One request, as it is sent."""

    def __init__(self, session: Session, endpoint: Endpoint, data: bytes | RequestBody, manner: Manner | None) -> None:
        """Without a `manner` it goes as it came."""
        self._session, self._endpoint = session, endpoint
        projection = _projection(session, data, manner)
        self.account = projection.account
        """The figures of the view."""
        self._at = session.billing.now()
        self.body: bytes = self._marked(projection.messages)
        """What to send."""

    @cached_property
    def expected(self) -> Expected | None:
        """What this will be billed; None for what only counts, or cannot be known."""
        request = self._session.billing.read(self.body) if not self._endpoint.counts else None
        return None if request is None else self._expected(request)

    def learn(self, usage: Usage | None) -> None:
        """Take in that it was answered, and what it was billed."""
        if self.expected is not None:
            self._session.billing.learn(self.expected, usage, hashlib.sha256(self.body).hexdigest())

    def _expected(self, request: RequestBody) -> Expected | None:
        account = self.account
        profile = self._session.billing.profile(_model_of(request))
        estimated = round(account.as_sent.tokens_sent / account.scale)
        self._session.billing.remember(self._at)
        return self._session.billing.expect(self._endpoint.dialect, request, profile, self._at, estimated)

    def _marked(self, body: bytes) -> bytes:
        """The request with a marker at the frontier, where new decisions change what was sent before."""
        account, endpoint = self.account, self._endpoint
        if account.changed_from is None or account.mode != "on" or endpoint.counts or endpoint.dialect != "anthropic":
            return body
        try:
            return self._with_frontier(body, account.changed_from) or body
        except Exception as error:  # a marker saves something; a request without one is as good
            events.log_passed_on("marker", type(error).__name__)
            return body

    def _with_frontier(self, body: bytes, changed: int) -> bytes | None:
        """Nothing that only this process knows goes into it: whoever sends the same sends the same."""
        request = read_request(body)
        if request is None or not any(True for _ in markers(request)):
            return None  # a client that sets no marker does not want to pay for what is written
        profile = self._session.billing.profile(_model_of(request))
        users = (at for at in range(changed - 1, -1, -1) if fields_of(request.messages[at]).get("role") == "user")
        made = (with_marker(request, index, profile.breakpoints) for index in islice(users, 1))
        return next((data for data in made if data is not None), None)


def _projection(session: Session, data: bytes | RequestBody, manner: Manner | None) -> Projection:
    if manner is None:
        account = Account(policy="", mode="off")
        return Projection(data if isinstance(data, bytes) else data.data, (), account)
    return session.projection(data, explained=False, manner=manner)


def _model_of(request: RequestBody) -> str | None:
    model = request.fields.get("model")
    return model if isinstance(model, str) else None
