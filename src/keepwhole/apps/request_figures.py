"""Figures of a session's requests: tokens, cost, and when the window would have been full.

Owns: the arithmetic over requests on record. What a provider billed counts where it said so; where it did not, nothing
is made up.
Must not know: where the requests come from, how figures are printed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from keepwhole.canonical.entry import HIDDEN_ROUND, Request, Response
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.models.profiles import Profile, input_price
from keepwhole.models.thresholds import Thresholds
from keepwhole.models.unmanaged import ClientRequest, UnmanagedClient
from keepwhole.recall.names import OFFERED_TOKENS
from keepwhole.record.bills import sent_at

ProfileOf: TypeAlias = Callable[[str], Profile]
_MILLION = 1_000_000


class Cost(NamedTuple):
    """The cost of the input as it was sent, and as it would have been with `mode: off`, the client's own compaction
    included; in tokens at the price of uncached input."""

    paid: float = 0.0
    whole: float = 0.0
    dollars: float | None = 0.0
    """The cost as sent in dollars; None where the price of a model is unknown."""
    dollars_whole: float | None = 0.0
    compactions: int = 0
    """How often the client would have compacted with `mode: off`."""
    by_plan: bool = False
    """Whether a part of it was sent by a client that is signed in with a plan, so that dollars are no bill."""

    def __add__(self, other: "Cost") -> "Cost":  # type: ignore[override]
        """The sum of both."""
        return Cost(
            self.paid + other.paid,
            self.whole + other.whole,
            _sum(self.dollars, other.dollars),
            _sum(self.dollars_whole, other.dollars_whole),
            self.compactions + other.compactions,
            self.by_plan or other.by_plan,
        )


def turns(steps: Iterable[LoggedRequest]) -> list[LoggedRequest]:
    """The requests of the conversation itself, without token counts and side calls."""
    return [step for step in steps if step.request.purpose in ("turn", "compaction", HIDDEN_ROUND)]


def billed(step: LoggedRequest) -> int | None:
    """Input tokens that the provider reported, cached or not; None where it reported none."""
    return None if step.response is None else step.response.input


def sizes(step: LoggedRequest) -> tuple[float, float]:
    """The tokens of a request as sent and whole, scaled to the provider's count where there is one."""
    count, sent = billed(step), step.request.tokens_sent
    scale = count / sent if count and sent else 1.0
    return sent * scale, step.request.tokens_whole * scale


def is_unchanged(step: LoggedRequest) -> bool:
    """Whether a request was sent exactly as the client meant it."""
    request = step.request
    is_whole = not request.edited and request.tokens_sent == request.tokens_whole
    return is_whole and not request.recall and request.purpose != HIDDEN_ROUND


def branches(steps: Iterable[LoggedRequest]) -> list[list[LoggedRequest]]:
    """The steps of each branch of a session, in order."""
    found: dict[str, list[LoggedRequest]] = {}
    for step in steps:
        found.setdefault(step.request.branch, []).append(step)
    return list(found.values())


def cost_of(steps: Sequence[LoggedRequest], profile_of: ProfileOf) -> Cost | None:
    """The cost of a session's requests; None where the provider reported no usage, or nobody knows what came.

    With `mode: off`, every request is taken to find all of the one before it in the cache, unless the cache had surely
    forgotten it: that is the best that can happen, so a saving is rather more than it says here. A request that the
    window could not hold has no price: the client would have compacted. Nor has a hidden round, nor what it has read.
    A conversation in which nothing was changed would have cost the same, whatever its cache did.
    """
    return sum_of(cost for _, cost in _costs(steps, profile_of))


def costs_of(steps: Sequence[LoggedRequest], profile_of: ProfileOf) -> dict[int, Cost]:
    """The cost of each request that was billed, by the number of its entry; together they are `cost_of`."""
    return dict(_costs(steps, profile_of))


def _costs(steps: Sequence[LoggedRequest], profile_of: ProfileOf) -> Iterator[tuple[int, Cost]]:
    for branch in branches(turns(steps)):
        yield from _costs_of_branch(branch, profile_of)


def billed_tokens(steps: Iterable[LoggedRequest]) -> dict[str, int]:
    """The tokens that providers billed, in all."""
    answers = [step.response for step in steps if step.response is not None]
    return {key: sum(getattr(one, key) or 0 for one in answers) for key in ("input", "cached", "written", "output")}


def current_request(steps: Iterable[LoggedRequest]) -> LoggedRequest | None:
    """The request that fills the window now: the newest of the longest branch that was answered, else the newest."""
    asked = [step for step in turns(steps) if step.request.purpose != "compaction"]
    none: list[LoggedRequest] = []
    longest = max(branches(asked), key=len, default=none)
    answered = [step for step in longest if step.outcome in ("complete", "incomplete")]
    return (answered or longest or [None])[-1]


