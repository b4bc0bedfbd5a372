"""A provider that plays a script in the spelling of whoever asks, whole or streamed, and keeps what it was sent.

What it streams has the shapes of the SDKs' own types; what it is sent must be what a provider takes: every call with
its result, no id twice, no tool called that is not offered.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

httpx2 = pytest.importorskip("httpx2", reason="httpx2 is not installed, with which the SDKs send")
Json = dict[str, Any]


class Text(NamedTuple):
    """Words."""

    text: str


class Tool(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: Json
    call_id: str | None = None


Part = Text | Tool
Line = list[Part] | httpx2.Response | Callable[[Json], "list[Part] | httpx2.Response"]
"""What the provider does next: parts of an answer, a response as it is, or a function of the request that gives one."""


class Provider:
    """An upstream of three dialects."""

    def __init__(self, script: list[Line], packed: bool = False) -> None:
        self.script = list(script)
        self.requests: list[Json] = []
        self.bodies: list[bytes] = []
        self.headers: list[httpx2.Headers] = []
        self.calls = 0
        self.closed = 0
        self._packed = packed

    @property
    def transport(self) -> httpx2.MockTransport:
        return httpx2.MockTransport(self.handle)

    @property
    def async_transport(self) -> httpx2.MockTransport:
        async def handle(request: httpx2.Request) -> httpx2.Response:
            return self.handle(request)

        return httpx2.MockTransport(handle)

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        self.bodies.append(request.content)
        self.headers.append(request.headers)
        path = request.url.path
        if path.endswith("count_tokens"):
            return httpx2.Response(200, json={"input_tokens": len(request.content) // 4})
        wrong = complaint(body)
        if wrong:
            return httpx2.Response(400, json={"type": "error", "error": {"type": "invalid", "message": wrong}})
        line = self.script.pop(0)
        said = line(body) if callable(line) else line
        if isinstance(said, httpx2.Response):
            return said
        self.calls += 1
        spell = _CHAT if path.endswith("completions") else _RESPONSES if path.endswith("responses") else _ANTHROPIC
        whole, events = spell
        if body.get("stream"):
            return httpx2.Response(
                200, headers={"content-type": "text/event-stream"}, stream=_Body(events(said, self.calls), self)
            )
        data = json.dumps(whole(said, self.calls)).encode()
        headers = {"content-type": "application/json", "x-request-id": f"req_{self.calls}"}
        if self._packed:
            return httpx2.Response(
                200, headers={**headers, "content-encoding": "gzip"}, stream=_Body([gzip.compress(data)], self)
            )
        return httpx2.Response(200, headers=headers, stream=_Body([data], self))


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, pieces: Any, provider: Provider) -> None:
        self._pieces, self._provider = pieces, provider

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            # In pieces that no event ends with, as a network gives them.
            yield piece[: len(piece) // 2]
            yield piece[len(piece) // 2 :]

    async def __aiter__(self) -> Any:
        for piece in self:
            yield piece

    def close(self) -> None:
        self._provider.closed += 1

    async def aclose(self) -> None:
        self.close()


def complaint(body: Json) -> str:
    """What a provider would refuse of a request."""
    tools = {tool.get("name") or tool.get("function", {}).get("name") for tool in body.get("tools", ())}
    if "messages" in body:
        made, answered = _pairs(body["messages"])
    else:
        items = body["input"] if isinstance(body["input"], list) else []
        made = {item["call_id"]: item["name"] for item in items if item.get("type") == "function_call"}
        answered = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        if body.get("previous_response_id"):
            return ""
    if len(set(answered)) != len(answered):
        return "a call is answered twice"
    if set(made) != set(answered):
        return f"calls {sorted(made)} have the results {sorted(answered)}"
    unknown = set(made.values()) - tools
    return f"tools {sorted(unknown)} are called and not offered" if unknown else ""


def _pairs(messages: list[Json]) -> tuple[dict[str, str], list[str]]:
    """The calls and their answers, where each answer has to follow its call at once."""
    made: dict[str, str] = {}
    answered: list[str] = []
    waiting: set[str] = set()
    for message in messages:
        content = message.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        here = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
        here += [message["tool_call_id"]] if message["role"] == "tool" else []
        if message["role"] == "assistant" and waiting:
            return made, answered
        waiting -= set(here)
        answered += here
        new = {block["id"]: block["name"] for block in blocks if block.get("type") == "tool_use"}
        new |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls") or ()}
        if set(new) & set(made):
            return {**made, "twice": "twice"}, answered
        made |= new
        waiting |= set(new)
    return made, answered


def _event(name: str, data: Json) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _ids(said: list[Part], number: int) -> list[tuple[str, Part]]:
    return [((isinstance(part, Tool) and part.call_id) or f"call_{number}_{at}", part) for at, part in enumerate(said)]


def _anthropic(said: list[Part], number: int) -> Json:
    blocks = [
        {"type": "text", "text": part.text, "citations": None}
        if isinstance(part, Text)
        else {"type": "tool_use", "id": call_id, "name": part.name, "input": part.arguments}
        for call_id, part in _ids(said, number)
    ]
    calls = any(isinstance(part, Tool) for part in said)
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100 * number, "output_tokens": 5},
    }


def _anthropic_events(said: list[Part], number: int) -> Iterator[bytes]:
    message = _anthropic(said, number)
    yield _event("message_start", {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}})
    yield _event("ping", {"type": "ping"})
    for at, block in enumerate(message["content"]):
        text = block["type"] == "text"
        empty = {**block, "text": ""} if text else {**block, "input": {}}
        yield _event("content_block_start", {"type": "content_block_start", "index": at, "content_block": empty})
        whole = block["text"] if text else json.dumps(block["input"])
        for piece in (whole[:3], whole[3:]):
            delta = (
                {"type": "text_delta", "text": piece} if text else {"type": "input_json_delta", "partial_json": piece}
            )
            yield _event("content_block_delta", {"type": "content_block_delta", "index": at, "delta": delta})
        yield _event("content_block_stop", {"type": "content_block_stop", "index": at})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}})
    yield _event("message_stop", {"type": "message_stop"})


def _chat(said: list[Part], number: int) -> Json:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": part.name, "arguments": json.dumps(part.arguments)}}
        for call_id, part in _ids(said, number)
        if isinstance(part, Tool)
    ]
    words = "".join(part.text for part in said if isinstance(part, Text))
    message: Json = {"role": "assistant", "content": words or None, "refusal": None, "annotations": []}
    message |= {"tool_calls": calls} if calls else {}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
        ],
        "usage": {"prompt_tokens": 100 * number, "completion_tokens": 5, "total_tokens": 100 * number + 5},
    }


def _chat_events(said: list[Part], number: int) -> Iterator[bytes]:
    whole = _chat(said, number)
    message = whole["choices"][0]["message"]
    top = {**{key: whole[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}

    def chunk(delta: Json, reason: str | None = None) -> bytes:
        return _event("", {**top, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": ""})
    words = message["content"] or ""
    for piece in filter(None, (words[:3], words[3:])):
        yield chunk({"content": piece})
    for at, call in enumerate(message.get("tool_calls", ())):
        arguments = call["function"]["arguments"]
        yield chunk({"tool_calls": [{**call, "index": at, "function": {**call["function"], "arguments": ""}}]})
        for piece in (arguments[:4], arguments[4:]):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, whole["choices"][0]["finish_reason"])
    yield _event("", {**top, "choices": [], "usage": whole["usage"]})
    yield b"data: [DONE]\n\n"


def _responses(said: list[Part], number: int) -> Json:
    items: list[Json] = [{"type": "reasoning", "id": f"rs_{number}", "summary": []}]
    for call_id, part in _ids(said, number):
        if isinstance(part, Text):
            content = [{"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}]
            own = {"type": "message", "id": f"m_{call_id}", "role": "assistant", "status": "completed"}
            items.append({**own, "content": content})
        else:
            own = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "status": "completed"}
            items.append({**own, "name": part.name, "arguments": json.dumps(part.arguments)})
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": "completed",
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100 * number,
            "output_tokens": 5,
            "total_tokens": 100 * number + 5,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _responses_events(said: list[Part], number: int) -> Iterator[bytes]:
    whole = _responses(said, number)
    begun = {**whole, "output": [], "status": "in_progress"}
    events: list[Json] = [{"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")]
    for at, item in enumerate(whole["output"]):
        events += _item_events(at, item)
    events.append({"type": "response.completed", "response": whole})
    for sequence, data in enumerate(events):
        yield _event(data["type"], {**data, "sequence_number": sequence})


def _item_events(at: int, item: Json) -> Iterator[Json]:
    where = {"output_index": at, "item_id": item["id"]}
    if item["type"] == "message":
        part = item["content"][0]
        empty = {**part, "text": ""}
        yield {"type": "response.output_item.added", "output_index": at, "item": {**item, "content": []}}
        yield {"type": "response.content_part.added", **where, "content_index": 0, "part": empty}
        delta = {"type": "response.output_text.delta", **where, "content_index": 0, "logprobs": []}
        yield {**delta, "delta": part["text"]}
        yield {"type": "response.content_part.done", **where, "content_index": 0, "part": part}
    elif item["type"] == "function_call":
        yield {"type": "response.output_item.added", "output_index": at, "item": {**item, "arguments": ""}}
        yield {"type": "response.function_call_arguments.delta", **where, "delta": item["arguments"]}
        done = {"type": "response.function_call_arguments.done", **where, "name": item["name"]}
        yield {**done, "arguments": item["arguments"]}
    else:
        yield {"type": "response.output_item.added", "output_index": at, "item": item}
    yield {"type": "response.output_item.done", "output_index": at, "item": item}


_ANTHROPIC = (_anthropic, _anthropic_events)
_CHAT = (_chat, _chat_events)
_RESPONSES = (_responses, _responses_events)
