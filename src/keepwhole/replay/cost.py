"""What requests cost, in tokens at the input price.

Owns: prices, the cost of requests under each cache rule, and the cost of fetching back what was missing.
Left out, for all policies alike: the client's tool schemas, the model's own output, eviction.

Theory of operation
-------------------
All costs are in one unit, tokens at the price of an uncached input token, so that they can be added and compared.
Reading from the cache costs `read` (0.10) of it, writing to the cache `write` (1.25), an output token `out` (5).

*Sending.* A request of 3,000 tokens of which 2,000 are read from the cache costs `0.10 · 2000 + 1.25 · 1000 = 1450`.

*Compacting.* Before a request that would reach nine tenths of the window the client has a summary written: what it sent
last is read once more, and `SUMMARY` tokens are written. So what everything costs is what `models.unmanaged` estimates.

*Fetching back.* If a step misses something that it used, the agent would have had to fetch it. That is one more round
trip: the request of that step is sent again (all cached), the model writes a call of `RECALL_TOKENS`, and the fetched
tokens are written to the cache once and read by every later request. For 200 fetched tokens at step 4 of 10, where the
request has 30,000 tokens:

    0.10 · 30000  +  200 · (1.25 + 0.10 · 5)  +  40 · 5   =   3000 + 350 + 200   =   3550

This is charged under three assumptions, from optimistic to pessimistic: an oracle fetches exactly the missing lines
(`refetch_cost`); an agent searches with the words it has and runs the tools again for what it does not find
(`blind_search_cost`); the agent runs every tool again (`refetch_cost` with `rerun`).

*All-in cost* is sending plus fetching back, and the figure by which policies are compared: a policy that hides much is
cheap to send and expensive to live with.

Invariants:
- A missing result is fetched once per step, however many strings of it are missing.
- Below `minimum` tokens nothing is cached, and a hit is a whole number of `block`s.
- Sending everything has no losses, so its all-in cost is its sending cost and its ratio is exactly 1.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.models.ledger import RECALL_TOKENS
from keepwhole.models.profiles import Profile
from keepwhole.models.unmanaged import SUMMARY
from keepwhole.replay.cache import CacheUsage

CacheRule: TypeAlias = Literal["prefix", "tail", "explicit"]
"""Longest common prefix; breakpoints at request ends; explicit breakpoints with look-back and lifetime."""


class Price(NamedTuple):
    """A provider's prices relative to the input price, and the limits of its cache."""

    read: float = 0.10
    write: float = 1.25
    minimum: int = 1_024
    block: int = 1
    """Hits are multiples of this number of tokens."""
    out: float = 5.0
    """The price of a token that the model writes."""
    input: float | None = None
    """Dollars for a million uncached tokens, where known."""


def price_of(profile: Profile, input: float | None = None) -> Price:
    """Return the prices of a profile; `input` comes from `models.profiles.input_price`."""
    return Price(profile.read, profile.write, profile.minimum, input=input)


PRICES: dict[str, Price] = {".10": Price(0.10, 1.25), ".05": Price(0.05, 1.25), ".02": Price(0.02, 1.0)}
"""By read price, the prices of November 2026."""


class RequestTokens(NamedTuple):
    """The tokens of one request, and how many of them each cache rule reads from the cache."""

    total: int
    prefix: int
    """Tokens of the longest common prefix with the request before."""
    tail: int
    """Tokens up to the last unchanged request end."""
    explicit: CacheUsage
    summarized: int = 0
    """Tokens that were read, all from the cache, to have a summary written before it."""


class Loss(NamedTuple):
    """A result of which a step misses something."""

    step: int
    source: int
    """The number of the result; for the arguments of a call below 0."""
    fetched: int
    """Tokens that an oracle would fetch: three lines on either side of each missing string."""
    whole: int
    """Tokens of the whole result."""


class BlindSearch(NamedTuple):
    """One search of a step that misses something, by an agent that does not know what it misses."""

    step: int
    fetched: int
    """Tokens of the first page."""
    missing: int
    """Pieces of evidence that the step misses."""
    hits: int
    """Pieces of it that the page shows in context."""
    rerun: tuple[int, ...] = ()
    """Tokens of the results that have to be produced again, since the page does not show what is missing of them."""


def request_cost(request: RequestTokens, price: Price, rule: CacheRule = "prefix") -> float:
    """Return the cost of one request.

    >>> request_cost(RequestTokens(3000, 2000, 2000, CacheUsage(2000, 1000, 0)), Price(0.1, 1.25))
    1450.0
    """
    summary = price.read * request.summarized + price.out * SUMMARY if request.summarized else 0.0
    if rule == "explicit":
        usage = request.explicit
        return summary + price.read * usage.read + price.write * usage.written + usage.uncached
    hit = request.prefix if rule == "prefix" else request.tail
    hit = hit - hit % price.block if hit >= price.minimum else 0
    return summary + price.read * hit + price.write * (request.total - hit)


def sending_cost(requests: Iterable[RequestTokens], price: Price, rule: CacheRule = "prefix") -> float:
    """Return the cost of all requests of a run."""
    return sum(request_cost(request, price, rule) for request in requests)


def refetch_cost(requests: Sequence[RequestTokens], losses: Iterable[Loss], price: Price, rerun: bool = False) -> float:
    """Return the cost of fetching what was missing, or with `rerun` of running the tools again."""
    return sum(_round_trip(requests, loss.step, loss.whole if rerun else loss.fetched, price) for loss in losses)


def blind_search_cost(requests: Sequence[RequestTokens], searches: Iterable[BlindSearch], price: Price) -> float:
    """Return the cost of searching for what was missing, and of running the tools again for what was not found."""
    fetched = ((one.step, tokens) for one in searches for tokens in (one.fetched, *one.rerun))
    return sum(_round_trip(requests, step, tokens, price) for step, tokens in fetched)


def _round_trip(requests: Sequence[RequestTokens], step: int, fetched: int, price: Price) -> float:
    later = len(requests) - 1 - step
    cost = price.read * requests[step].total + fetched * (price.write + price.read * later)
    return cost + RECALL_TOKENS * price.out