def sum_of(costs: Iterable[Cost | None]) -> Cost | None:
    """The sum of the costs that are known; None where none is."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Cost()) if known else None


def _costs_of_branch(steps: Sequence[LoggedRequest], profile_of: ProfileOf) -> Iterator[tuple[int, Cost]]:
    answers = [(step, step.response) for step in steps if step.response is not None and billed(step) is not None]
    answers = [(step, answer) for step, answer in answers if step.request.tokens_whole]
    is_cached = any(answer.cached for _, answer in answers)
    is_same = all(map(is_unchanged, steps))
    largest = max((answer.input or 0 for _, answer in answers), default=0)
    client, before, history, used = UnmanagedClient(), 0, _History(), 0.0
    for number, (step, answer) in enumerate(answers):
        profile = profile_of(step.model)
        profile = profile.replace(window=max(profile.window, largest))  # what was billed has fitted
        paid = _paid(answer, profile)
        size = history.size_with(step.request, answer.input or 0)
        found = before if number else round(size * (answer.cached or 0) / max(1, answer.input or 0))
        shared = min(size, found) if is_cached else 0
        at = sent_at(step.request, answer)
        cold, used = not answer.cached and at - used > profile.lifetime, at
        cost_before, compactions = client.cost, client.compactions
        if step.request.purpose != HIDDEN_ROUND:
            write = profile.write if answer.written else 1.0
            client.send(ClientRequest(size, shared, cold), profile.replace(write=write, minimum=0))
            before = size
        price = input_price(step.model)
        rate = None if price is None else price / _MILLION
        whole = paid if is_same else client.cost - cost_before
        more = 0 if is_same else client.compactions - compactions
        cost = Cost(paid, whole, _times(rate, paid), _times(rate, whole), more, bool(step.request.by_plan))
        yield step.seq, cost


class _Counted(NamedTuple):
    """One request: its estimated tokens whole and as sent, and those that were billed."""

    whole: float = 0.0
    sent: float = 0.0
    billed: int = 0


class _History:
    """The size of a client's whole history in tokens as they are billed, request by request, without hidden rounds.

    A bill says how large a request was as sent. What was left out of it is known in estimated tokens alone, and how
    many tokens are billed for one of these differs from text to text. So only what is new is converted: a batch, after
    which other texts are billed than before, does not change the size of the history.
    """

    def __init__(self) -> None:
        self._size, self._scale = 0.0, 1.0
        self._before = _Counted()
        self._recalled = 0.0
        """What hidden rounds have added to it."""

    def size_with(self, request: Request, billed: int) -> int:
        """The size with this request, which was billed with so many tokens."""
        self._scale = request.scale or self._scale
        whole, sent = request.tokens_whole / self._scale, request.tokens_sent / self._scale
        ratio = billed / sent if sent else 1.0
        if request.recall == "tools" and sent > OFFERED_TOKENS:  # the client itself would not have sent them
            whole, sent, billed = whole - OFFERED_TOKENS, sent - OFFERED_TOKENS, round(billed - ratio * OFFERED_TOKENS)
        before, self._before = self._before, _Counted(whole, sent, billed)
        size_before = self._size
        if whole < before.whole or not before.billed:  # the client went back or has compacted, or is new
            self._size, self._recalled = billed + ratio * (whole - sent), 0.0
        elif request.decisions or sent < before.sent:
            self._size += ratio * (whole - before.whole)
        else:
            left_out = (whole - before.whole) - (sent - before.sent)
            self._size += billed - before.billed + ratio * left_out
        if request.purpose == HIDDEN_ROUND:
            self._recalled += self._size - size_before
        return round(self._size - self._recalled)


def _paid(answer: Response, profile: Profile) -> float:
    """The cost of a request as it was billed."""
    cached, written = answer.cached or 0, answer.written or 0
    plain = max(0, (answer.input or 0) - cached - written)
    return (plain + cached * profile.read + written * profile.write) * profile.factor(answer.input or 0)


def first_full(steps: Sequence[LoggedRequest], profile_of: ProfileOf, *, whole: bool) -> int | None:
    """The number of the first step at which a client would compact, as sent or whole; None where there is none."""
    share = Thresholds().compact
    for number, step in enumerate(steps, 1):
        if sizes(step)[whole] >= share * profile_of(step.model).window:
            return number
    return None


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _times(rate: float | None, amount: float) -> float | None:
    return None if rate is None else rate * amount
