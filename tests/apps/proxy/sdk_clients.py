"""The providers' own Python SDKs as clients of a proxy, each asked in one go or streamed.

For Bedrock, whose SDK sends no key to an address without HTTPS, its paths and the decoder of its SDK.

Owns: how each SDK is called, and what its answer adds to the history. Must not know: what is asked, what is promised.
"""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from tests.apps.proxy.proxy_server import Answered, ask
from tests.upstream.bedrock import BEARER
from tests.upstream.spelling import Dialect, Json


class SdkAnswer(NamedTuple):
    """What an SDK made of an answer."""

    messages: list[Json]
    """As a client puts them into its history."""
    calls: list[tuple[str, Json]]
    """The calls of tools: ids and arguments."""


class SdkClient:
    """One SDK's client."""

    def __init__(self, dialect: Dialect, client: Any) -> None:
        self._dialect, self._client = dialect, client

    def ask(self, body: Json, is_streamed: bool) -> SdkAnswer:
        """Send a request and read the answer."""
        if self._dialect == "anthropic":
            return self._ask_messages(body, is_streamed)
        if self._dialect == "gemini":
            return self._ask_contents(body, is_streamed)
        if self._dialect == "converse":
            return self._ask_bedrock(body, is_streamed)
        return (
            self._ask_chat(body, is_streamed) if self._dialect == "openai_chat" else self._ask_items(body, is_streamed)
        )

    def _ask_messages(self, body: Json, is_streamed: bool) -> SdkAnswer:
        if is_streamed:
            with self._client.messages.stream(**body) as stream:
                message = stream.get_final_message()
        else:
            message = self._client.messages.create(**body)
        blocks = [block.to_dict(exclude_none=True) for block in message.content]
        calls = [(block["id"], block["input"]) for block in blocks if block["type"] == "tool_use"]
        return SdkAnswer([{"role": "assistant", "content": blocks}], calls)

    def _ask_chat(self, body: Json, is_streamed: bool) -> SdkAnswer:
        if is_streamed:
            with self._client.chat.completions.stream(**body) as stream:
                completion = stream.get_final_completion()
        else:
            completion = self._client.chat.completions.create(**body)
        message = completion.choices[0].message
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in message.tool_calls or ()
        ]
        said = {"role": "assistant", "content": message.content, **({"tool_calls": calls} if calls else {})}
        return SdkAnswer([said], [(call["id"], json.loads(call["function"]["arguments"])) for call in calls])

    def _ask_items(self, body: Json, is_streamed: bool) -> SdkAnswer:
        if is_streamed:
            response = list(self._client.responses.create(**body, stream=True))[-1].response
        else:
            response = self._client.responses.create(**body)
        # A provider that stores nothing takes back only reasoning that it has encrypted.
        kept = (item for item in response.output if item.type != "reasoning" or item.encrypted_content)
        items = [item.to_dict(exclude_none=True) for item in kept]
        calls = [(item["call_id"], json.loads(item["arguments"])) for item in items if item["type"] == "function_call"]
        return SdkAnswer(items, calls)

    def _ask_contents(self, body: Json, is_streamed: bool) -> SdkAnswer:
        sdk = _google().types
        given = {
            "model": body["model"],
            "contents": [sdk.Content.model_validate_json(json.dumps(one)) for one in body["contents"]],
            "config": sdk.GenerateContentConfig(
                system_instruction=body["system"],
                tools=[sdk.Tool.model_validate(one) for one in body["tools"]],
                automatic_function_calling=sdk.AutomaticFunctionCallingConfig(disable=True),
            ),
        }
        if is_streamed:
            chunks = list(self._client.models.generate_content_stream(**given))
            parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
        else:
            parts = self._client.models.generate_content(**given).candidates[0].content.parts
        own = [json.loads(part.model_dump_json(by_alias=True, exclude_none=True)) for part in parts]
        called = [part["functionCall"] for part in own if "functionCall" in part]
        return SdkAnswer([{"role": "model", "parts": own}], [(call["id"], call["args"]) for call in called])

    def _ask_bedrock(self, body: Json, is_streamed: bool) -> SdkAnswer:
        from botocore.eventstream import EventStreamBuffer

        path = f"/bedrock/model/{body['model']}/converse{'-stream' if is_streamed else ''}"
        data = self._client(path, {key: value for key, value in body.items() if key != "model"})
        if not is_streamed:
            blocks = json.loads(data)["output"]["message"]["content"]
        else:
            buffer: Any = EventStreamBuffer()
            buffer.add_data(data)
            blocks = _joined_blocks([(one.headers[":event-type"], json.loads(one.payload)) for one in buffer])
        calls = [(block["toolUse"]["toolUseId"], block["toolUse"]["input"]) for block in blocks if "toolUse" in block]
        return SdkAnswer([{"role": "assistant", "content": blocks}], calls)


def _google() -> Any:
    """Google's SDK, which has escapes in its texts that Python warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("google.genai")


def _joined_blocks(events: list[tuple[str, Json]]) -> list[Json]:
    """The blocks of a message that came in events."""
    calls: dict[int, Json] = {}
    texts: dict[int, str] = {}
    for kind, event in events:
        if kind == "contentBlockStart":
            calls[event["contentBlockIndex"]] = event["start"]["toolUse"]
        elif kind == "contentBlockDelta":
            at, delta = event["contentBlockIndex"], event["delta"]
            texts[at] = texts.get(at, "") + (delta["toolUse"]["input"] if at in calls else delta.get("text", ""))
    return [
        {"toolUse": {**calls[at], "input": json.loads(text)}} if at in calls else {"text": text}
        for at, text in sorted(texts.items())
    ]


@contextmanager
def sdk_client(dialect: Dialect, url: str, headers: Mapping[str, str]) -> Iterator[SdkClient]:
    """The SDK of a dialect, with a proxy as its base URL."""
    if dialect == "converse":
        port = int(url.rpartition(":")[2])
        own = {"authorization": f"Bearer {BEARER}", "content-type": "application/json", **headers}
        yield SdkClient(dialect, lambda path, body: _answered(ask(port, path, body, own)))
        return
    if dialect == "gemini":
        genai = _google()
        options = genai.types.HttpOptions(base_url=url, headers=dict(headers))
        yield SdkClient(dialect, genai.Client(api_key="k", http_options=options))
        return
    if dialect == "anthropic":
        import anthropic

        made: Any = anthropic.Anthropic(api_key="k", base_url=url, max_retries=0, default_headers=dict(headers))
    else:
        import openai

        made = openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0, default_headers=dict(headers))
    with made as client:
        yield SdkClient(dialect, client)


def _answered(answer: Answered) -> bytes:
    assert answer.status == 200, answer.data
    return answer.data
