"""What there is to say of one request: to the client in headers, to whoever watches in a line, to the record.

Owns: the figures of one request, and that looking at an answer never breaks it.
Must not know: sockets.
"""

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.request_log import Outcome
from keepwhole.wire.dialects import Endpoint
from keepwhole.wire.usage import Usage

_UNTRACED: Mapping[str, str] = MappingProxyType({})


class Round(NamedTuple):
    """One answer of the provider, as it ended."""

    number: int
    status: int
    data: bytes
    is_stream: bool
    is_cut: bool
    took: tuple[int, int]


class Turn:
    """One request, as far as it has come."""

    def __init__(self, endpoint: Endpoint | None, traced: Mapping[str, str] = _UNTRACED) -> None:
        self.endpoint = endpoint
        self.traced = traced
        """Headers that say which trace a request belongs to."""
        self.exchange: Exchange | None = None
        self.status = 0
        self.outcome = "passed"
        """`passed` on unread, `complete`, `incomplete` or `refused`."""
        self.broken = ""
        """What it became after all rounds whose answer came: the client left, or the provider did."""
        self.note = ""
        """What went wrong, in a few words without content."""
        self.usage: Usage | None = None
        """Of the last round."""
        self.predicted: int | None = None
        """Tokens of the last round that the cache should have served."""
        self.first = 0.0
        """Seconds until the provider's first byte."""
        self.seconds = 0.0
        self._started = self._sent = time.monotonic()
        self._newest: int | None = None
        """The number of the round that went out last."""
        self._rounds: list[Round] = []

    def sent(self, number: int) -> None:
        """A round goes out."""
        self._sent, self._newest = time.monotonic(), number

    def first_byte(self, status: int) -> None:
        """The head of an answer came."""
        self.status = status
        self.first = self.first or time.monotonic() - self._started

    def said(self) -> dict[str, str]:
        """What the client is told in headers."""
        exchange = self.exchange
        if exchange is None:
            return {}
        account = exchange.account.as_sent
        told: dict[str, object] = {"mode": account.mode}
        if exchange.has_record:
            told |= {"session": exchange.session, "edited": account.edited}
            told |= {"tokens-whole": account.tokens_whole, "tokens-sent": account.tokens_sent}
        told |= {"decisions": account.new_decisions} if account.new_decisions else {}
        told |= {"unstored": account.unstored} if account.unstored else {}
        if exchange.count:
            told |= {"rounds": exchange.count + 1}
            told |= {name.replace("_", "-"): count for name, count in exchange.tokens.items()}
        told |= {"note": exchange.trouble} if exchange.trouble else {}
        return {name: str(value) for name, value in told.items()}

    def came(self, exchange: Exchange, status: int, data: bytes, is_stream: bool, is_cut: bool = False) -> None:
        """A round's answer ended."""
        now = time.monotonic()
        took = round((self.first or now - self._started) * 1000), round((now - self._sent) * 1000)
        self._rounds.append(Round(exchange.count, status, data, is_stream, is_cut, took))

    def end(self) -> None:
        """The client has its answer."""
        self.seconds = time.monotonic() - self._started

    def finish(self) -> None:
        """Learn from the answers and put them on record: work for another thread."""
        if self.exchange is not None:
            self._finish(self.exchange)
        self._rounds.clear()
        self.outcome = self.broken or self.outcome

    def _finish(self, exchange: Exchange) -> None:
        if exchange.is_unsettled:  # it was never sent, or nobody waited until it was
            exchange.settle()
        for each in self._rounds:
            outcome = _outcome(exchange, each)
            usage = exchange.finish(each.status, each.data, outcome == "complete")
            exchange.record(each.number, each.status, each.data, outcome, usage, each.took)
            self.outcome, self.usage = outcome, usage
            expected = exchange.expected
            self.predicted = expected.cached if expected is not None else None
        if self._newest is not None and all(each.number != self._newest for each in self._rounds):
            exchange.record_unanswered(self._newest)


def _outcome(exchange: Exchange, each: Round) -> Outcome:
    if each.status != 200:
        return "refused"
    return "complete" if not each.is_cut and exchange.dialect.is_whole(each.data, each.is_stream) else "incomplete"
