"""What a provider's prompt cache would have contained: request ends, and explicit breakpoints.

Owns: how many tokens of a request are read from the cache under each rule.
Must not know: prices.

Theory of operation
-------------------
A cache stores prefixes of requests. A prefix can be read again only if nothing in it has changed, so a policy that
rewrites an old result pays for everything after it once more. Three rules are modeled, from generous to strict:

- *prefix*: the longest common prefix with the request before is read. This needs no state; `replay` computes it.
- *request ends* (`RequestEndCache`): only prefixes that end where an earlier request ended, or after its first message,
  are stored. This is what clients with automatic breakpoints get.
- *explicit* (`BreakpointCache`): prefixes that end at a breakpoint are stored, for a limited time; a breakpoint finds a
  stored prefix at most `LOOK_BACK` content blocks before it; there are at most `profile.breakpoints` of them, and
  prefixes below `profile.minimum` tokens are not stored.

A request is described by the sizes of its messages and the index of the first message that differs from the request
before. Example, sizes in tokens, with the request-end rule:

    request 1   [1000, 500]                       first_changed 0   reads 0      stores prefixes of 1 and 2 messages
    request 2   [1000, 500, 300, 2000]            first_changed 2   reads 1500   stores the prefix of 4 messages
    request 3   [1000, 500, 300,   50, 100, 10]   first_changed 3   reads 1500   stores the prefix of 6 messages

In request 3 a policy has cut message 3, so the prefix of 4 messages is dropped. The longest common prefix has 1800
tokens, but only 1500 of them are stored as a prefix of their own.

Invariants:
- A stored prefix is identified by its number of messages; one longer than `first_changed` is dropped, never read.
- For each request of the explicit rule `read + written + uncached` is the total number of tokens.
- The rules see the same requests, so their figures differ by the rule alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

from keepwhole.models.forecast import LOOK_BACK
from keepwhole.models.profiles import Profile


class RequestShape(NamedTuple):
    """One request, as far as a cache depends on it."""

    sizes: Sequence[int]
    """The tokens of each message."""
    blocks: Sequence[int]
    """For each message the number of content blocks up to and including it."""
    first_changed: int
    """The index of the first message that differs from the request before; the length of that request if none does."""
    frontier: int
    """The number of messages up to and including the newest one that is not shown as it arrived."""
    now: float = 0.0
    """Seconds since the run began; 0 if unknown."""


class RequestEndCache:
    """A cache with breakpoints at the end of each request and after its first message, as most clients set them."""

    def __init__(self) -> None:
        self._ends: list[int] = []

    def send(self, request: RequestShape) -> int:
        """Store the prefixes of a request; return the tokens that it reads from earlier ones."""
        while self._ends and self._ends[-1] > request.first_changed:
            self._ends.pop()
        longest = self._ends[-1] if self._ends else 0
        self._ends += [end for end in (1, len(request.sizes)) if end > longest]
        return sum(request.sizes[:longest])


class CacheUsage(NamedTuple):
    """The tokens of one request by how they are paid."""

    read: int
    written: int
    uncached: int


class BreakpointCache:
    """A cache with explicit breakpoints, a look-back and a lifetime.

    The client sets breakpoints at the end, where the request before ended, after the first message, and after the
    newest result that is not shown as it arrived, or before the first one that changes now; in this order of
    importance, as many as the provider allows.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._entries: dict[int, float] = {}
        """Stored prefixes: number of messages, and when they were last used."""
        self._last = 0

    def send(self, request: RequestShape) -> CacheUsage:
        """Store the prefixes of a request; return what it reads and writes."""
        total, points = sum(request.sizes), self._breakpoints(request)
        if not points:
            return CacheUsage(0, 0, total)
        oldest, unchanged = request.now - self._profile.lifetime, request.first_changed
        self._entries = {end: at for end, at in self._entries.items() if end <= unchanged and at >= oldest}
        longest = max((self._longest_entry(point, request) for point in points), default=0)
        read = sum(request.sizes[:longest])
        written = sum(request.sizes[longest : points[-1]])
        self._entries.update({point: request.now for point in points if self._is_long_enough(point, request)})
        if longest:
            self._entries[longest] = request.now
        self._last = len(request.sizes)
        if not self._is_long_enough(points[-1], request):
            return CacheUsage(0, 0, total)
        return CacheUsage(read, written, total - read - written)

    def _breakpoints(self, request: RequestShape) -> list[int]:
        end, first = len(request.sizes), request.first_changed
        wanted = [end, self._last, 1, first if first < self._last else request.frontier]
        allowed = [point for point in dict.fromkeys(wanted) if 0 < point <= end]
        return sorted(allowed[: self._profile.breakpoints])

    def _longest_entry(self, point: int, request: RequestShape) -> int:
        """Return the longest stored prefix within the look-back of a breakpoint; 0 for none."""
        reach = request.blocks[point - 1] - LOOK_BACK
        near = (end for end in self._entries if end <= point and request.blocks[end - 1] >= reach)
        return max(near, default=0)

    def _is_long_enough(self, point: int, request: RequestShape) -> bool:
        return sum(request.sizes[:point]) >= self._profile.minimum
