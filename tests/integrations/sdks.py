"""The official SDKs behind one interface: send a message, get text and calls, answer them, in any dialect."""

import json
from typing import Any, NamedTuple

import pytest

import keepwhole
from tests.upstream.provider import Provider

Json = dict[str, Any]
PARAMETERS = {"type": "object", "properties": {"n": {"type": "integer"}}}


class Answer(NamedTuple):
    """A response as an SDK returns it."""

    text: str
    calls: list[tuple[str, str]]
    """Names and ids."""
    history: list[Any]
    """What a client adds to its messages."""
    raw: Any


def _openai() -> Any:
    """The SDK in a version that speaks through httpx2, as `http_client` does."""
    return pytest.importorskip("openai", "3.25", reason="the SDK of OpenAI is not installed, or it is an old one")


class Anthropic:
    """`anthropic`."""

    name = "anthropic"

    def __init__(self, provider: Provider, **options: Any) -> None:
        anthropic = pytest.importorskip("anthropic", reason="the SDK of Anthropic is not installed")
        http = keepwhole.http_client(transport=provider.transport, **options)
        self.client = anthropic.Anthropic(api_key="k", http_client=http, max_retries=2)
        self.options: Json = {
            "model": "claude-sonnet-5",
            "max_tokens": 100,
            "tools": [{"name": "work", "description": "d", "input_schema": PARAMETERS}],
        }

    def ask(self, messages: list[Any], **more: Any) -> Answer:
        return self.read(self.client.messages.create(messages=messages, **self.options, **more))

    def stream(self, messages: list[Any], **more: Any) -> Answer:
        with self.client.messages.stream(messages=messages, **self.options, **more) as stream:
            return self.read(stream.get_final_message())

    def read(self, message: Any) -> Answer:
        text = "".join(block.text for block in message.content if block.type == "text")
        calls = [(block.name, block.id) for block in message.content if block.type == "tool_use"]
        return Answer(text, calls, [{"role": "assistant", "content": message.content}], message)

    def result(self, call_id: str, text: str) -> list[Any]:
        return [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": text}]}]

    def sent(self, request: Json) -> list[Json]:
        return request["messages"]


class Chat:
    """`openai`, Chat Completions."""

    name = "openai_chat"

    def __init__(self, provider: Provider, **options: Any) -> None:
        openai = _openai()
        http = keepwhole.http_client(transport=provider.transport, **options)
        self.client = openai.OpenAI(api_key="k", http_client=http, max_retries=2)
        tool = {"name": "work", "description": "d", "parameters": PARAMETERS}
        self.options: Json = {"model": "gpt-5", "tools": [{"type": "function", "function": tool}]}

    def ask(self, messages: list[Any], **more: Any) -> Answer:
        return self.read(self.client.chat.completions.create(messages=messages, **self.options, **more))

    def stream(self, messages: list[Any], **more: Any) -> Answer:
        more |= {"stream_options": {"include_usage": True}}
        with self.client.chat.completions.stream(messages=messages, **self.options, **more) as stream:
            return self.read(stream.get_final_completion())

    def read(self, completion: Any) -> Answer:
        message = completion.choices[0].message
        calls = [(call.function.name, call.id) for call in message.tool_calls or ()]
        plain = message.model_dump(exclude_none=True, exclude={"parsed", "annotations"})
        for call in plain.get("tool_calls", ()):
            call["function"].pop("parsed_arguments", None)
        return Answer(message.content or "", calls, [plain], completion)

    def result(self, call_id: str, text: str) -> list[Any]:
        return [{"role": "tool", "tool_call_id": call_id, "content": text}]

    def sent(self, request: Json) -> list[Json]:
        return request["messages"]


class Responses:
    """`openai`, Responses."""

    name = "openai_responses"

    def __init__(self, provider: Provider, **options: Any) -> None:
        openai = _openai()
        http = keepwhole.http_client(transport=provider.transport, **options)
        self.client = openai.OpenAI(api_key="k", http_client=http, max_retries=2)
        tool = {"type": "function", "name": "work", "description": "d", "parameters": PARAMETERS, "strict": False}
        self.options: Json = {"model": "gpt-5", "tools": [tool]}

    def ask(self, messages: list[Any], **more: Any) -> Answer:
        return self.read(self.client.responses.create(input=messages, **self.options, **more))

    def stream(self, messages: list[Any], **more: Any) -> Answer:
        with self.client.responses.stream(input=messages, **self.options, **more) as stream:
            return self.read(stream.get_final_response())

    def read(self, response: Any) -> Answer:
        calls = [(item.name, item.call_id) for item in response.output if item.type == "function_call"]
        items = [json.loads(item.model_dump_json(exclude_none=True)) for item in response.output]
        for item in items:
            item.pop("parsed_arguments", None)
        return Answer(response.output_text, calls, items, response)

    def result(self, call_id: str, text: str) -> list[Any]:
        return [{"type": "function_call_output", "call_id": call_id, "output": text}]

    def sent(self, request: Json) -> list[Json]:
        return request["input"]


SDKS = (Anthropic, Chat, Responses)
