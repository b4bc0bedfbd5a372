"""One session of a client, played with `mode: off` and with Keepwhole side by side, each billed by a provider's cache.

Owns: what a client does (steps, markers, its own compaction, going back), what the model does (calls, recalls), what
both pay. It is told in Anthropic's words; `dialect_bodies` spells requests and answers as each provider does. The
caches are `tests.upstream.prompt_cache`, written from the providers' pages and not from our code.
Must not know: which actions follow each other, or what a session may cost.
"""

import json
import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from keepwhole import MemoryStore, Session
from keepwhole.canonical.round_times import RoundTimes
from keepwhole.config import Settings
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.outgoing_request import HiddenRounds
from keepwhole.exchange.request_log import RequestLog
from keepwhole.wire.dialects import Endpoint, conversation_dialect
from keepwhole.wire.identity import Identity
from keepwhole.wire.request_body import read_request
from tests.promises import priced_client
from tests.promises.dialect_bodies import (
    MARKED,
    NAMED_IN_PATH,
    answered,
    messages_with_parts,
    recalls_in,
    spelled,
    usage_of,
)
from tests.promises.priced_client import COMPACT, MODEL, OUT, SUMMARY, Json
from tests.upstream.media_parts import KINDS, MediaKind, media_part
from tests.upstream.pictures import media_tokens, without_pictures
from tests.upstream.prompt import tokens_of
from tests.upstream.prompt_cache import Bill, Breakpoints, Clock, Prefixes, Refused
from tests.upstream.spelling import Dialect

Markers = Literal["last", "two", "system", "middle", "top", "none"]
MARKERS: tuple[Markers, ...] = ("last", "two", "system", "middle", "top", "none")
TOOLS = ("Bash", "Read", "query_api", "Task", "computer")
_FORCED_FROM = 0.85
"""Share of the window from which on a change may be forced by it: the limit is 0.9 of what is estimated."""
_ARTIFACT = re.compile(r"\bart_\d\w+")
_SUMMARIZE = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. Summarize the conversation so far."

prose = lru_cache(maxsize=4_096)(priced_client.prose)


