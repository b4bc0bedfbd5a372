"""How many tokens of a request a provider will serve from its cache, from the requests and bills before it.

Owns: what a cache contains under each rule, and the sizes of prefixes in tokens.
Must not know: how a request is spelled, what time it is, what is made of a forecast.

Theory of operation
-------------------
A prompt is a list of elements: the system prompt with the tools, then each message. `digests[n]` stands for everything
up to and with element n, so two prompts share a prefix exactly as far as their digests agree (a binary search).

There are two kinds of caches:
- With breakpoints (Anthropic): the cache has an entry for each prefix that ended at a breakpoint. A breakpoint finds an
  entry that ends at most `LOOK_BACK` content blocks before it; the longest is served.

      request 1   S  u1  a1* t1              * breakpoint: entries {S..a1}
      request 2   S  u1  a1  t1  a2* t2      the breakpoint looks back, finds S..a1: that is served, S..a2 is written
      request 3   S  u1' a1  t1  a2* t2      u1 differs, so no entry has its digests: nothing is served

- Without (OpenAI): every prefix that a request sent is cached, in steps of `_STEP` tokens, from `minimum` tokens on.

An entry is forgotten when it was not used for its lifetime. A cache that serves after that (`_learn_lifetime`) lives
longer than its profile says, and is believed from then on.

Sizes: a bill gives the exact tokens of the whole prompt, of the part up to the last breakpoint, and of what was served.
`tokens_at` is exact for a prefix that was billed; between two such it interpolates; behind the last it takes the
estimate times `ratio`, the tokens billed per estimated token (a moving average).

Invariants: a forecast changes only by `learn`; `hit` and `tokens_at` ask. At most `_CHAINS` earlier requests and
`_KNOWN` sizes are remembered.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import takewhile
from math import inf
from typing import NamedTuple

from keepwhole.models.profiles import Profile

LOOK_BACK = 20
"""Content blocks before a breakpoint in which it finds an earlier entry."""
_STEP = 128
"""Steps in tokens in which prefixes are cached without breakpoints."""
_CHAINS, _KNOWN = 32, 8_192
"""Most earlier requests, and most sizes of prefixes, that are remembered."""
_MARKED = 5
"""The newest requests that are looked at for breakpoints, which some clients do not set in all of them."""
_WEIGHT = 0.3
"""Weight of the newest bill in `ratio`."""


class Breakpoint(NamedTuple):
    """A place in a prompt up to which the client asks for caching."""

    at: int
    """Index of the element that the breakpoint follows."""
    lifetime: int | None = None
    """Seconds that its entry lives, if the client gives them."""


class Prompt(NamedTuple):
    """A request as a cache sees it: its elements are the system prompt with the tools, then each message."""

    digests: Sequence[bytes]
    """Digest of the prompt up to and with each element."""
    tokens: Sequence[int]
    """Estimates, up to and with each element."""
    blocks: Sequence[int]
    """Content blocks up to and with each element."""
    points: tuple[Breakpoint, ...] | None = None
    """Breakpoints; None where prefixes are cached without any."""


class CacheHit(NamedTuple):
    """The prefix that a cache is expected to serve."""

    at: int
    """Index of the last element that it serves whole; -1 for nothing."""
    tokens: int
    common: int
    """Index of the last element of the longest prefix that an earlier request sent; -1 for none."""
    gap: float | None
    """Seconds since that request; None where there was none."""
    cold: bool
    """Whether there was such a request, longer ago than the cache lives."""


class _Entry(NamedTuple):
    used: float
    lifetime: float


class Forecast:
    """What one model's cache contains of one session, as far as requests and bills show it."""

    def __init__(self) -> None:
        self.ratio = 1.0
        """Tokens billed per estimated token."""
        self._billed = 0
        self._entries: dict[bytes, _Entry] = {}
        self._chains: list[tuple[Sequence[bytes], float]] = []
        self._sizes: dict[bytes, int] = {}
        self._outlived = 0.0
        """The longest pause after which the cache still served."""
        self.requested_lifetime = 0
        """Seconds that the client's last request wants entries to live; 0 if it gives none."""
        self._shares: deque[float] = deque(maxlen=_MARKED)

    def hit(self, prompt: Prompt, profile: Profile, now: float) -> CacheHit:
        """Return what will be served of a prompt that is sent now."""
        common, used = self._longest_common(prompt.digests)
        lifetime = max(_requested_lifetime(prompt) or self.lifetime(profile), self._outlived)
        gap = None if used is None else now - used
        if prompt.points is None:
            at, _ = self._longest_common(prompt.digests, now - lifetime)
            tokens = self.tokens_at(prompt, at)
            tokens -= tokens % min(_STEP, max(1, profile.minimum))
            at = at if tokens >= profile.minimum else -1
        else:
            at = max((next(self._reachable_entries(prompt, point, now), -1) for point in prompt.points), default=-1)
            tokens = self.tokens_at(prompt, at)
        return CacheHit(at, tokens if at >= 0 else 0, common, gap, gap is not None and gap > lifetime)

    @property
    def is_begun(self) -> bool:
        """Whether a request was sent."""
        return bool(self._shares)

    @property
    def cached_share(self) -> float:
        """Share of the messages that is before the client's last breakpoint, the most of its newest requests."""
        return max(self._shares, default=1.0)

    def lifetime(self, profile: Profile) -> float:
        """Return the seconds after which the cache has surely forgotten the last request."""
        return max(self.requested_lifetime or profile.lifetime, self._outlived)

    def learn(
        self, prompt: Prompt, profile: Profile, now: float, hit: CacheHit, billed: tuple[int, int, int] | None = None
    ) -> None:
        """Take in that a prompt was sent; `billed` are its input tokens, those served, and those written."""
        if billed is not None:
            self._learn_sizes(prompt, now, hit, *billed)
            self._learn_lifetime(prompt, hit, billed[1])
        if prompt.points is not None:
            self._renew(prompt, hit, now, is_gone=billed is not None and 2 * billed[1] < hit.tokens)
            self._write(prompt, prompt.points, profile, now)
        self.requested_lifetime = _requested_lifetime(prompt)
        self._shares.append(_cached_share(prompt))
        ends = [chain for chain in self._chains if not _is_part(chain[0], prompt.digests)]
        self._chains = [*ends[-_CHAINS + 1 :], (prompt.digests, now)]

    def tokens_at(self, prompt: Prompt, at: int) -> int:
        """Return the tokens up to and with an element: exact where that was billed, else interpolated."""
        if at < 0:
            return 0
        sizes, digests, tokens = self._sizes, prompt.digests, prompt.tokens
        low = next((index for index in range(at, -1, -1) if digests[index] in sizes), None)
        if low == at:
            return sizes[digests[at]]
        high = next((index for index in range(at + 1, len(digests)) if digests[index] in sizes), None)
        base, start = (sizes[digests[low]], tokens[low]) if low is not None else (0, 0)
        ratio = self.ratio
        if high is not None and tokens[high] > start:
            ratio = (sizes[digests[high]] - base) / (tokens[high] - start)
        return int(base + ratio * (tokens[at] - start))

    def _learn_sizes(self, prompt: Prompt, now: float, hit: CacheHit, total: int, cached: int, written: int) -> None:
        self._keep_size(prompt.digests[-1], total)
        if prompt.points:
            if cached + written:
                self._keep_size(prompt.digests[max(point.at for point in prompt.points)], cached + written)
            if self._is_nearest(prompt, hit, cached, now):
                self._keep_size(prompt.digests[hit.at], cached)
        if prompt.tokens[-1] > 0:
            newest = total / prompt.tokens[-1]
            self.ratio = newest if not self._billed else (1 - _WEIGHT) * self.ratio + _WEIGHT * newest
            self._billed += 1

    def _is_nearest(self, prompt: Prompt, hit: CacheHit, cached: int, now: float) -> bool:
        """Return whether the tokens served fit the expected entry better than any other that could be found."""
        ends = {at for point in prompt.points or () for at in self._reachable_entries(prompt, point, now)}
        off = {at: abs(self.tokens_at(prompt, at) - cached) for at in ends}
        return cached > 0 and hit.at in off and off[hit.at] <= min(off.values())

    def _learn_lifetime(self, prompt: Prompt, hit: CacheHit, cached: int) -> None:
        """Believe a cache that served after its lifetime to live longer."""
        if hit.cold and hit.gap is not None and 2 * cached > self.tokens_at(prompt, hit.common) > 0:
            self._outlived = max(self._outlived, hit.gap)

    def _keep_size(self, digest: bytes, tokens: int) -> None:
        self._sizes[digest] = tokens
        if len(self._sizes) > _KNOWN:
            del self._sizes[next(iter(self._sizes))]

    def _renew(self, prompt: Prompt, hit: CacheHit, now: float, is_gone: bool) -> None:
        """Renew the entry that was used; forget it if it turned out to be gone."""
        entry = self._entries.pop(prompt.digests[hit.at], None) if hit.at >= 0 else None
        if entry is not None and not is_gone:
            self._entries[prompt.digests[hit.at]] = entry._replace(used=now)

    def _write(self, prompt: Prompt, points: tuple[Breakpoint, ...], profile: Profile, now: float) -> None:
        alive = {digest: entry for digest, entry in self._entries.items() if self._lives(entry, now)}
        for point in points:
            if self.tokens_at(prompt, point.at) >= profile.minimum:
                alive[prompt.digests[point.at]] = _Entry(now, point.lifetime or profile.lifetime)
        self._entries = alive

    def _reachable_entries(self, prompt: Prompt, point: Breakpoint, now: float) -> Iterator[int]:
        """Return the entries that a breakpoint can find, longest first."""
        reach = prompt.blocks[point.at] - LOOK_BACK
        near = takewhile(lambda at: prompt.blocks[at] >= reach, range(point.at, -1, -1))
        return (at for at in near if self._is_alive(prompt.digests[at], now))

    def _is_alive(self, digest: bytes, now: float) -> bool:
        entry = self._entries.get(digest)
        return entry is not None and self._lives(entry, now)

    def _lives(self, entry: _Entry, now: float) -> bool:
        return now - entry.used <= max(entry.lifetime, self._outlived)

    def _longest_common(self, digests: Sequence[bytes], since: float = -inf) -> tuple[int, float | None]:
        """Return the end of the longest prefix that a request since then sent, and when that was."""
        best: tuple[int, float | None] = -1, None
        for chain, used in self._chains:
            length = common_prefix(chain, digests) - 1
            if used >= since and length >= 0 and (length, used) > (best[0], best[1] or -inf):
                best = length, used
        return best


def _cached_share(prompt: Prompt) -> float:
    """Return the share of the messages' tokens that the client has cached."""
    if prompt.points is None:
        return 1.0
    head, last = prompt.tokens[0], max((point.at for point in prompt.points), default=0)
    return (prompt.tokens[last] - head) / max(1, prompt.tokens[-1] - head)


def _requested_lifetime(prompt: Prompt) -> int:
    return max((point.lifetime or 0 for point in prompt.points or ()), default=0)


def common_prefix(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Return how many elements at the front are the same; each digest stands for all before it."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[middle - 1] == other[middle - 1] else (low, middle - 1)
    return low


def _is_part(chain: Sequence[bytes], digests: Sequence[bytes]) -> bool:
    """Return whether a chain of digests is the beginning of another."""
    return len(chain) <= len(digests) and chain[-1] == digests[len(chain) - 1]
