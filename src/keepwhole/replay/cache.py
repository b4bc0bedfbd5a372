"""What a provider's prompt cache would have held: automatic prefixes, request ends, and explicit breakpoints.

Owns: which tokens of a request are read from the cache under each rule.
Must not know: prices.

A request is its messages' sizes, and the first message that is not as it was in the request before.
"""

from collections.abc import Sequence
from typing import NamedTuple

from keepwhole.models.forecast import LOOK_BACK
from keepwhole.models.profiles import Profile


class Sent(NamedTuple):
    """One request, as a cache sees it."""

    sizes: Sequence[int]
    """Tokens of each message."""
    blocks: Sequence[int]
    """Content blocks up to and with each message."""
    first: int
    """The first message that differs from the request before; as many as that one had if all are the same."""
    frontier: int
    """How many messages there are up to and with the newest one that is not shown as it came."""
    now: float = 0.0
    """Seconds since the run began; 0 where unknown."""


class RequestEnds:
    """Breakpoints at the end of each request and after its first message only, as most clients set them."""

    def __init__(self) -> None:
        self._ends: list[int] = []

    def hit(self, sent: Sent) -> int:
        """Tokens up to the last earlier end before which nothing changed."""
        while self._ends and self._ends[-1] > sent.first:
            self._ends.pop()
        longest = self._ends[-1] if self._ends else 0
        self._ends += [end for end in (1, len(sent.sizes)) if end > longest]
        return sum(sent.sizes[:longest])


class Usage(NamedTuple):
    """How the tokens of one request are paid."""

    read: int
    written: int
    plain: int


class Breakpoints:
    """An explicit cache: entries at breakpoints alone, found from a breakpoint up to twenty blocks back, for a while.

    The client sets breakpoints at the end, where the request before ended, after the first message, and after the
    newest result that is not shown as it came, or before the first one that changes now; in this order, as far as the
    provider allows that many.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._entries: dict[int, float] = {}
        self._last = 0

    def usage(self, sent: Sent) -> Usage:
        """What one request reads and writes."""
        total, points = sum(sent.sizes), self._points(sent)
        if not points:
            return Usage(0, 0, total)
        alive = sent.now - self._profile.lifetime
        self._entries = {end: at for end, at in self._entries.items() if end <= sent.first and at >= alive}
        found = max((self._found(point, sent) for point in points), default=0)
        read = sum(sent.sizes[:found])
        written = sum(sent.sizes[found : points[-1]])
        self._entries.update({point: sent.now for point in points if self._is_long_enough(point, sent)})
        if found:
            self._entries[found] = sent.now
        self._last = len(sent.sizes)
        if not self._is_long_enough(points[-1], sent):
            return Usage(0, 0, total)
        return Usage(read, written, total - read - written)

    def _points(self, sent: Sent) -> list[int]:
        end = len(sent.sizes)
        wished = [end, self._last, 1, sent.first if sent.first < self._last else sent.frontier]
        allowed = [point for point in dict.fromkeys(wished) if 0 < point <= end]
        return sorted(allowed[: self._profile.breakpoints])

    def _found(self, point: int, sent: Sent) -> int:
        """The longest entry that this breakpoint finds."""
        reach = sent.blocks[point - 1] - LOOK_BACK
        near = (end for end in self._entries if end <= point and sent.blocks[end - 1] >= reach)
        return max(near, default=0)

    def _is_long_enough(self, point: int, sent: Sent) -> bool:
        return sum(sent.sizes[:point]) >= self._profile.minimum
