"""A client that runs the same script of steps with `mode: off` and with Keepwhole, billed by a simulated provider.

Owns: the client: its history, its markers, its own compaction. The provider's cache is `tests.upstream.prompt_cache`,
which was written from the providers' pages and not from our code.
"""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.outgoing_request import HiddenRounds
from keepwhole.wire.dialects import Endpoint, conversation_dialect
from keepwhole.wire.request_body import read_request
from tests.upstream.prompt_cache import Breakpoints, Clock

Json = dict[str, Any]
MODEL = "priced-model"
COMPACT = 0.9
"""Share of the window at which the client compacts."""
SUMMARY = 2_000
"""Tokens of the summary that it has the model write."""
OUT = 5.0


class Weights(NamedTuple):
    """Characters of each part of a step."""

    result: int = 4_000
    arguments: int = 200
    words: int = 100
    system: int = 8_000
    tools: int = 8_000
    pause: float = 10.0
    """Seconds between two steps."""
    question: int = 0
    """Every so many steps the user says something new; 0 for never."""
    ttl: str = "5m"
    """How long the client wants what is cached to live."""


class Prices(NamedTuple):
    """What the provider charges, and what the profile is told."""

    read: float = 0.1
    write: float = 1.25
    told: float | None = 1.0
    """The read price in the profile, as a multiple of the true one; None where it is not told, and so guessed."""


LIST = Prices()


def prose(seed: str, chars: int) -> str:
    """Words that no two seeds share, about as dense as tool output."""
    drawn = random.Random(seed)
    lines = (
        f"{drawn.randrange(10**6)} {seed} entry of the report, checked by row {drawn.randrange(10**4)}\n"
        for _ in range(chars // 60 + 1)
    )
    return "".join(lines)[:chars]


class Client:
    """One run of a script; `send` turns the client's request into what is sent, and is told the bill."""

    def __init__(self, weights: Weights, till: Breakpoints, clock: Clock, marker: Callable[[int], bool]) -> None:
        self.weights, self.till, self.clock, self._marker = weights, till, clock, marker
        self.history: list[Json] = [{"role": "user", "content": "Do the task. " + prose("task", 400)}]
        self.cost = 0.0
        self.costs: list[float] = []
        self.visible: list[str] = []
        """The results of the last request as they were sent."""

    def send(self, body: bytes) -> bytes:
        """What goes to the provider; a client with `mode: off` sends what it has."""
        return body

    def learn(self, body: bytes, answer: Json) -> None:
        """Learn the bill of a request."""

    def step(self, number: int) -> None:
        """Make a call, get its result, and send the request."""
        weights = self.weights
        call = {"id": f"toolu_{number}", "name": ("Bash", "Read", "query_api")[number % 3]}
        arguments = {"input": prose(f"a{number}", weights.arguments)}
        said = [{"type": "text", "text": prose(f"w{number}", weights.words)}] if weights.words else []
        self.history.append({"role": "assistant", "content": [*said, {"type": "tool_use", **call, "input": arguments}]})
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": prose(f"r{number}", weights.result)}
        blocks = [result]
        if weights.question and number % weights.question == weights.question - 1:
            blocks.append({"type": "text", "text": f"And now the next part, {number}."})
        self.history.append({"role": "user", "content": blocks})
        if self._is_full():
            self._compact()
        self._request(self.history)
        self.clock.pass_by(weights.pause)
        self.costs.append(self.cost)

    def _is_full(self) -> bool:
        bill = self.till.bills[-1] if self.till.bills else None
        return bill is not None and bill.tokens >= COMPACT * self.till.window

    def _compact(self) -> None:
        newest = self.history[-2:]
        self._request([*self.history[:-2], {"role": "user", "content": "Summarize the conversation so far."}])
        self.cost += OUT * SUMMARY
        summary = "Summary of the work so far. " + prose(f"s{len(self.costs)}", int(SUMMARY * 3.3))
        self.history = [{"role": "user", "content": summary}, *newest]

    def _request(self, history: list[Json]) -> None:
        body = self.send(json.dumps(self._body(history)).encode())
        bill = self.till.bill(json.loads(body))
        self.cost += bill.cost
        self.visible = [block["content"] for block in _results(json.loads(body)) if isinstance(block["content"], str)]
        usage = self.till.usage(bill, 50)
        self.learn(
            body, {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn", "usage": usage}
        )

    def _body(self, history: list[Json]) -> Json:
        weights = self.weights
        mark = {"type": "ephemeral"} if weights.ttl == "5m" else {"type": "ephemeral", "ttl": weights.ttl}
        system = [{"type": "text", "text": prose("system", weights.system), "cache_control": mark}]
        tools = [
            {"name": name, "description": prose(name, weights.tools // 3), "input_schema": {"type": "object"}}
            for name in ("Bash", "Read", "query_api")
        ]
        messages = [dict(message) for message in history]
        if self._marker(len(self.costs)):
            last = messages[-1]
            content = last["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [dict(one) for one in content]
            blocks[-1]["cache_control"] = mark
            messages[-1] = {**last, "content": blocks}
        return {"model": MODEL, "max_tokens": 1_000, "system": system, "tools": tools, "messages": messages}


class ManagedClient(Client):
    """The same client with Keepwhole between it and the provider."""

    def __init__(
        self,
        weights: Weights,
        till: Breakpoints,
        clock: Clock,
        marker: Callable[[int], bool],
        models: Json,
        **settings: Any,
    ) -> None:
        super().__init__(weights, till, clock, marker)
        made = Settings(home="unused", models={MODEL: models}, **settings)
        self.session = Session("priced", store=MemoryStore(), settings=made, clock=lambda: 1e6 + clock())
        self.rounds = HiddenRounds(self.session)
        self.exchange: Exchange | None = None

    def send(self, body: bytes) -> bytes:
        request = read_request(body)
        assert request is not None
        self.exchange = Exchange(
            self.session, self.rounds, Endpoint(conversation_dialect("anthropic")), request
        ).begin()
        return self.exchange.body

    def learn(self, body: bytes, answer: Json) -> None:
        assert self.exchange is not None
        self.exchange.learn_bill(200, json.dumps(answer).encode(), complete=True)


def run_both(
    weights: Weights,
    steps: int,
    window: int = 200_000,
    prices: Prices = LIST,
    marker: Callable[[int], bool] = lambda number: True,
    **settings: Any,
) -> Iterator[tuple[Client, ManagedClient]]:
    """Run the script with and without Keepwhole; yield both after each step."""
    clocks = Clock(), Clock()
    tills = [Breakpoints(clock, window, read=prices.read, write=prices.write) for clock in clocks]
    off = Client(weights, tills[0], clocks[0], marker)
    told: Json = {"window": window, "write": prices.write, "minimum": 1_024}
    if prices.told is not None:
        told["read"] = prices.read * prices.told
    on = ManagedClient(weights, tills[1], clocks[1], marker, told, **settings)
    for number in range(steps):
        off.step(number)
        on.step(number)
        yield off, on


def _results(body: Json) -> Iterator[Json]:
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                yield block
