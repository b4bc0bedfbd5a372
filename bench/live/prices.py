"""Dollars for tokens, by tier, and the most that a request can cost."""

import re
from math import inf, nan
from typing import NamedTuple

from keepwhole.models.profiles import Profile, input_price, profile_for
from keepwhole.wire.usage import Usage

# Dollars for a million output tokens, November 2026, from the table bundled in litellm 1.106.2.
_OUTPUT = {
    "claude-fable-5": 50.0,
    "claude-fable-5-1": 50.0,
    "claude-haiku-4-5": 5.0,
    "claude-opus-4-5": 25.0,
    "claude-opus-4-6": 25.0,
    "claude-opus-4-7": 25.0,
    "claude-opus-4-8": 25.0,
    "claude-opus-5": 25.0,
    "claude-opus-5-5": 20.0,
    "claude-sonnet-4-5": 15.0,
    "claude-sonnet-4-6": 15.0,
    "claude-sonnet-5": 10.0,
    "claude-sonnet-5-5": 10.0,
    "deepseek-chat": 0.42,
    "deepseek-reasoner": 0.42,
    "deepseek-v4-flash": 1.2,
    "deepseek-v4-pro": 3.96,
    "gemini-2-5-flash": 2.5,
    "gemini-2-5-flash-lite": 0.4,
    "gemini-2-5-pro": 10.0,
    "gemini-3-1-flash-lite": 1.5,
    "gemini-3-1-pro": 12.0,
    "gemini-3-5-flash": 9.0,
    "gemini-3-5-flash-lite": 2.5,
    "gemini-3-6-flash": 3.75,
    "gemini-3-7-flash": 3.75,
    "gemini-3-8-flash": 3.75,
    "gemini-3-flash": 3.0,
    "gemini-4-argon": 10.0,
    "gemini-flash-latest": 3.75,
    "gemini-flash-lite-latest": 2.5,
    "gemini-pro-latest": 12.0,
    "gpt-4-1": 8.0,
    "gpt-4o": 10.0,
    "gpt-5": 10.0,
    "gpt-5-1": 10.0,
    "gpt-5-2": 14.0,
    "gpt-5-4": 15.0,
    "gpt-5-5": 30.0,
    "gpt-5-6": 20.0,
    "gpt-6-sol": 10.0,
    "gpt-6-1-sol": 10.0,
}
_LONG_FROM = {"gpt-5-4": 272_000, "gpt-5-5": 272_000, "gpt-5-6": 272_000, "gpt-6": 272_000}
"""Where input begins to cost twice as much, by beginnings of names, beside what the profiles have."""
_LONG_OUTPUT = 1.5
"""How many times its price output costs there, with every provider that has such a price."""
_OVERHEAD = 2_000
"""Tokens that a provider may add to a request by itself: its own words about tools."""
_IMAGE = 5_000
"""Most tokens of an image."""
_FOR_AN_HOUR = re.compile(rb'(?<!\\)"ttl"\s*:\s*"1h"')
"""A cache marker that writes for an hour; in a text its quotes have backslashes before them."""


class Prices(NamedTuple):
    """Dollars for a million tokens of one model."""

    input: float
    read: float
    write: float
    output: float
    write_hour: float
    """What is written to the cache for an hour."""
    long_from: int = 0
    """Tokens of a request above which its input costs `long_price` times as much; 0 where none does."""
    long_price: float = 1.0

    def dollars(self, usage: Usage, sent: bytes = b"") -> float:
        """Return what a request cost, by its usage; where one cache marker is for an hour, all writes count so."""
        plain = usage.input - usage.cached - usage.written
        given = plain * self.input + usage.cached * self.read + usage.written * self._write_of(sent)
        if 0 < self.long_from < usage.input:
            return (given * self.long_price + usage.output * self.output * _LONG_OUTPUT) / 1e6
        return (given + usage.output * self.output) / 1e6

    def worst(self, sent: bytes, most_output: int) -> float:
        """Return the most that a request can cost: a token has at least one byte, and nothing is cached."""
        tokens = len(sent) + _OVERHEAD + _IMAGE * sent.count(b"image/")
        dearest = max(self.input, self.read, self._write_of(sent)) * (self.long_price if self.long_from else 1.0)
        return (tokens * dearest + most_output * self.output * (_LONG_OUTPUT if self.long_from else 1.0)) / 1e6

    def _write_of(self, sent: bytes) -> float:
        return self.write_hour if _FOR_AN_HOUR.search(sent) else self.write


def prices_of(model: str, given: str | None = None) -> Prices:
    """Return a model's prices: `IN,READ,WRITE,OUT` where given, else by the tables.

    >>> prices_of("claude-haiku-4-5")[:5]
    (1.0, 0.1, 1.25, 5.0, 2.0)
    """
    profile = profile_for(model)
    name = model.rpartition("/")[2].lower().replace(".", "-")
    if given is not None:
        return _with_long(_read_prices(given, profile), profile, name)
    price = input_price(model)
    found = max((key for key in _OUTPUT if name.startswith(key)), key=len, default="")
    if price is None or not found:
        raise ValueError(f"No prices are known for `{model}`. Give them: `--prices IN,READ,WRITE,OUT` per million.")
    known = Prices(
        price,
        price * profile.read,
        price * profile.write,
        _OUTPUT[found],
        price * max(profile.write, profile.write_hour),
    )
    return _with_long(known, profile, name)


def _read_prices(given: str, profile: Profile) -> Prices:
    """Return the prices that the user gives; writing for an hour costs as many times the input as with the profile."""
    try:
        read_in, cached, written, out = map(float, given.split(","))
    except ValueError:
        read_in = cached = written = out = nan
    if not all(0 <= one < inf for one in (read_in, cached, written, out)):
        raise ValueError("Give four prices: `--prices IN,READ,WRITE,OUT`, in dollars per million tokens.")
    return Prices(read_in, cached, written, out, max(written, read_in * profile.write_hour))


def _with_long(prices: Prices, profile: Profile, name: str) -> Prices:
    above = next((tokens for begin, tokens in _LONG_FROM.items() if name.startswith(begin)), profile.long_from)
    return prices._replace(long_from=above, long_price=profile.long_price)
