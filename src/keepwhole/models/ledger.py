"""What a conversation was paid for, beside what it would have cost with `mode: off`, and so what a batch may cost.

Owns: the sums, and which prefixes of what was sent the provider's cache still has.
Must not know: which results a batch leaves out.

Theory of operation
-------------------
Nobody knows when a run ends. A batch costs now, because everything behind the first change is written to the cache
again, and pays back only if the run goes on. So a batch may cost at most what the conversation has saved so far, and
`share` of what it would have cost unmanaged. Then wherever the run ends, it has cost at most 1 + `share` of that:

    unmanaged so far 500k   paid 460k   share .02   →   a batch may cost 40k + 10k
    a batch rewrites 60k tokens behind its first result, and frees 20k of them:
        1.15 · 60k  −  1.25 · 20k  =  44k            →   it may be made

A prefix can be served again only if it ended where a request ended, and was used within the cache's lifetime. A request
uses the longest such prefix alone, so a batch deep inside a conversation that goes slowly finds nothing.

Invariants
- Everything that is sent is counted once; what only recall needs is counted as paid and not as unmanaged.
- Where the price of reading is a guess, savings are counted at half of it, so that the promise holds if that is true.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from keepwhole.models.profiles import Profile
from keepwhole.models.unmanaged import OUT, SUMMARY, ClientRequest, UnmanagedClient, request_cost, summary_cost

REQUESTS_TO_PAY = 20
"""Requests within which a summary must pay, and for which it must be affordable to carry what it leaves."""
RECALL_TOKENS = 40
"""Tokens that a model writes to read something back."""
_ROOMY = 0.9
"""Share of the window up to which a request is sent in full where the tools to read something back cost too much."""
_DOUBT = 0.5
"""Share of a guessed price of reading from the cache that savings are counted at."""
_FULL = 0.75
"""Share of the window from which on a client compacts because of the window, and not because somebody asked for it."""
_TO_A_FORK = 1 / 8
"""Share of what a conversation had saved that each of its forks may spend: up to eight of them spend no more than it
has saved in all."""
_ALIKE = 0.9
"""Share of a request's size from which on a client with `mode: off` would compact at that request too."""


class SentRequest(NamedTuple):
    """A request as it is sent, beside the same as the client would have sent it."""

    tokens: int
    cached: int
    """Tokens of it that the cache serves."""
    came: ClientRequest | None
    """None for a request that is made only to recall something."""


class CarriedCosts(NamedTuple):
    """What a conversation had cost when its client compacted it: where the one that begins then goes on."""

    paid: float
    unmanaged: float
    compactions: int
    """How often the client would have compacted with `mode: off`."""
    size: int
    """Tokens of its last request with `mode: off`; 0 where it would have compacted now too."""