@lru_cache(maxsize=4_096)
def script(seed: str, chars: int) -> str:
    """What a model writes into a call: names that no two seeds share, so that no later call refers to it."""
    lines = (
        f"result_{seed}_of_{line} = await look_{seed}_at_{line}(berth_{seed}_{line})\n" for line in range(chars // 40)
    )
    return "".join(lines)[:chars] or seed


class Provider(NamedTuple):
    """A provider's cache and prices, and what the profile is told of them."""

    cache: Literal["breakpoints", "prefixes", "none"] = "breakpoints"
    window: int = 200_000
    minimum: int = 1_024
    lifetime: int = 300
    read: float = 0.1
    write: float = 1.25
    told_read: float | None = 1.0
    """The read price in the profile, as a multiple of the true one; None where it is not told, and so guessed."""
    told_write: float = 1.0
    dialect: Dialect = "anthropic"
    long_from: int = 0
    """Tokens of a request above which all of its input costs twice as much; 0 where none does."""

    def fitting(self) -> "Provider":
        """This provider as its dialect can be: breakpoints where clients set markers, and no price of writing where a
        cache is filled unasked and the bill does not say how much of a request was written."""
        if self.dialect == "anthropic":
            return self
        if self.dialect in MARKED:
            return self if self.cache != "prefixes" else self._replace(cache="breakpoints")
        cache = "prefixes" if self.cache == "breakpoints" else self.cache
        return self._replace(cache=cache, write=1.0, told_write=1.0)

    def cost(self, bill: Bill) -> float:
        """What a bill costs."""
        return bill.cost * self.factor(bill.tokens)

    def factor(self, tokens: int) -> float:
        """How many times the usual price a request of this size costs."""
        return 2.0 if 0 < self.long_from < tokens else 1.0

    @property
    def write_price(self) -> float:
        """What a token costs that is written to the cache for as long as the client wants."""
        return 2.0 if self.cache == "breakpoints" and self.lifetime == 3_600 else self.write

    def till(self, clock: Clock) -> Breakpoints | Prefixes:
        """Who bills."""
        if self.cache == "breakpoints":
            return Breakpoints(clock, self.window, self.minimum, self.read, self.write)
        minimum = self.minimum if self.cache == "prefixes" else 10 * self.window
        write = self.write if self.cache == "prefixes" else 1.0
        return Prefixes(clock, self.window, minimum, self.read, write, self.lifetime)

    def profile(self) -> Json:
        """What the settings say of the model."""
        told: Json = {"window": self.window, "minimum": self.minimum, "write": self.write * self.told_write}
        if self.cache != "breakpoints":
            told |= {"breakpoints": 0, "lifetime": self.lifetime}
        if self.told_read is not None:
            told["read"] = self.read * self.told_read
        return {**told, "long_from": self.long_from, "long_price": 2.0} if self.long_from else told


class Step(NamedTuple):
    """What the model does in one step; sizes in characters."""

    result: int = 4_000
    arguments: int = 100
    words: int = 0
    calls: int = 1
    tool: str = "Bash"
    question: bool = False
    """Whether the user says something beside the results."""
    recall: int | None = None
    """Which of the hidden results the model reads back first; None for none."""
    repeats: bool = False
    """Whether the results are those of the step before."""
    media: MediaKind | None = None
    """What is beside the text of each result: an image, a document, or nothing."""


class PricedSession:
    """A session with `mode: off`."""

    def __init__(self, provider: Provider, clock: Clock, system: int, tools: int) -> None:
        self.provider, self.clock, self.till = provider, clock, provider.till(clock)
        self._head: Json = {
            "model": MODEL,
            "max_tokens": 1_000,
            "tools": [
                {"name": name, "description": prose(name, tools // len(TOOLS)), "input_schema": {"type": "object"}}
                for name in TOOLS
            ],
        }
        self._system = prose("system", system)
        self.markers: Markers = "last"
        self.history: list[Json] = [{"role": "user", "content": "Do the task. " + prose("task", 400)}]
        self.past: list[list[Json]] = []
        """The history as it was before each step since the client has compacted."""
        self.cost = 0.0
        self.compactions = 0
        self._size = self._came = 0
        """Tokens of the last request as it was billed, and as the client made it."""

    def step(self, number: int, step: Step) -> None:
        """Send the history; the model calls tools, which return something."""
        step = self._fitting(step)
        if self.fills(COMPACT * self.provider.window):
            self.compact(number)
        self.past.append(list(self.history))
        answer = _answer(number, step)
        try:
            self._send(self.history, answer, step.recall)
        except Refused:
            self.compact(number)
            self._send(self.history, answer, step.recall)
        self.history = [*self.history, {"role": "assistant", "content": answer}, _results(number, step)]

    def _fitting(self, step: Step) -> Step:
        """The step with a document in place of what a dialect has not: media that are not in the request."""
        is_known = self.provider.dialect == "anthropic" or step.media in (None, *KINDS[:5])
        return step if is_known else step._replace(media="document")

    @property
    def size(self) -> int:
        """Tokens of the last request, as it was billed."""
        return self._size

    def fills(self, tokens: float) -> bool:
        """Whether the next request would take so many tokens."""
        return self._would_take(self._body(self.history)) >= tokens

    def compact(self, number: int) -> None:
        """Have the model write a summary of all but the newest step, and go on with that."""
        if len(self.history) < 4:
            return
        words = "Summary of the work so far. " + prose(f"s{number}", int(SUMMARY * 3.3))
        asked = [*self.history[:-2], {"role": "user", "content": _SUMMARIZE}]
        self._send(asked, [{"type": "text", "text": words}], None, is_compaction=True)
        self.cost += OUT * SUMMARY
        self.compactions += 1
        self.history = [{"role": "user", "content": words}, *self.history[-2:]]
        self.past = []

    def go_back(self, steps: int) -> None:
        """Go back to where the session was before so many steps; nothing is forgotten, so one can return."""
        self.history = self.past[-steps]

    def _send(self, history: list[Json], answer: list[Json], recall: int | None, is_compaction: bool = False) -> None:
        body = self._body(history)
        self._pay(body)
        self._came = self.till.count(body)

    def _pay(self, body: Json) -> Bill:
        bill = self.till.bill(body)
        self.cost += self.provider.cost(bill)
        self._size = bill.tokens
        return bill

    def _would_take(self, body: Json) -> int:
        """Tokens of a request if what was sent before is sent as it was."""
        return max(0, self._size + self.till.count(body) - self._came)

    def _body(self, history: list[Json]) -> Json:
        system, messages = {"type": "text", "text": self._system}, list(history)
        marker: Json = {"type": "ephemeral"}
        if self.provider.cache == "breakpoints" and self.provider.lifetime == 3_600:
            marker["ttl"] = "1h"
        own: Json = {}
        if self.provider.dialect not in MARKED:
            pass
        elif self.markers == "top":
            own = {"cache_control": marker}
        elif self.markers != "none":
            system["cache_control"] = marker  # pyright: ignore
            places = {"last": [-1], "two": [-1, -3], "system": [], "middle": [-1, -1 - len(messages) // 4 * 2]}
            for place in places[self.markers]:
                if -place <= len(messages):
                    messages[place] = _marked(messages[place], marker)
        made = {**self._head, **own, "system": [system], "messages": messages}
        return spelled(self.provider.dialect, made)


class ManagedSession(PricedSession):
    """The same session with Keepwhole between the client and the provider."""

    def __init__(
        self, provider: Provider, clock: Clock, system: int, tools: int, client_compacts: bool, **settings: Any
    ) -> None:
        super().__init__(provider, clock, system, tools)
        self._settings = Settings(home="unused", models={MODEL: provider.profile()}, **settings)
        self._store = MemoryStore()
        self._client_compacts = client_compacts
        self._sent_at = 0.0
        self.recalls = self.forced = 0
        self.recalled = 0.0
        """What recalls have cost since the last batch: hidden rounds, and what they read, sent again ever since."""
        self.is_told_too_much = False
        """Whether it was told a price of reading above the true one: a batch may then only seem to be afforded after a
        recall, since bills tell tokens and no prices."""
        self._compacted = 0
        """Messages in place of which a summary was sent last."""
        self._read_back = self._new_read_back = 0
        """Tokens that were read back, and those of them that the client has not sent yet."""
        self._is_cached = False
        """Whether the provider has cached anything of the last request."""
        self._batched = 0
        """Messages of the request in which a batch was made last."""
        self.exempt = 0.0
        """What changes have cost that the window forced."""
        self.restart()

    def restart(self) -> None:
        """Begin anew with the same record, as a new process does."""
        self.session = Session(
            "priced", store=self._store, settings=self._settings, clock=lambda: 1_000_000 + self.clock()
        )
        self._rounds, self._log = HiddenRounds(self.session), RequestLog(self.session)

    def _send(self, history: list[Json], answer: list[Json], recall: int | None, is_compaction: bool = False) -> None:
        body = self._body(history)
        would_take = self._would_take(body)
        exchange = self._begin(body, is_compaction)
        before = self._size
        bill = self._round(exchange)
        if is_compaction or exchange.account.new_decisions:
            self._batched = 0 if is_compaction else len(history)
        self._exempt_forced(exchange, bill, before, would_take)
        self._count_read_back(exchange, bill, would_take)
        hidden = sorted(set(_ARTIFACT.findall(exchange.body.decode())))
        if recall is not None and hidden and exchange.offers:
            bill = self._recall(exchange, bill, hidden[recall % len(hidden)])
        self._finish(exchange, bill, answer)
        self._came, self._sent_at = self.till.count(body), self.clock()

    def _recall(self, exchange: Exchange, bill: Bill, id: str) -> Bill:
        """Let the model read something back before it answers."""
        before, paid = bill.tokens, self.cost
        call = {"type": "tool_use", "id": f"recall_{self.recalls}", "name": "get_artifact", "input": {"id": id}}
        self._finish(exchange, bill, [call])
        bill = self._round(exchange)
        self.cost += OUT * tokens_of(json.dumps(call).encode())
        self.recalls += 1
        self.recalled += self.cost - paid
        self._new_read_back = max(0, bill.tokens - before)  # a summary may be made between the rounds
        return bill

    def _count_read_back(self, exchange: Exchange, bill: Bill, would_take: int) -> None:
        """Count what it costs to send again what was read back, as it was billed: from the cache or not.

        A batch is made only if all of that is afforded, or if it costs nothing, since no cache has the request. A
        summary is made because it is not afforded, and leaves it out.
        """
        account = exchange.account
        costs_nothing = not (self._is_warm() and self._is_cached) and bill.cost <= would_take
        self._is_cached = bill.plain < bill.tokens
        is_judged = not costs_nothing and not self.is_told_too_much
        if account.new_decisions and account.compacted == self._compacted and is_judged:
            self.recalled = 0.0
        self._compacted = account.compacted
        found, behind = _read_back_in(json.loads(exchange.body))
        self._read_back = min(self._read_back, found)
        write = 2.0 if self.provider.lifetime == 3_600 else self.provider.write
        price = self.provider.read if bill.tokens - behind <= bill.read else write
        self.recalled += price * self._read_back + write * self._new_read_back
        self._read_back, self._new_read_back = self._read_back + self._new_read_back, 0

    @property
    def is_before_batch(self) -> bool:
        """Whether the client is at a place before the last batch."""
        return len(self.history) < self._batched

    @property
    def added(self) -> int:
        """Tokens of the last request that the client has not sent: recall tools, and what was read back."""
        return max(0, self._size - self._came)

    def _begin(self, body: Json, is_compaction: bool) -> Exchange:
        request = read_request(json.dumps(body).encode())
        assert request is not None
        purpose = "compaction" if is_compaction and self._client_compacts else "turn"
        identity = Identity("priced", purpose=purpose, client_compacts=self._client_compacts)
        dialect = self.provider.dialect
        endpoint = Endpoint(conversation_dialect(dialect), model=MODEL if dialect in NAMED_IN_PATH else None)
        return Exchange(self.session, self._rounds, endpoint, request, identity, log=self._log).begin()

    def _round(self, exchange: Exchange) -> Bill:
        return self._pay(json.loads(exchange.body))

    def _finish(self, exchange: Exchange, bill: Bill, answer: list[Json]) -> None:
        number = exchange.count
        dialect = self.provider.dialect
        usage = usage_of(dialect, self.till, bill, 50)
        data = json.dumps(answered(dialect, answer, number, usage, MODEL)).encode()
        exchange.read_answer(data)
        learned = exchange.learn_bill(200, data, complete=True)
        exchange.record(number, 200, data, "complete", learned, RoundTimes())

    def _exempt_forced(self, exchange: Exchange, bill: Bill, before: int, would_take: int) -> None:
        """Count what a change has cost that the window forced."""
        is_full = would_take >= _FORCED_FROM * self.provider.window
        if is_full and self._is_warm() and exchange.account.new_decisions:
            unchanged = self.provider.read * before + self.provider.write * max(0, would_take - before)
            unchanged *= self.provider.factor(would_take)
            self.forced += 1
            self.exempt += max(0.0, self.provider.cost(bill) - unchanged)

    def _is_warm(self) -> bool:
        return self.clock() - self._sent_at <= self.provider.lifetime


def _answer(number: int, step: Step) -> list[Json]:
    said: list[Json] = [{"type": "text", "text": prose(f"w{number}", step.words)}] if step.words else []
    drawn = number - 1 if step.repeats else number
    return said + [
        {
            "type": "tool_use",
            "id": f"toolu_{number}_{place}",
            "name": step.tool,
            "input": {"input": script(f"a{drawn}.{place}", step.arguments)},
        }
        for place in range(step.calls)
    ]


def _results(number: int, step: Step) -> Json:
    drawn = number - 1 if step.repeats else number
    blocks: list[Json] = [
        {"type": "tool_result", "tool_use_id": f"toolu_{number}_{place}", "content": _content(step, drawn, place)}
        for place in range(step.calls)
    ]
    if step.question:
        blocks.append({"type": "text", "text": f"And now the next part, {number}."})
    return {"role": "user", "content": blocks}


def _content(step: Step, drawn: int, place: int) -> str | list[Json]:
    text = prose(f"r{drawn}.{place}", step.result)
    if step.media is None:
        return text
    return [{"type": "text", "text": text}, media_part("anthropic", step.media, 10 * drawn + place)]


def _marked(message: Json, marker: Json) -> Json:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [dict(block) for block in content]
    blocks[-1]["cache_control"] = marker
    return {**message, "content": blocks}


def _read_back_in(body: Json) -> tuple[int, int]:
    """Tokens of the calls of recall tools in a request and of their answers, and the tokens behind the last of them."""
    found = behind = 0
    ids: set[str] = set()
    for message, parts in messages_with_parts(body):
        own = recalls_in(parts, ids)
        found += sum(map(_tokens, own))
        behind = 0 if own else behind + _tokens(message)
    return found, behind


def _tokens(part: Json) -> int:
    return tokens_of(json.dumps(without_pictures(part)).encode()) + media_tokens(part)
