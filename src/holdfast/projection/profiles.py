"""What providers charge and allow, as data. Users override it in their settings."""

from holdfast.canonical.value import Value


class Profile(Value):
    """One provider's model: prices against the input price, window and cache rules."""

    name: str
    window: int = 200_000
    """Tokens that a request may take."""
    read: float = 0.1
    """Price of a cached token; an uncached one costs 1."""
    write: float = 1.25
    """Price of a token written to the cache."""
    minimum: int = 1_024
    """Shortest prefix that is cached."""
    lifetime: int = 300
    """Seconds until the cache is cold."""
    breakpoints: int = 4
    """Explicit breakpoints a request may carry; 0 where prefixes are cached automatically."""


DEFAULT = Profile("default")
