"""A scripted computer-use loop: a screenshot at every step, through the proxy, billed as a provider bills it.

Owns: the client and its model, in any dialect. Must not know: what is promised.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from keepwhole.config import Settings
from keepwhole.store.protocol import Store
from tests.apps.proxy.proxy_server import PATHS, ask, proxy
from tests.canonical.pictures import png
from tests.upstream.prompt_cache import TILLS, Breakpoints, Clock, Prefixes
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect, Json, Part, Text, Tool

SIZE = 1280, 800
MODELS: dict[Dialect, str] = {
    "anthropic": "claude-sonnet-4-5",
    "openai_chat": "screen-chat",
    "openai_responses": "screen-responses",
}
SYSTEM = "You use a computer. Take a screenshot after every action. " * 60
SCHEMA: Json = {"type": "object", "properties": {"action": {"type": "string"}}}
Till = Breakpoints | Prefixes


def screenshot(number: int, weight: int = 600) -> bytes:
    """The screen after a step: no two are the same."""
    return png(*SIZE, number, weight)


def picture_part(dialect: Dialect, data: bytes) -> Json:
    """An image in a result."""
    text = base64.b64encode(data).decode()
    if dialect == "anthropic":
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": text}}
    url = f"data:image/png;base64,{text}"
    if dialect == "openai_chat":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def text_part(dialect: Dialect, text: str) -> Json:
    """Words in a result."""
    return {"type": "input_text" if dialect == "openai_responses" else "text", "text": text}


def step_messages(dialect: Dialect, call_id: str, tool: str, arguments: Json, parts: list[Json]) -> list[Json]:
    """A call, and a result of these parts."""
    if dialect == "anthropic":
        use = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
        done = {"type": "tool_result", "tool_use_id": call_id, "content": parts}
        return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [done]}]
    if dialect == "openai_chat":
        function = {"name": tool, "arguments": json.dumps(arguments)}
        asked = {"role": "assistant", "content": None}
        asked["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
        return [asked, {"role": "tool", "tool_call_id": call_id, "content": parts}]
    use = {"type": "function_call", "call_id": call_id, "name": tool, "arguments": json.dumps(arguments)}
    return [use, {"type": "function_call_output", "call_id": call_id, "output": parts}]


def request_body(dialect: Dialect, messages: list[Json]) -> Json:
    """The next request of a client that marks its newest message for the cache, where it must."""
    about: Json = {"name": "computer", "description": "Acts and returns a screenshot."}
    if dialect == "anthropic":
        last = messages[-1]
        content: Any = last["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        marked = {**last, "content": [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]}
        own: Json = {"system": SYSTEM, "messages": [*messages[:-1], marked], "max_tokens": 500}
        own["tools"] = [{**about, "input_schema": SCHEMA}]
    elif dialect == "openai_chat":
        own = {"messages": [{"role": "system", "content": SYSTEM}, *messages]}
        own["tools"] = [{"type": "function", "function": {**about, "parameters": SCHEMA}}]
    else:
        own = {"instructions": SYSTEM, "input": messages, "store": False}
        own["tools"] = [{"type": "function", **about, "parameters": SCHEMA}]
    return {"model": MODELS[dialect], **own}


class LoopResult(NamedTuple):
    """What a loop took, and what was sent."""

    bodies: list[bytes]
    cost: float
    """In tokens at the input price."""
    tokens: int
    sizes: list[int]
    """Tokens of each request."""
    refused: list[str]


class Loop:
    """One computer-use loop."""

    def __init__(self, dialect: Dialect, weight: int = 600, script: int = 0) -> None:
        """With screenshots of so many bytes, and so many characters of a script in every call."""
        self.dialect, self.weight, self.script = dialect, weight, script
        self.messages: list[Json] = [{"role": "user", "content": "Book the berth."}]
        self.pictures: list[bytes] = []
        self.arguments: list[Json] = []

    def step(self, number: int) -> None:
        """One more action and its screenshot."""
        self.pictures.append(screenshot(number, self.weight))
        parts = [text_part(self.dialect, f"Clicked at {number}."), picture_part(self.dialect, self.pictures[-1])]
        self.arguments.append(self._arguments(number))
        self.messages += step_messages(self.dialect, f"call_{number}", "computer", self.arguments[-1], parts)

    def _arguments(self, number: int) -> Json:
        lines = (f"await page.click('#berth-{number}-{line}');\n" for line in range(self.script // 30))
        return {"action": f"click {number}", **({"script": "".join(lines)} if self.script else {})}

    def model(self, _: Json) -> list[Part]:
        """What the model says; the loop decides by itself what is called."""
        return [Text("Done.")]

    def run(self, store: Store, settings: Settings, steps: int, mode: str = "on", window: int = 200_000) -> LoopResult:
        """Take so many steps through a proxy."""
        clock = Clock()
        till: Till = TILLS[self.dialect](clock, window=window)
        with _served(self.dialect, store, settings, mode, till) as (provider, port):
            for number in range(steps):
                self.step(number)
                headers = {"x-api-key": "k", "x-keepwhole-session": f"screens-{self.dialect}"}
                answer = ask(port, PATHS[self.dialect], request_body(self.dialect, self.messages), headers)
                assert answer.status == 200, answer.data[:500]
                clock.pass_by(5)
            sent = [asked.data for asked in provider.asked]
            return LoopResult(sent, till.cost, till.tokens, [bill.tokens for bill in till.bills], provider.refused)


@contextmanager
def _served(
    dialect: Dialect, store: Store, settings: Settings, mode: str, till: Till
) -> Iterator[tuple[Upstream, int]]:
    def model(_: Json) -> list[Part]:
        return [Tool("computer", {"action": "click"})]

    with (
        upstream(model, till) as provider,
        proxy(provider.url, store=store, mode=mode, settings=settings) as served,
    ):
        yield provider, served.port
        served.rest(30)
