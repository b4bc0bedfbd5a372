"""Figures of a session's requests: tokens, cost, and when the window would have been full.

Owns: the arithmetic over requests on record. What a provider billed counts where it said so; where it did not, nothing
is made up.
Must not know: where the requests come from, how figures are printed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias

from keepwhole.apps.conversations import BranchConversations, Conversation
from keepwhole.canonical.entry import HIDDEN_ROUND, Request, Response
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.models.profiles import HOUR, Profile, input_price, profile_for
from keepwhole.models.thresholds import Thresholds
from keepwhole.models.unmanaged import ClientRequest, UnmanagedClient
from keepwhole.recall.names import OFFERED_TOKENS
from keepwhole.record.bills import sent_at

ProfileOf: TypeAlias = Callable[[LoggedRequest], Profile]
"""Finds the profile of the model that a request asks."""
_Names: TypeAlias = tuple[str, str | None]
"""The model that a request asks for, and the one that the provider says it used."""
_MILLION = 1_000_000
_PRICES = 16
_TURNS = frozenset(("turn", "compaction", HIDDEN_ROUND))


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


def profiles_with(overrides: Mapping[str, Mapping[str, object]]) -> ProfileOf:
    """The one way in which any figure comes to the profile of a request: by the name that it asks for, and the one that
    the provider says it used, with what the settings say of either under `models`."""

    @lru_cache(maxsize=64)
    def profile_of(model: str, answered_by: str | None) -> Profile:
        return profile_for(model, overrides, answered_by)

    return lambda step: profile_of(step.request.model, step.answered_by)


def turns(steps: Iterable[LoggedRequest]) -> list[LoggedRequest]:
    """The requests of the conversation itself, without token counts and side calls."""
    return [step for step in steps if step.request.purpose in _TURNS]


def billed(step: LoggedRequest) -> int | None:
    """Input tokens that the provider reported, cached or not; None where it reported none."""
    return None if step.response is None else step.response.input


def sizes(step: LoggedRequest) -> tuple[float, float]:
    """The tokens of a request as sent and whole, scaled to the provider's count where there is one."""
    return sizes_of(step.request, step.response)


def sizes_of(request: Request, response: Response | None) -> tuple[float, float]:
    """The same of a request and its answer."""
    scale = bill_scale(request, response)
    return request.tokens_sent * scale, request.tokens_whole * scale


def bill_scale(request: Request, response: Response | None) -> float:
    """Tokens that were billed for an estimated one of a request; 1 where it has no bill."""
    count = None if response is None else response.input
    return count / request.tokens_sent if count and request.tokens_sent else 1.0


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
    costs = RunningCosts(profile_of)
    for step in steps:
        costs.add(step)
    return costs.total


