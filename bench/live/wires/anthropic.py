"""Anthropic Messages, with cache markers as coding agents set them: on the system prompt and the newest message."""

import base64
from collections.abc import Sequence

from bench.live.task import Returned
from bench.live.wires.wire import MAX_TOKENS, Asked, Call, Json, most_of, schema

_MARK: Json = {"cache_control": {"type": "ephemeral"}}


class AnthropicWire:
    """One conversation."""

    path = "/v1/messages"
    host = "https://api.anthropic.com"
    key = "ANTHROPIC_API_KEY"

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._messages: list[Json] = [{"role": "user", "content": [{"type": "text", "text": asked.prompt}]}]

    def request(self) -> Json:
        newest = self._messages[-1]
        marked = {**newest, "content": [*newest["content"][:-1], newest["content"][-1] | _MARK]}
        return {
            "model": self._asked.model,
            "max_tokens": MAX_TOKENS,
            "system": [{"type": "text", "text": self._asked.system, **_MARK}],
            "tools": [
                {"name": tool.name, "description": tool.description, "input_schema": schema(tool)}
                for tool in self._asked.tools
            ],
            "messages": [*self._messages[:-1], marked],
        }

    def read(self, body: Json) -> tuple[str, list[Call]]:
        blocks: list[Json] = body["content"]
        for block in blocks:
            block.pop("citations", None)
        self._messages.append({"role": "assistant", "content": blocks})
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        used = [block for block in blocks if block["type"] == "tool_use"]
        return text, [Call(block["id"], block["name"], block["input"]) for block in used]

    def add(self, results: Sequence[tuple[Call, Returned]]) -> None:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": _content(returned)}
            | ({"is_error": True} if returned.is_error else {})
            for call, returned in results
        ]
        self._messages.append({"role": "user", "content": blocks})

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    @staticmethod
    def called(body: Json) -> list[str]:
        return [block["name"] for block in body.get("content", ()) if block.get("type") == "tool_use"]

    @staticmethod
    def most_output(body: Json) -> int | None:
        return most_of(body, "max_tokens")


def _content(returned: Returned) -> str | list[Json]:
    if returned.image is None:
        return returned.text
    data = base64.b64encode(returned.image).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return [{"type": "text", "text": returned.text}, {"type": "image", "source": source}]
