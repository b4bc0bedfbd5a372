"""One proxied request: how far it has come, and what its answers were.

Owns: the figures of one request, and the order in which its answers are learned from and recorded.
Must not know: sockets.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.apps.proxy.credentials import Credential, CredentialMask
from keepwhole.canonical.round_times import RoundTimes, times_between
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.request_log import Outcome
from keepwhole.policies.account import Account
from keepwhole.wire.dialects import Endpoint
from keepwhole.wire.rate_limits import limits_text
from keepwhole.wire.usage import Usage

_UNTRACED: Mapping[str, str] = MappingProxyType({})


class Answer(NamedTuple):
    """The provider's answer to one round."""

    number: int
    status: int
    read: Callable[[], bytes]
    """Returns the whole answer; unpacking it takes a while."""
    is_stream: bool
    is_cut: bool
    took: RoundTimes
    limits: str | None
    """The provider's rate limits, as its headers told them."""


class ProxiedRequest:
    """One request from its head to its record."""

    def __init__(
        self, endpoint: Endpoint | None, trace: Mapping[str, str] = _UNTRACED, shown: Sequence[Credential] = ()
    ) -> None:
        """`shown` are the client's credentials: they are hidden in everything that is recorded of its answers."""
        self.endpoint = endpoint
        self._shown = shown
        self.trace = trace
        """The headers that name the trace of this request."""
        self._mask: CredentialMask | None = None
        self.upstream = ""
        """The name of the upstream that was asked."""
        self.exchange: Exchange | None = None
        self.status = 0
        self.outcome = "passed"
        """`passed` on unread, `complete`, `incomplete` or `refused`."""
        self.broken = ""
        """The outcome where the client or the provider left: it replaces the outcome of the answered rounds."""
        self.note = ""
        """What went wrong, in a few words without content."""
        self.usage: Usage | None = None
        """Usage of the last round."""
        self.billed = self.cached = self.foreseen = 0
        """Tokens of the input that were billed in all rounds, those of them that the cache served, and those that it
        should have served."""
        self.last_answer: tuple[bytes, bool] | None = None
        """The last round's answer without credentials, and whether it is a stream."""
        self.predicted: int | None = None
        """Tokens of the last round that the cache should have served."""
        self.first = self.seconds = 0.0
        """Seconds until the provider's first byte, and in all."""
        self.arrived = time.time_ns()
        """When the request arrived, by the clock of the machine."""
        self._started = self._begun = self._sent = self._headed = time.monotonic()
        self._round_began = self._started
        """When the request arrived, or the answer before this round ended."""
        self._limits: str | None = None
        self._newest: int | None = None
        """The number of the round that was sent last."""
        self._answers: list[Answer] = []

    def begin(self, exchange: Exchange) -> None:
        """Remember the exchange that the request became; what it records of answers goes through `hide`."""
        self.exchange, exchange.hide = exchange, self.hide

    def hide(self, data: bytes, is_stream: bool = False) -> bytes:
        """The data without the client's credentials."""
        self._mask = self._mask or CredentialMask(self._shown)
        return self._mask(data, is_stream)

    def note_begun(self) -> None:
        """Remember that the request was read and Keepwhole begins to work on it."""
        self._begun = time.monotonic()

    def note_sent(self, number: int) -> None:
        """Remember that a round is sent now."""
        self._sent, self._newest = time.monotonic(), number

    def note_first_byte(self, status: int, headers: Mapping[str, str] = _UNTRACED) -> None:
        """Remember the status of an answer, when its head arrived, and the limits that it tells."""
        self.status, self._headed = status, time.monotonic()
        self.first = self.first or self._headed - self._started
        self._limits = limits_text(headers, time.time())

    def note_answer(
        self, exchange: Exchange, status: int, read: Callable[[], bytes], is_stream: bool, is_cut: bool = False
    ) -> None:
        """Remember the answer to a round at its end; it is read when it is recorded."""
        now = time.monotonic()
        took = times_between(self._round_began, self._begun, self._sent, self._headed, now)
        self._round_began = self._begun = now
        self._answers.append(Answer(exchange.count, status, read, is_stream, is_cut, took, self._limits))

    def figures(self) -> dict[str, str]:
        """The figures for the client, by the names of their headers."""
        exchange = self.exchange
        if exchange is None:
            return {}
        account = exchange.account.as_sent
        figures: dict[str, object] = {"mode": account.mode}
        if exchange.has_record:
            figures |= {"session": exchange.session, "edited": account.edited}
            figures |= {"tokens-whole": account.tokens_whole, "tokens-sent": account.tokens_sent}
            figures |= _would_be(exchange.account) if account.mode == "shadow" else {}
        figures |= {"decisions": account.new_decisions} if account.new_decisions else {}
        figures |= {"unstored": account.unstored} if account.unstored else {}
        figures |= {"cut-by-client": account.cut_by_client} if account.cut_by_client else {}
        if exchange.count:
            figures |= {"rounds": exchange.count + 1}
            figures |= {name.replace("_", "-"): count for name, count in exchange.tokens.items()}
        figures |= {"note": exchange.trouble} if exchange.trouble else {}
        return {name: str(value) for name, value in figures.items()}

    def end(self) -> None:
        """Stop the clock: the client has its answer."""
        self.seconds = time.monotonic() - self._started

    def finish(self) -> None:
        """Learn from the answers and record them; runs on a worker thread."""
        if self.exchange is not None:
            self._record_answers(self.exchange)
        self._answers.clear()
        self._shown, self._mask = (), None
        self.outcome = self.broken or self.outcome

    def _record_answers(self, exchange: Exchange) -> None:
        if exchange.is_unsettled:  # it was never sent, or the client left before it was settled
            exchange.settle()
        for answer in self._answers:
            data = answer.read()
            outcome = _outcome(exchange, answer, data)
            usage = exchange.learn_bill(answer.status, data, outcome == "complete")
            recorded = self.hide(exchange.as_events(data), answer.is_stream)
            exchange.record(answer.number, answer.status, recorded, outcome, usage, answer.took, answer.limits)
            self.outcome, self.usage, self.last_answer = outcome, usage, (recorded, answer.is_stream)
            expected = exchange.expected_of(answer.number)
            self.predicted = expected.cached if expected is not None else None
            if usage is not None:
                self.billed, self.cached = self.billed + usage.input, self.cached + usage.cached
                self.foreseen += self.predicted or 0
        if self._newest is not None and all(answer.number != self._newest for answer in self._answers):
            exchange.record_unanswered(self._newest)


def _outcome(exchange: Exchange, answer: Answer, data: bytes) -> Outcome:
    if answer.status != 200:
        return "refused"
    is_complete = not answer.is_cut and exchange.is_whole(data, answer.is_stream)
    return "complete" if is_complete else "incomplete"


def _would_be(account: Account) -> dict[str, object]:
    """What would be shown otherwise, and sent, if it were not the shadow."""
    return {"would-edit": account.edited, "would-send": account.tokens_sent}