def sum_of(costs: Iterable[Cost | None]) -> Cost | None:
    """The sum of the costs that are known; None where none is."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Cost()) if known else None


class RunningCosts:
    """The cost of each request of a session, kept up to date as requests and their answers are added.

    A new answer has its own cost computed and no other, unless it says something of the whole branch: that its cache
    serves anything, that a request of it was changed, or that one was larger than the window. Then that branch is
    computed anew, which happens a few times in a session, however long it is.
    """

    def __init__(self, profile_of: ProfileOf) -> None:
        self._profile_of = profile_of
        self._branches: dict[str, _BranchCosts] = {}

    def add(self, step: LoggedRequest) -> None:
        """Take in a request, or the answer of one that was taken in without it."""
        if step.request.purpose in _TURNS:
            branch = self._branches.get(step.request.branch)
            if branch is None:
                branch = self._branches[step.request.branch] = _BranchCosts(self._profile_of)
            branch.add(step)

    @property
    def total(self) -> Cost | None:
        """The cost of all requests; None where no provider reported any usage."""
        return sum_of(branch.total for branch in self._branches.values())

    def of(self, step: LoggedRequest) -> Cost | None:
        """The cost of one request; None where it was not billed."""
        branch = self._branches.get(step.request.branch)
        return None if branch is None else branch.costs().get(step.seq)

    def by_seq(self) -> list[tuple[int, Cost]]:
        """The cost of each request that was billed, by the number of its entry, in their order."""
        found = [list(branch.costs().items()) for branch in self._branches.values()]
        return found[0] if len(found) == 1 else sorted(chain.from_iterable(found))


class _BranchCosts:
    """The costs of one branch."""

    def __init__(self, profile_of: ProfileOf) -> None:
        self._profile_of = profile_of
        self._answered: list[tuple[LoggedRequest, Response]] = []
        self._known: dict[int, Response] = {}
        self._is_same, self._is_cached, self._largest = True, False, 0
        self._profiles: dict[_Names, Profile] = {}
        self._unmanaged: dict[tuple[_Names, float], Profile] = {}
        self._rate_of = lru_cache(_rate)
        self._restart()

    def _restart(self) -> None:
        self._costs: dict[int, Cost] = {}
        self._total: Cost | None = None
        self._conversations = BranchConversations(_PricedConversation)
        self._next = 0
        """How many of the answers have their cost."""
        self._profiles.clear()
        self._unmanaged.clear()

    def add(self, step: LoggedRequest) -> None:
        answer = step.response
        if self._is_same and not is_unchanged(step):
            self._is_same = False
            self._restart()
        if answer is None or answer.input is None or not step.request.tokens_whole:
            return
        if self._known.get(step.seq) is answer:
            return
        self._known[step.seq] = answer
        if self._answered and self._answered[-1][0].seq >= step.seq:  # answers may come in another order
            others = [pair for pair in self._answered if pair[0].seq != step.seq]
            self._answered = sorted([*others, (step, answer)], key=lambda pair: pair[0].seq)
            self._restart()
        else:
            self._answered.append((step, answer))
        if answer.cached and not self._is_cached:
            self._is_cached = True
            self._restart()
        if answer.input > self._largest:
            self._largest = answer.input
            if any(self._largest > profile.window for profile in self._profiles.values()):
                self._restart()

    @property
    def total(self) -> Cost | None:
        self.costs()
        return self._total

    def costs(self) -> dict[int, Cost]:
        """The cost of each request that was billed, by the number of its entry, in their order."""
        for step, answer in self._answered[self._next :]:
            cost = self._costs[step.seq] = self._cost(step, answer)
            self._total = cost if self._total is None else self._total + cost
            self._next += 1
        return self._costs

    def _cost(self, step: LoggedRequest, answer: Response) -> Cost:
        billed = answer.input or 0
        profile = self._profile(step)
        paid = _paid(answer, profile)
        own = self._conversations.going_on_with(step.seq, step.request)
        size = own.history.size_with(step.request, billed)
        found = own.before if own.model == step.model else round(size * (answer.cached or 0) / max(1, billed))
        shared = min(size, found) if self._is_cached else 0
        at = sent_at(step.request, answer)
        lifetime = max(profile.lifetime, HOUR) if own.lives_an_hour else profile.lifetime
        cold, own.used = not answer.cached and at - own.used > lifetime, at
        own.lives_an_hour |= bool(answer.written_hour)
        cost_before, compactions = own.client.cost, own.client.compactions
        if step.request.purpose != HIDDEN_ROUND:
            own.client.send(ClientRequest(size, shared, cold), self._as_unmanaged(step, answer))
            own.before, own.model = size, step.model
        rate = self._rate_of(step.model)
        whole = paid if self._is_same else own.client.cost - cost_before
        more = 0 if self._is_same else own.client.compactions - compactions
        return Cost(paid, whole, _times(rate, paid), _times(rate, whole), more, bool(step.request.by_plan))

    def _profile(self, step: LoggedRequest) -> Profile:
        """The profile of a request's model, with a window that holds what was billed."""
        names = step.request.model, step.answered_by
        known = self._profiles.get(names)
        if known is None:
            profile = self._profile_of(step)
            known = self._profiles[names] = profile.replace(window=max(profile.window, self._largest))
        return known

    def _as_unmanaged(self, step: LoggedRequest, answer: Response) -> Profile:
        """The same with the price of writing that a client with `mode: off` pays where it has its requests cached as
        in this one."""
        profile = self._profile(step)
        key = (step.request.model, step.answered_by), _write_price(answer, profile)
        known = self._unmanaged.get(key)
        if known is None:
            if len(self._unmanaged) > _PRICES:  # some requests have entries for an hour and others for minutes
                self._unmanaged.clear()
            known = self._unmanaged[key] = profile.replace(write=key[1], minimum=0)
        return known


class _PricedConversation(Conversation):
    """A conversation with what it would have cost with `mode: off`.

    One that its client has compacted, or gone back in, is a new one: what its cache serves of that, it would have
    served with `mode: off` too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.client, self.history = UnmanagedClient(), _History()
        self.before, self.used = 0, 0.0
        """The size of its last request with `mode: off`, and when that was sent."""
        self.model: str | None = None
        """The model of its last request; another one finds nothing of it in the cache."""
        self.lives_an_hour = False
        """Whether entries of the cache were wanted to live for an hour."""


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
    price = plain + cached * profile.read + written * _write_price(answer, profile)
    return price * profile.factor(answer.input or 0)


def _write_price(answer: Response, profile: Profile) -> float:
    """The price of a token that was written to the cache, on average; that of any other where none was."""
    if not answer.written:
        return 1.0
    hour = min(1.0, (answer.written_hour or 0) / answer.written)
    return hour * profile.write_hour + (1 - hour) * profile.write


def first_full(steps: Sequence[LoggedRequest], profile_of: ProfileOf, *, whole: bool) -> int | None:
    """The number of the first step at which a client would compact, as sent or whole; None where there is none."""
    share = Thresholds().compact
    for number, step in enumerate(steps, 1):
        if sizes(step)[whole] >= share * profile_of(step).window:
            return number
    return None


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _rate(model: str) -> float | None:
    """The dollars for one uncached token."""
    price = input_price(model)
    return None if price is None else price / _MILLION


def _times(rate: float | None, amount: float) -> float | None:
    return None if rate is None else rate * amount
