"""The providers' own Python SDKs as clients of a proxy, each asked in one go or streamed.

Owns: how each SDK is called, and what its answer adds to the history. Must not know: what is asked, what is promised.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

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


@contextmanager
def sdk_client(dialect: Dialect, url: str, headers: Mapping[str, str]) -> Iterator[SdkClient]:
    """The SDK of a dialect, with a proxy as its base URL."""
    if dialect == "anthropic":
        import anthropic

        made: Any = anthropic.Anthropic(api_key="k", base_url=url, max_retries=0, default_headers=dict(headers))
    else:
        import openai

        made = openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0, default_headers=dict(headers))
    with made as client:
        yield SdkClient(dialect, client)
