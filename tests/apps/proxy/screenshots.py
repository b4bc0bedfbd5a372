"""A scripted computer-use loop: a screenshot at every step, through the proxy, billed as a provider bills it.

Owns: the client and its model, in any dialect. Must not know: what is promised.
"""

import base64
import json
import re
from typing import Any, NamedTuple

from keepwhole.config import Settings
from keepwhole.store.protocol import Store
from tests.apps.proxy.proxy_server import proxy
from tests.apps.proxy.sdk_clients import sdk_client
from tests.canonical.pictures import png
from tests.promises.conversations import user_message
from tests.upstream.pictures import pictures_in
from tests.upstream.prompt import readable, strings_in
from tests.upstream.prompt_cache import TILLS, Breakpoints, CachePoints, Clock, GeminiPrefixes, Prefixes
from tests.upstream.server import upstream
from tests.upstream.spelling import Dialect, Json, Part, Tool

SIZE = 1280, 800
MODELS: dict[Dialect, str] = {
    "anthropic": "claude-sonnet-5",
    "openai_chat": "screen-chat",
    "openai_responses": "screen-responses",
    "gemini": "screen-gemini",
    "converse": "us.anthropic.claude-sonnet-5",
}
SYSTEM = "You use a computer. Take a screenshot after every action. " * 60
SCHEMA: Json = {"type": "object", "properties": {"action": {"type": "string"}}}
Till = Breakpoints | Prefixes
_TILLS: dict[Dialect, type[Till]] = {**TILLS, "gemini": GeminiPrefixes, "converse": CachePoints}
_HIDDEN = {
    "image": re.compile(r"\[Artifact: (art_\d+_\w{22})\] image/png"),
    "arguments": re.compile(r'id="(art_\d+_\w{22})", part="arguments"'),
}
"""What says that something is not shown, and how it is called."""
_READS_EVERY = 7
"""Steps after which the model reads something back."""


def screenshot(number: int, weight: int = 600) -> bytes:
    """The screen after a step: no two are the same."""
    return png(*SIZE, number, weight)


def picture_part(dialect: Dialect, data: bytes) -> Json:
    """An image in a result."""
    text = base64.b64encode(data).decode()
    if dialect == "converse":
        return {"image": {"format": "png", "source": {"bytes": text}}}
    if dialect == "anthropic":
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": text}}
    if dialect == "gemini":
        return {"inlineData": {"mimeType": "image/png", "data": text}}
    url = f"data:image/png;base64,{text}"
    if dialect == "openai_chat":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def text_part(dialect: Dialect, text: str) -> Json:
    """Words in a result."""
    if dialect in ("converse", "gemini"):
        return {"text": text}
    return {"type": "input_text" if dialect == "openai_responses" else "text", "text": text}


def step_messages(dialect: Dialect, call_id: str, tool: str, arguments: Json, parts: list[Json]) -> list[Json]:
    """A call, and a result of these parts."""
    if dialect == "converse":
        call = {"toolUse": {"toolUseId": call_id, "name": tool, "input": arguments}}
        result = {"toolResult": {"toolUseId": call_id, "content": parts}}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    if dialect == "gemini":
        return _step_of_gemini(call_id, tool, arguments, parts)
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


def _step_of_gemini(call_id: str, tool: str, arguments: Json, parts: list[Json]) -> list[Json]:
    """Every other call has an id, as calls of newer models have; images are beside the response."""
    own = {"id": call_id} if call_id[-1:] in "13579" else {}
    texts, media = [one["text"] for one in parts if "text" in one], [one for one in parts if "text" not in one]
    beside = {"parts": media} if media else {}
    call = {"functionCall": {**own, "name": tool, "args": arguments}}
    result = {"functionResponse": {**own, "name": tool, "response": {"output": "\n".join(texts)}, **beside}}
    return [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]


def request_body(dialect: Dialect, messages: list[Json]) -> Json:
    """The next request of a client that marks its newest message for the cache, where it must."""
    about: Json = {"name": "computer", "description": "Acts and returns a screenshot."}
    if dialect == "gemini":
        tools = [{"functionDeclarations": [{**about, "parametersJsonSchema": SCHEMA}]}]
        return {"model": MODELS[dialect], "system": SYSTEM, "contents": messages, "tools": tools}
    if dialect == "converse":
        point = {"cachePoint": {"type": "default"}}
        last = {**messages[-1], "content": [*messages[-1]["content"], point]}
        spec = {"toolSpec": {**about, "inputSchema": {"json": SCHEMA}}}
        own = {"system": [{"text": SYSTEM}], "messages": [*messages[:-1], last], "toolConfig": {"tools": [spec]}}
        return {"model": MODELS[dialect], **own}
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
    """All requests that the provider got, those of hidden rounds too."""
    cost: float
    """In tokens at the input price."""
    tokens: int
    sizes: list[int]
    """Tokens of each request."""
    refused: list[str]
    reads: list[str]
    """What the model has read back and found to be what came: images and arguments."""