class Ledger:
    """What one conversation has cost."""

    def __init__(self) -> None:
        self.paid = 0.0
        self.inherited = 0.0
        """What a fork may spend of what was saved before it."""
        self._client = UnmanagedClient()

    @property
    def unmanaged(self) -> float:
        """What it would have cost with `mode: off`."""
        return self._client.cost

    def send(self, request: SentRequest, profile: Profile) -> None:
        """Add a request."""
        profile = _doubted(profile)
        self.paid += request_cost(profile, request.tokens, request.cached)
        if request.came is not None:
            self._client.send(request.came, profile)

    def charge(self, tokens: int, profile: Profile) -> None:
        """Add tokens that the cache should have served, and that were billed as uncached."""
        self.paid += (profile.write - profile.read) * tokens

    def pay(self, cost: float) -> None:
        """Add what only recall costs."""
        self.paid += cost

    def after_compaction(self, request: SentRequest, profile: Profile, more: float) -> CarriedCosts:
        """Return what is left when the client compacts with this request, which costs `more` than it would as it is.

        With `mode: off` the client would have compacted too: where somebody asked for it, and where it was as large.
        Where it was smaller, since it had compacted sooner, it goes on.
        """
        written = more + OUT * SUMMARY
        is_full = request.tokens >= _FULL * profile.window
        ahead = self.after(request, profile)
        if is_full and self._client.size < _ALIKE * request.tokens:
            return CarriedCosts(ahead.paid + written, self.unmanaged, self._client.compactions, self._client.size)
        return CarriedCosts(ahead.paid + written, ahead.unmanaged + OUT * SUMMARY, max(1, ahead.client.compactions), 0)

    def go_on(self, carried: CarriedCosts, begins: int) -> None:
        """Go on from what a compacted conversation had cost, with one that `begins` with so many tokens."""
        self.paid = carried.paid
        dropped = begins - carried.size if carried.size else 0
        self._client.go_on(carried.unmanaged, carried.compactions, dropped)

    def begin_fork(self) -> None:
        """Begin anew at a fork: what was paid until then was paid in the session it comes from, which also goes on with
        what was saved, but for a small part."""
        self.inherited = _TO_A_FORK * max(0.0, self.unmanaged - self.paid)
        self.paid = 0.0
        self._client.cost = 0.0

    @property
    def client(self) -> UnmanagedClient:
        """The client as it would be with `mode: off`."""
        return self._client

    def after(self, request: SentRequest, profile: Profile) -> "Ledger":
        """Return the ledger as it would be with one more request."""
        ahead, ahead_client = Ledger(), UnmanagedClient()
        vars(ahead).update(vars(self))  # as `copy` does, in a quarter of the time
        vars(ahead_client).update(vars(self._client))
        ahead._client = ahead_client
        ahead.send(request, profile)
        return ahead

    def budget(self, share: float) -> float:
        """Return what may be spent so that the conversation costs at most `share` more than unmanaged."""
        return (1 + share) * self.unmanaged - self.paid + self.inherited


