"""OpenAI Responses, without a conversation at the provider's."""

import base64
from collections.abc import Sequence

from bench.live.task import Returned
from bench.live.wires.wire import MAX_TOKENS, Asked, Call, Json, arguments_of, most_of, schema


class ResponsesWire:
    """One conversation."""

    path = "/v1/responses"
    host = "https://api.openai.com"
    key = "OPENAI_API_KEY"

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._items: list[Json] = [{"role": "user", "content": [{"type": "input_text", "text": asked.prompt}]}]

    def request(self) -> Json:
        return {
            "model": self._asked.model,
            "max_output_tokens": MAX_TOKENS,
            "instructions": self._asked.system,
            "input": self._items,
            "tools": [
                {"type": "function", "name": tool.name, "description": tool.description, "parameters": schema(tool)}
                for tool in self._asked.tools
            ],
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }

    def read(self, body: Json) -> tuple[str, list[Call]]:
        items: list[Json] = body["output"]
        self._items += items
        words = [part.get("text", "") for item in items if item["type"] == "message" for part in item["content"]]
        calls = [item for item in items if item["type"] == "function_call"]
        return "".join(words), [Call(call["call_id"], call["name"], arguments_of(call["arguments"])) for call in calls]

    def add(self, results: Sequence[tuple[Call, Returned]]) -> None:
        self._items += [
            {"type": "function_call_output", "call_id": call.id, "output": _output(returned)}
            for call, returned in results
        ]

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    @staticmethod
    def called(body: Json) -> list[str]:
        return [item["name"] for item in body.get("output", ()) if item.get("type") == "function_call"]

    @staticmethod
    def most_output(body: Json) -> int | None:
        return most_of(body, "max_output_tokens")


def _output(returned: Returned) -> str | list[Json]:
    if returned.image is None:
        return returned.text
    url = f"data:image/png;base64,{base64.b64encode(returned.image).decode()}"
    return [{"type": "input_text", "text": returned.text}, {"type": "input_image", "image_url": url, "detail": "auto"}]
