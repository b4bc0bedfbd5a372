"""OpenAI Chat Completions. Its tool messages take no images, so those follow in a message of the user."""

import base64
from collections.abc import Sequence

from bench.live.task import Returned
from bench.live.wires.wire import MAX_TOKENS, Asked, Call, Json, arguments_of, most_of, schema


class ChatWire:
    """One conversation."""

    path = "/v1/chat/completions"
    host = "https://api.openai.com"
    key = "OPENAI_API_KEY"

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._messages: list[Json] = [
            {"role": "system", "content": asked.system},
            {"role": "user", "content": asked.prompt},
        ]

    def request(self) -> Json:
        functions = [
            {"name": tool.name, "description": tool.description, "parameters": schema(tool)}
            for tool in self._asked.tools
        ]
        return {
            "model": self._asked.model,
            "max_completion_tokens": MAX_TOKENS,
            "messages": self._messages,
            "tools": [{"type": "function", "function": function} for function in functions],
        }

    def read(self, body: Json) -> tuple[str, list[Call]]:
        message: Json = body["choices"][0]["message"]
        text, calls = _words_and_calls(message)
        self._messages.append({"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {}))
        return text, [
            Call(one["id"], one["function"]["name"], arguments_of(one["function"]["arguments"])) for one in calls
        ]

    def add(self, results: Sequence[tuple[Call, Returned]]) -> None:
        for call, returned in results:
            self._messages.append({"role": "tool", "tool_call_id": call.id, "content": returned.text})
        images = [(call, returned.image) for call, returned in results if returned.image is not None]
        for call, image in images:
            url = f"data:image/png;base64,{base64.b64encode(image).decode()}"
            parts: list[Json] = [{"type": "text", "text": f"The image that {call.tool} returned:"}]
            self._messages.append(
                {"role": "user", "content": [*parts, {"type": "image_url", "image_url": {"url": url}}]}
            )

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    @staticmethod
    def called(body: Json) -> list[str]:
        messages: list[Json] = [choice["message"] for choice in body.get("choices", ())]
        return [call["function"]["name"] for message in messages for call in _words_and_calls(message)[1]]

    @staticmethod
    def most_output(body: Json) -> int | None:
        return most_of(body, "max_completion_tokens", "max_tokens", times="n")


def _words_and_calls(message: Json) -> tuple[str, list[Json]]:
    return message.get("content") or "", message.get("tool_calls") or []
