"""Dollars for tokens, by tier, and the most that a request can cost."""

from typing import NamedTuple

from keepwhole.models.profiles import Profile, input_price, profile_for
from keepwhole.wire.usage import Usage

# Dollars for a million output tokens, November 2026, from the table bundled in litellm 1.109.1.
_OUTPUT = {
    "claude-fable-5": 50.0,
    "claude-haiku-4-5": 5.0,
    "claude-opus-4-5": 25.0,
    "claude-opus-5": 25.0,
    "claude-opus-5-5": 20.0,
    "claude-sonnet-4-5": 15.0,
    "claude-sonnet-5": 10.0,
    "claude-sonnet-5-5": 10.0,
    "deepseek-chat": 0.42,
    "deepseek-v4-flash": 1.2,
    "deepseek-v4-pro": 3.96,
    "gemini-2-5-flash": 2.5,
    "gemini-2-5-pro": 10.0,
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
_OVERHEAD = 2_000
"""Tokens that a provider may add to a request by itself: its own words about tools."""
_IMAGE = 5_000
"""Most tokens of an image."""


class Prices(NamedTuple):
    """Dollars for a million tokens of one model."""

    input: float
    read: float
    write: float
    output: float
    long_from: int = 0
    """Tokens of a request above which its input costs `long_price` times as much; 0 where none does."""
    long_price: float = 1.0

    def dollars(self, usage: Usage) -> float:
        """Return what a request cost, by its usage."""
        plain = usage.input - usage.cached - usage.written
        given = plain * self.input + usage.cached * self.read + usage.written * self.write
        factor = self.long_price if 0 < self.long_from < usage.input else 1.0
        return (given * factor + usage.output * self.output) / 1e6

    def worst(self, data: bytes, max_tokens: int) -> float:
        """Return the most that a request can cost: a token has at least one byte, and nothing is cached."""
        tokens = len(data) + _OVERHEAD + _IMAGE * data.count(b"image/png")
        dearest = max(self.input, self.write) * (self.long_price if self.long_from else 1.0)
        return (tokens * dearest + max_tokens * self.output) / 1e6


def prices_of(model: str, given: str | None = None) -> Prices:
    """Return a model's prices: `IN,READ,WRITE,OUT` where given, else by the tables.

    >>> prices_of("claude-haiku-4-5")[:4]
    (1.0, 0.1, 1.25, 5.0)
    """
    profile = profile_for(model)
    if given is not None:
        if given.count(",") != 3:
            raise ValueError("Give four prices: `--prices IN,READ,WRITE,OUT`, in dollars per million tokens.")
        read_in, cached, written, out = (float(one) for one in given.split(","))
        return _with_long(Prices(read_in, cached, written, out), profile)
    price = input_price(model)
    name = model.rpartition("/")[2].lower().replace(".", "-")
    found = max((key for key in _OUTPUT if name.startswith(key)), key=len, default="")
    if price is None or not found:
        raise ValueError(f"No prices are known for `{model}`. Give them: `--prices IN,READ,WRITE,OUT` per million.")
    return _with_long(Prices(price, price * profile.read, price * profile.write, _OUTPUT[found]), profile)


def _with_long(prices: Prices, profile: Profile) -> Prices:
    return prices._replace(long_from=profile.long_from, long_price=profile.long_price)
