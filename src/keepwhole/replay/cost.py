"""What requests cost, in tokens at the input price.

Owns: prices, the cost of requests under each kind of cache, and of buying back what was missing.
Left out, for all policies alike: tool schemas, the model's own output, eviction.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.models.profiles import Profile
from keepwhole.replay.cache import Usage

Mode: TypeAlias = Literal["prefix", "tail", "explicit"]
"""Longest common prefix; breakpoints at request ends; explicit breakpoints with look-back and lifetime."""
CALL_TOKENS = 40
"""What a model writes to fetch something back."""


class Price(NamedTuple):
    """A provider's prices against the input price, and what its cache asks for."""

    read: float = 0.10
    write: float = 1.25
    minimum: int = 1_024
    block: int = 1
    """Hits are whole blocks of so many tokens."""
    out: float = 5.0
    """Price of a token that the model writes."""
    input: float | None = None
    """Dollars for a million tokens that are not cached, where known."""


def price_of(profile: Profile, input: float | None = None) -> Price:
    """The prices of a profile; `input` from `projection.profiles.input_price`."""
    return Price(profile.read, profile.write, profile.minimum, input=input)


PRICES: dict[str, Price] = {".10": Price(0.10, 1.25), ".05": Price(0.05, 1.25), ".02": Price(0.02, 1.0)}
"""Read prices of November 2026, with the write price each comes with."""


class Request(NamedTuple):
    """One request in figures."""

    total: int
    prefix: int
    """Tokens of the longest common prefix with the request before."""
    tail: int
    """Tokens up to the last intact request end."""
    explicit: Usage


class Loss(NamedTuple):
    """A result that is missing something a step needs."""

    step: int
    source: int
    got: int
    """Tokens that an oracle would fetch: three lines round each missing string."""
    whole: int
    """Tokens of the whole result."""


class Asked(NamedTuple):
    """One search in a step that misses something."""

    step: int
    got: int
    """Tokens of the page."""
    missing: int
    """Pieces of evidence that the step misses."""
    hits: int
    """Those that the page shows in context."""
    again: tuple[int, ...] = ()
    """Tokens of the results that have to be made again, since the page lacks what is missing of them."""


def cached(request: Request, price: Price, mode: Mode = "prefix") -> float:
    """The cost of one request.

    >>> cached(Request(3000, 2000, 2000, Usage(2000, 1000, 0)), Price(0.1, 1.25))
    1450.0
    """
    if mode == "explicit":
        usage = request.explicit
        return price.read * usage.read + price.write * usage.written + usage.plain
    hit = request.prefix if mode == "prefix" else request.tail
    hit = hit - hit % price.block if hit >= price.minimum else 0
    return price.read * hit + price.write * (request.total - hit)


def sending(requests: Iterable[Request], price: Price, mode: Mode = "prefix") -> float:
    """The cost of all requests of a run."""
    return sum(cached(request, price, mode) for request in requests)


def buying_back(requests: Sequence[Request], losses: Iterable[Loss], price: Price, rerun: bool = False) -> float:
    """The cost of fetching what was missing, or of running the tools again: a round trip each, then it stays."""
    return sum(_round_trip(requests, loss.step, loss.whole if rerun else loss.got, price) for loss in losses)


def buying_blind(requests: Sequence[Request], asked: Iterable[Asked], price: Price) -> float:
    """The cost of searching for what was missing, and of running the tools again for what was not found."""
    return sum(_round_trip(requests, one.step, got, price) for one in asked for got in (one.got, *one.again))


def _round_trip(requests: Sequence[Request], step: int, got: int, price: Price) -> float:
    left = len(requests) - 1 - step
    cost = price.read * requests[step].total + got * (price.write + price.read * left)
    return cost + CALL_TOKENS * price.out