class Loop:
    """One computer-use loop: the model acts by scripts that it writes, and sees the screen after each."""

    def __init__(self, dialect: Dialect, weight: int = 600, script: int = 0) -> None:
        """With screenshots of so many bytes, and so many characters of a script in every call."""
        self.dialect: Dialect = dialect
        self.weight, self.script = weight, script
        self.messages: list[Json] = [user_message("Book the berth.", dialect)]
        self.pictures: list[bytes] = []

    def arguments(self, number: int) -> Json:
        """What the model writes into the call of a step."""
        lines = (f"await page.click('#berth-{number}-{line}');\n" for line in range(self.script // 30))
        return {"action": f"click {number}", **({"script": "".join(lines)} if self.script else {})}

    def step(self, number: int) -> None:
        """One more action and its screenshot."""
        call = step_messages(self.dialect, f"call_{number}", "computer", self.arguments(number), [])[:-1]
        self.add_screenshot(number, call)

    def add_screenshot(self, number: int, call: list[Json]) -> None:
        """Add the messages of a call, and the screenshot that it returned."""
        self.pictures.append(screenshot(number, self.weight))
        parts = [text_part(self.dialect, f"Clicked at {number}."), picture_part(self.dialect, self.pictures[-1])]
        answer = step_messages(self.dialect, f"call_{number}", "computer", {}, parts)[-1]
        if self.dialect == "gemini":
            answer["parts"][0]["functionResponse"]["id"] = f"call_{number}"
        self.messages += [*call, answer]

    def run(self, store: Store, settings: Settings, steps: int, mode: str = "on", window: int = 200_000) -> LoopResult:
        """Take so many steps through a proxy, with the provider's own SDK as the client."""
        clock, model = Clock(), LoopModel(self)
        till: Till = _TILLS[self.dialect](clock, window=window)
        with (
            upstream(model, till) as provider,
            proxy(
                {"bedrock": provider.url} if self.dialect == "converse" else provider.url,
                store=store,
                mode=mode,
                settings=settings,
            ) as served,
            sdk_client(self.dialect, served.url, {"x-keepwhole-session": f"screens-{self.dialect}"}) as client,
        ):
            for number in range(steps):
                answer = client.ask(request_body(self.dialect, self.messages), is_streamed=number % 2 == 1)
                assert answer.calls == [(f"call_{number}", self.arguments(number))], "the client gets calls whole"
                self.add_screenshot(number, answer.messages)
                clock.pass_by(5)
            served.rest(30)
        assert not provider.failed, provider.failed
        sent = [asked.data for asked in provider.asked]
        sizes = [bill.tokens for bill in till.bills]
        return LoopResult(sent, till.cost, till.tokens, sizes, provider.refused, model.reads)


class LoopModel:
    """The model: it writes the next script, and now and then reads an image or a script back that it does not see."""

    def __init__(self, loop: Loop) -> None:
        self._loop, self._calls = loop, 0
        self._asked: tuple[str, int] | None = None
        self.reads: list[str] = []

    def __call__(self, body: Json) -> list[Part]:
        messages: list[Json] = body.get("messages", body.get("input", body.get("contents")))
        if self._asked is not None:
            self._check(*self._asked, messages[-1])
            self._asked = None
        elif self._calls % _READS_EVERY == _READS_EVERY - 1:
            part = ("image", "arguments")[self._calls // _READS_EVERY % 2]
            found = self._hidden(messages, part)
            if found is not None:
                number, given = found
                self._asked = part, number
                return [Tool("get_artifact", given, f"recall_{self._calls}")]
        self._calls += 1
        return [Tool("computer", self._loop.arguments(self._calls - 1), f"call_{self._calls - 1}")]

    def _hidden(self, messages: list[Json], part: str) -> tuple[int, Json] | None:
        """The last step of which an image or the arguments are not shown, and what to ask for."""
        for number in reversed(range(self._calls)):
            step = readable([message for message in messages if f'"call_{number}"' in json.dumps(message)])
            found = _HIDDEN[part].search(step.replace("\\", ""))
            if found is not None:
                return number, {"id": found[1], **({"part": "arguments"} if part == "arguments" else {})}
        return None

    def _check(self, part: str, number: int, answer: Json) -> None:
        if part == "arguments":
            script = json.dumps(self._loop.arguments(number))
            assert any(script in text for text in strings_in(answer)), "the arguments are not whole"
        elif self._loop.dialect == "openai_chat":
            assert "image/png" in json.dumps(answer)
        else:
            assert [base64.b64decode(data) for _, data in pictures_in([answer])] == [self._loop.pictures[number]]
        self.reads.append(part)