class CachedPrefixes:
    """The prefixes of a conversation that the cache has: each ends where a request ended."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        """Numbers of messages, rising."""
        self._used: list[float] = []
        """When each was last used."""

    def add(self, messages: int, now: float) -> None:
        """Note a request of so many messages; it uses the longest prefix that is there."""
        self.drop_after(messages)
        if self._ends:
            self._used[-1] = now
            if self._ends[-1] == messages:
                return
        self._ends.append(messages)
        self._used.append(now)

    def drop_after(self, messages: int) -> None:
        """Forget the prefixes that are longer than so many messages: something in them has changed."""
        keep = bisect_right(self._ends, messages)
        del self._ends[keep:], self._used[keep:]

    def alive(self, now: float, lifetime: float, profile: Profile) -> list[int]:
        """Return the numbers of messages of the prefixes that are served now."""
        if not self._used or now - self._used[-1] > lifetime:
            return []
        if not profile.breakpoints:  # each use renews all that is before it
            return self._ends
        return [end for end, used in zip(self._ends, self._used, strict=True) if now - used <= lifetime]


class Costs(NamedTuple):
    """What a conversation has cost before a request, and what a batch would cost in it."""

    ledger: Ledger
    request: SentRequest
    """The request as it would be sent without a batch."""
    profile: Profile
    ends: Sequence[int] = ()
    """Numbers of messages of the prefixes that the cache has."""
    summarized: Sequence[int] = ()
    """Tokens that would be sent with a summary in place of all but the last steps, or but the newest."""

    def budget(self, share: float) -> float:
        """Return what a batch may cost so that the conversation costs at most `share` more than unmanaged."""
        return self.ledger.after(self.request, self.profile).budget(share)

    def is_outgrown(self, sent: int, left: int, share: float) -> bool:
        """Return whether a summary that leaves `left` of `sent` estimated tokens is due because of what the rest costs.

        A client with `mode: off` would have compacted, and carries less since, by more than `share` of what it carries:
        less than that never uses the budget up. What is carried beyond is paid from the budget, of which enough must be
        left to send what the summary leaves, and to have the client write one of its own, since it may do so at any
        request; and that must pay soon.
        """
        tokens = min(self.request.tokens, sent)
        request = self.request._replace(tokens=tokens, cached=min(tokens, self.request.cached))
        ahead = self.ledger.after(request, self.profile)
        return self._is_summary_due(ahead, ahead.budget(share), tokens, left, share)

    def _is_summary_due(self, ahead: Ledger, budget: float, tokens: int, left: int, share: float) -> bool:
        over = tokens - ahead.client.size
        if not ahead.client.compactions or over <= share * ahead.client.size:
            return False
        read = self.profile.read
        rewrite, saved = self.profile.write * left, read * (tokens - left)
        due = rewrite + summary_cost(self.profile, tokens) + read * over
        return budget < due and rewrite <= REQUESTS_TO_PAY * saved

    def affords_to_carry(self, tokens: int, share: float) -> bool:
        """Return whether so many estimated tokens may be sent uncached now, and carried for a while."""
        ahead = self.ledger.after(self.request, self.profile)
        carried = REQUESTS_TO_PAY * self.profile.read * max(0, tokens - ahead.client.size)
        return self.profile.write * tokens + carried <= ahead.budget(share)

    def affords_tools(self, tokens: int, freed: int, share: float, *, is_served: bool = True) -> bool:
        """Return whether `tokens` may be put in front of the request, so that nothing of it is cached, in return for
        `freed` estimated tokens that are left out; always where the request takes much of the window.

        Where nothing of it is served from a cache anyway, they may wherever they are fewer than what is left out.
        """
        if self.request.tokens > _ROOMY * self.profile.window:
            return True
        if not is_served:
            return tokens <= freed
        profile = _doubted(self.profile)
        cost = (profile.write - profile.read) * self.request.cached + profile.write * (tokens - freed)
        return cost <= self.budget(share)

    def affords_batch(self, share: float) -> Callable[[int, int], bool]:
        """Return whether a batch may be made, as a function of what `of_batch` is given.

        Enough must be left to read something of it back once: the request is sent once more, all of it cached. And so
        much that no summary is due right after it, which would leave out what the batch has just left out.
        """
        ahead, read = self.ledger.after(self.request, self.profile), self.profile.read
        budget, tokens = ahead.budget(share), self.request.tokens
        once = read * tokens + OUT * RECALL_TOKENS
        more, write, uncached = self._batch_prices()

        def affords(behind: int, freed: int) -> bool:
            cost = more * (behind - uncached) - write * freed
            if cost + once - read * freed > budget:
                return False
            return not any(
                self._is_summary_due(ahead, budget - cost, tokens - freed, left, share) for left in self.summarized
            )

        return affords

    def of_batch(self, behind: int, freed: int) -> float:
        """Return what a batch costs more now than sending the same without it.

        `behind` are the estimated tokens behind the prefix that stays, `freed` those of them that are left out.
        """
        more, write, uncached = self._batch_prices()
        return more * (behind - uncached) - write * freed

    def _batch_prices(self) -> tuple[float, float, int]:
        """Return what a token costs more that the cache would have served, what one costs that is written to it, and
        how many tokens would not be served without a batch either."""
        profile = _doubted(self.profile)
        return profile.write - profile.read, profile.write, self.request.tokens - self.request.cached


def last_end(ends: Sequence[int], index: int) -> int:
    """Return the longest of these prefixes that does not reach beyond message `index`; 0 for none.

    >>> last_end([1, 3, 9], 5), last_end([], 5)
    (3, 0)
    """
    place = bisect_right(ends, index)
    return ends[place - 1] if place else 0


@lru_cache(maxsize=64)
def _doubted(profile: Profile) -> Profile:
    return profile.replace(read=_DOUBT * profile.read) if "read" in profile.assumed else profile
