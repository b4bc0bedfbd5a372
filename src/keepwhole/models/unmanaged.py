"""What a conversation would have cost with `mode: off`: the one estimate that policies, receipts and reports share.

Owns: how a client behaves that nobody manages, its own compaction included, and what a request costs by a profile.
Must not know: what is sent instead, or how large a text is.

Theory of operation
-------------------
A client sends its whole history with every request. Of that, the provider serves from its cache what the request before
it had, unless that is too long ago. A request that would take `COMPACT` of the window is never sent: the client has the
model write a summary first (one more request, all of it cached, and `SUMMARY` tokens of output) and goes on with that.

    request     1       2        …   91       92                                      93
    history     10k     12k          190k     192k                                    194k
    sent        10k     12k          (a summary is written: 190k read, 2k output)     2k + what came since
                write   read 10k,                                                     and the system prompt and tools,
                        write 2k                                                      which are read

All costs are in tokens at the price of an uncached input token. A request larger than the window has no price here.

Invariants
- The cost of a request depends on its size, what of it the request before had, and the profile alone.
- What a client has compacted stays compacted until it sends a history that is shorter than before.
"""

from typing import NamedTuple

from keepwhole.models.profiles import Profile
from keepwhole.models.thresholds import Thresholds

SUMMARY = 2_000
"""Tokens of a summary that a client has written, in addition to what it keeps."""
OUT = 5.0
"""Price of a token that the model writes."""
COMPACT = Thresholds().compact
"""Share of the window from which on a client compacts."""


class ClientRequest(NamedTuple):
    """A request as the client sends it, before anything is left out."""

    tokens: int
    shared: int
    """Tokens at its front that the request before had too."""
    cold: bool = False
    """Whether the provider's cache has forgotten the request before."""
    kept: int = 0
    """Tokens of it that a summary keeps: the system prompt, the tools."""
    front: int = 0
    """Of these, the tokens before the first message: a summary leaves them where they are, so the cache serves them."""


class UnmanagedClient:
    """A client with `mode: off`, request by request."""

    def __init__(self) -> None:
        self.cost = 0.0
        """Cost of all requests so far."""
        self.compactions = 0
        self.size = 0
        """Tokens of its last request."""
        self._dropped = 0
        """Tokens of the history that a summary has replaced; below 0 where it has more than the requests it is told of,
        since these were compacted later."""

    def go_on(self, cost: float, compactions: int, dropped: int) -> None:
        """Go on from an earlier state."""
        self.cost, self.compactions, self._dropped = cost, compactions, dropped

    def send(self, request: ClientRequest, profile: Profile) -> None:
        """Add the cost of one request."""
        if request.tokens <= self._dropped or request.shared < self._dropped:
            self._dropped = 0  # the client went back, or has compacted by itself
        size, shared = request.tokens - self._dropped, request.shared - self._dropped
        left = SUMMARY + request.kept
        if size >= COMPACT * profile.window and shared > left:
            asked = min(shared, profile.window)  # it would have compacted before that
            self.cost += summary_cost(profile, asked, cold=request.cold)
            self.compactions += 1
            self._dropped += shared - left
            size, shared = left + size - shared, request.front
        self.size = size
        sent = min(self.size, profile.window)  # a larger one would be refused, and nothing is charged for the rest
        self.cost += request_cost(profile, sent, 0 if request.cold else min(sent, shared))


def request_cost(profile: Profile, size: int, cached: int) -> float:
    """Return the cost of a request of `size` tokens of which `cached` are in the cache.

    >>> request_cost(Profile("claude"), 3_000, 2_000)
    1450.0
    """
    found = cached if cached >= profile.minimum else 0
    cost = profile.read * found + (profile.write if size >= profile.minimum else 1.0) * (size - found)
    return cost * profile.factor(size)


def summary_cost(profile: Profile, size: int, *, cold: bool = False) -> float:
    """Return what it costs a client to have a summary of `size` tokens written, which the request before had.

    >>> summary_cost(Profile("claude"), 100_000)
    20000.0
    """
    return request_cost(profile, size, 0 if cold else size) + OUT * SUMMARY
