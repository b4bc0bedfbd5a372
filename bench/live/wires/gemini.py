"""Gemini's `generateContent`. Results are parts of a content of the user, and images are beside them."""

import base64
from collections.abc import Sequence

from bench.live.task import Returned
from bench.live.wires.wire import MAX_TOKENS, Asked, Call, Json, most_of, schema
from keepwhole.wire.content import fields_of


class GeminiWire:
    """One conversation."""

    host = "https://generativelanguage.googleapis.com"
    key = "GEMINI_API_KEY"

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.path = f"/v1beta/models/{asked.model}:generateContent"
        self._contents: list[Json] = [{"role": "user", "parts": [{"text": asked.prompt}]}]

    def request(self) -> Json:
        declared = [
            {"name": tool.name, "description": tool.description, "parameters": schema(tool)}
            for tool in self._asked.tools
        ]
        return {
            "systemInstruction": {"parts": [{"text": self._asked.system}]},
            "contents": self._contents,
            "tools": [{"functionDeclarations": declared}],
            "generationConfig": {"maxOutputTokens": MAX_TOKENS},
        }

    def read(self, body: Json) -> tuple[str, list[Call]]:
        content = _content(body)
        parts: list[Json] = content.get("parts", [])
        self._contents.append({"role": "model", "parts": parts or [{"text": ""}]})
        text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
        made = [part["functionCall"] for part in parts if "functionCall" in part]
        return text, [Call(one.get("id", ""), one["name"], one.get("args", {})) for one in made]

    def add(self, results: Sequence[tuple[Call, Returned]]) -> None:
        parts: list[Json] = []
        for call, returned in results:
            response = {"error" if returned.is_error else "result": returned.text}
            named = {"id": call.id} if call.id else {}
            parts.append({"functionResponse": {**named, "name": call.tool, "response": response}})
        images = [returned.image for _, returned in results if returned.image is not None]
        parts += [
            {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(image).decode()}} for image in images
        ]
        self._contents.append({"role": "user", "parts": parts})

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    @staticmethod
    def called(body: Json) -> list[str]:
        return [part["functionCall"]["name"] for part in _content(body).get("parts", ()) if "functionCall" in part]

    @staticmethod
    def most_output(body: Json) -> int | None:
        return most_of(fields_of(body.get("generationConfig")), "maxOutputTokens", times="candidateCount")


def _content(body: Json) -> Json:
    candidates: list[Json] = body.get("candidates") or [{}]
    return candidates[0].get("content", {})
