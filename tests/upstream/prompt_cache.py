"""Prompt caches that bill as the real ones do: explicit breakpoints, and prefixes that are found by themselves.

Owns: what a request reads, writes and costs, when entries die, and which requests are refused for what they ask of
the cache or the window. Written from the providers' pages, without our code, so that one can check the other.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from tests.upstream.prompt import BYTES, Block, blocks_of, tokens_of
from tests.upstream.spelling import Dialect, Json, gemini_usage, responses_usage

MOST_MARKERS = 4
LOOK_BACK = 20
"""Blocks that are tried from a breakpoint backwards, the breakpoint's own being the first."""
STEP = 128
"""Tokens by which an automatic prefix grows."""
_LIFETIMES = {"5m": 300, "1h": 3_600}


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


class Bill(NamedTuple):
    """What one request takes."""

    read: int
    written: int
    written_long: int
    """Written for an hour."""
    plain: int
    cost: float
    """In tokens at the input price."""

    @property
    def tokens(self) -> int:
        return self.read + self.written + self.written_long + self.plain


class Refused(Exception):
    """A request that a provider answers with 400."""

    def __init__(self, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.message, self.code, self.param = message, code, param


class Till(Protocol):
    """Who bills."""

    bills: list[Bill]

    def bill(self, body: Json) -> Bill:
        """What a request takes; it is in the cache from now on."""
        ...

    def count(self, body: Json) -> int:
        """The tokens of a request, which leaves no trace."""
        ...

    def usage(self, bill: Bill, made: int) -> Json:
        """As a provider tells a client, with so many tokens made."""
        ...


class _Till:
    def __init__(self, clock: Callable[[], float], window: int, minimum: int, read: float, write: float) -> None:
        self._now, self.window, self._minimum, self._read, self._write = clock, window, minimum, read, write
        self.bills: list[Bill] = []
        self.tokens_of: Callable[[bytes], int] = tokens_of
        """How tokens are counted."""

    @property
    def cost(self) -> float:
        """Of all requests, in tokens at the input price."""
        return sum(bill.cost for bill in self.bills)

    @property
    def tokens(self) -> int:
        """Of all requests, however they were paid."""
        return sum(bill.tokens for bill in self.bills)

    def count(self, body: Json) -> int:
        """The tokens of a request."""
        return sum(block.tokens for block in blocks_of(body, self.tokens_of))

    def _billed(self, read: int, written: int, long: int, plain: int) -> Bill:
        cost = self._read * read + self._write * written + 2.0 * long + plain
        self.bills.append(Bill(read, written, long, plain, cost))
        return self.bills[-1]


class _Entry(NamedTuple):
    dies: float
    lifetime: int


class Breakpoints(_Till):
    """Anthropic: what stands before a marker is written, and found again from markers not far behind it."""

    def __init__(
        self,
        clock: Callable[[], float],
        window: int = 200_000,
        minimum: int = 1_024,
        read: float = 0.1,
        write: float = 1.25,
    ) -> None:
        super().__init__(clock, window, minimum, read, write)
        self._entries: dict[bytes, _Entry] = {}

    def bill(self, body: Json) -> Bill:
        """What a request reads up to the longest entry in reach of a marker, and writes up to the last marker."""
        blocks = blocks_of(body, self.tokens_of)
        markers = self._markers(body, blocks)
        total = sum(block.tokens for block in blocks)
        if total > self.window:
            raise Refused(f"prompt is too long: {total} tokens > {self.window} maximum")
        names, ends = list(_names(blocks)), list(_sums(blocks))
        found = max((self._found(place, names) for place in markers), default=-1)
        if found >= 0:
            entry = self._entries[names[found]]
            self._entries[names[found]] = entry._replace(dies=self._now() + entry.lifetime)
        written = {place: life for place, life in markers.items() if ends[place] >= self._minimum}
        for place, lifetime in written.items():
            self._entries[names[place]] = _Entry(self._now() + lifetime, lifetime)
        read = ends[found] if found >= 0 else 0
        last = max((ends[place] for place in written), default=read)
        long = max((ends[place] for place, life in written.items() if life > 300), default=read)
        long = max(read, long)
        last = max(last, long)
        return self._billed(read, last - long, long - read, total - last)

    def usage(self, bill: Bill, made: int) -> Json:
        """As Anthropic tells it."""
        written = {"ephemeral_5m_input_tokens": bill.written, "ephemeral_1h_input_tokens": bill.written_long}
        return {
            "input_tokens": bill.plain,
            "cache_read_input_tokens": bill.read,
            "cache_creation_input_tokens": bill.written + bill.written_long,
            "cache_creation": written,
            "output_tokens": made,
        }

    def _markers(self, body: Json, blocks: list[Block]) -> dict[int, int]:
        """Where breakpoints are, and how long what they write lives."""
        found = {at: block.marker for at, block in enumerate(blocks) if block.marker}
        if own := body.get("cache_control"):
            found.setdefault(len(blocks) - 1, own)
        if len(found) > MOST_MARKERS:
            raise Refused(f"A maximum of {MOST_MARKERS} blocks with cache_control may be provided. Found {len(found)}.")
        lifetimes = {at: _LIFETIMES[marker.get("ttl", "5m")] for at, marker in found.items()}
        if sorted(lifetimes.values(), reverse=True) != list(dict(sorted(lifetimes.items())).values()):
            raise Refused("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
        return lifetimes

    def _found(self, place: int, names: list[bytes]) -> int:
        """The last block up to which something is in the cache, seen from a breakpoint; -1 if nothing is."""
        for at in range(place, max(-1, place - LOOK_BACK), -1):
            entry = self._entries.get(names[at])
            if entry is not None and entry.dies >= self._now():
                return at
        return -1


class CachePoints(Breakpoints):
    """The same on Bedrock, told as Converse does."""

    def usage(self, bill: Bill, made: int) -> Json:
        """As Converse tells it."""
        return {
            "inputTokens": bill.plain,
            "cacheReadInputTokens": bill.read,
            "cacheWriteInputTokens": bill.written + bill.written_long,
            "outputTokens": made,
            "totalTokens": bill.tokens + made,
        }


class Prefixes(_Till):
    """OpenAI: the longest beginning that was sent before, in steps, under the same key."""

    def __init__(
        self,
        clock: Callable[[], float],
        window: int = 272_000,
        minimum: int = 1_024,
        read: float = 0.1,
        write: float = 1.0,
        lifetime: int = 300,
    ) -> None:
        super().__init__(clock, window, minimum, read, write)
        self._lifetime = lifetime
        self._used: dict[bytes, float] = {}

    def bill(self, body: Json) -> Bill:
        """What a request reads; the rest of it is written."""
        blocks = blocks_of(body, self.tokens_of)
        total = sum(block.tokens for block in blocks)
        if total > self.window:
            raise _too_long(body, total, self.window)
        steps = list(_steps(blocks, str(body.get("prompt_cache_key"))))
        alive = self._now() - self._lifetime
        hits = 0
        while hits < len(steps) and self._used.get(steps[hits], alive - 1) >= alive:
            hits += 1
        read = hits * STEP if hits * STEP >= self._minimum else 0
        self._used.update(dict.fromkeys(steps, self._now()))
        written = 0 if self._write == 1.0 or total < self._minimum else total - read
        return self._billed(read, written, 0, total - read - written)

    def usage(self, bill: Bill, made: int) -> Json:
        """As Responses tells it."""
        return responses_usage(bill.tokens, made, bill.read)


class ChatPrefixes(Prefixes):
    """The same, told as Chat Completions does."""

    def usage(self, bill: Bill, made: int) -> Json:
        """As Chat Completions tells it."""
        sums = {"prompt_tokens": bill.tokens, "completion_tokens": made, "total_tokens": bill.tokens + made}
        return {**sums, "prompt_tokens_details": {"cached_tokens": bill.read}}


class GeminiPrefixes(Prefixes):
    """The same, as Gemini caches by itself and tells it."""

    def usage(self, bill: Bill, made: int) -> Json:
        """As Gemini tells it."""
        return gemini_usage(bill.tokens, made, bill.read)


TILLS: dict[Dialect, type[Breakpoints] | type[Prefixes]] = {
    "anthropic": Breakpoints,
    "openai_chat": ChatPrefixes,
    "openai_responses": Prefixes,
}
"""For the agents that the proxy's tests play, which speak these; Gemini's own tests name its till."""


def _too_long(body: Json, total: int, window: int) -> Refused:
    code = "context_length_exceeded"
    if "contents" in body:
        return Refused(f"The input token count ({total}) exceeds the maximum number of tokens allowed ({window}).")
    if "messages" not in body:
        words = "Your input exceeds the context window of this model. Please adjust your input and try again."
        return Refused(words, code, "input")
    words = f"This model's maximum context length is {window} tokens. However, your messages resulted in {total} tokens"
    return Refused(f"{words}. Please reduce the length of the messages.", code, "messages")


def _names(blocks: list[Block]) -> Iterator[bytes]:
    """What each beginning of a prompt is known by."""
    so_far = hashlib.sha256()
    for block in blocks:
        so_far.update(len(block.data).to_bytes(8, "big") + block.data)
        yield so_far.digest()


def _sums(blocks: list[Block]) -> Iterator[int]:
    total = 0
    for block in blocks:
        total += block.tokens
        yield total


def _steps(blocks: list[Block], key: str) -> Iterator[bytes]:
    """What each beginning of so many whole steps of tokens is known by."""
    so_far = hashlib.sha256(key.encode())
    room = STEP
    for block in blocks:
        at, left = 0, block.tokens
        while left >= room:
            stop = at + int(room * BYTES)
            so_far.update(block.data[at:stop])
            yield so_far.digest()
            at, left, room = stop, left - room, STEP
        so_far.update(block.data[at:])
        room -= left
