"""A conversation whose requests go through an exchange to a provider that bills them. The test moves the clock."""

import json
from typing import Any

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.outgoing_request import HiddenRounds
from keepwhole.policies.settings import CAREFUL
from keepwhole.wire.dialects import Endpoint, conversation_dialect
from keepwhole.wire.request_body import read_request
from tests.upstream.agent import Agent
from tests.upstream.bills import Bills

EAGER = CAREFUL.replace(
    start=4_000, worth=0, horizon=10, clear_at_least=1_000, min_tokens=50, keep_steps=1, max_loss=1_000
)
"""Settings of `auto` under which results age after a few steps."""


class BilledConversation:
    """One conversation, request by request; `pause` is the number of seconds between two requests."""

    def __init__(
        self, dialect: str, bills: Bills | None = None, window: int = 400_000, pause: float = 10, **settings: Any
    ) -> None:
        self.agent, self.bills = Agent(dialect), bills or Bills(dialect)
        self.now, self.pause = 1_000_000.0, pause
        models = {self.agent.model: {"window": window}}
        made = Settings(home="unused", models=models, **{"auto": EAGER, "recall": "off", **settings})
        self.session = Session("talk", store=MemoryStore(), settings=made, clock=lambda: self.now)
        self.rounds = HiddenRounds(self.session)
        self.steps = 0
        self.sent: list[bytes] = []

    @property
    def billing(self) -> Any:
        """What the session has learned from bills."""
        return self.session.billing

    def begin(self, counts: bool = False) -> Exchange:
        """Begin the exchange of the next request; nothing is sent yet. `counts` asks for a count of tokens only."""
        request = read_request(self.agent.body())
        assert request is not None
        endpoint = Endpoint(conversation_dialect(self.agent.dialect), counts)
        return Exchange(self.session, self.rounds, endpoint, request).begin()

    def step(self, result: str | None = None, streamed: bool = False) -> Exchange:
        """Add a call with its result, send the request and finish it with the provider's bill."""
        self.agent.step(self.steps, f"{self.steps}: " + (result or "some words of a result, " * 60))
        self.steps += 1
        exchange = self.begin()
        self.sent.append(exchange.body)
        exchange.learn_bill(200, self.bills.answer(exchange.body, self.now, streamed), complete=True)
        self.now += self.pause
        return exchange


def count_markers(body: bytes) -> int:
    """The number of cache markers in a request."""
    return json.dumps(json.loads(body)).count('"cache_control"')
