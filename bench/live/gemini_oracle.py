"""An oracle behind `generateContent`: it reads requests as Chat Completions, which the oracles and the till know."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.live.wires.wire import Json
from tests.upstream.prompt import tokens_of
from tests.upstream.prompt_cache import Refused, Till
from tests.upstream.spelling import Part, Text, Tool

Model = Callable[[Json], list[Part]]


class GeminiOracle:
    """A provider while it is there."""

    def __init__(self, model: Model, till: Till) -> None:
        self._model, self._till = model, till
        self.url = ""
        self.refused: list[str] = []
        self.failed: list[Exception] = []

    def answer(self, data: bytes) -> tuple[int, Json]:
        """Return the status and the body of an answer."""
        try:
            body = as_chat(json.loads(data))
            bill = self._till.bill(body)
            said = self._model(body)
        except Refused as why:
            self.refused.append(why.message)
            return 400, _error(why.message)
        except (LookupError, ValueError, TypeError) as why:
            self.failed.append(why)
            return 400, _error(f"{type(why).__name__}: {why}")
        parts = [_written(part, number) for number, part in enumerate(said)]
        usage = self._till.usage(bill, tokens_of(json.dumps(said).encode()))
        cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
        told = {"promptTokenCount": usage["prompt_tokens"], "cachedContentTokenCount": cached}
        told["candidatesTokenCount"] = usage["completion_tokens"]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        return 200, {"candidates": [candidate], "usageMetadata": told}


def as_chat(body: Json) -> Json:
    """Return a request of Gemini as one of Chat Completions; `ValueError` where a result answers no call."""
    system = "".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", ()))
    messages: list[Json] = [{"role": "system", "content": system}]
    open_calls: list[str] = []
    for number, content in enumerate(body["contents"]):
        if content["role"] == "model":
            messages.append(_said(content["parts"], number, open_calls))
        else:
            messages += _given(content["parts"], open_calls)
    declared: list[Json] = [one for tool in body["tools"] for one in tool["functionDeclarations"]]
    tools = [{"type": "function", "function": one} for one in declared]
    return {"model": "gemini", "messages": messages, "tools": tools}


def _said(parts: list[Json], number: int, open_calls: list[str]) -> Json:
    text = "".join(part.get("text", "") for part in parts)
    calls: list[Json] = []
    for at, part in enumerate(parts):
        if "functionCall" in part:
            one = part["functionCall"]
            open_calls.append(f"call_{number}_{at}")
            function = {"name": one["name"], "arguments": json.dumps(one.get("args", {}))}
            calls.append({"id": open_calls[-1], "type": "function", "function": function})
    return {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})


def _given(parts: list[Json], open_calls: list[str]) -> list[Json]:
    """Return results and words of the user as messages; results come in the order of their calls."""
    messages: list[Json] = []
    beside: list[Json] = []
    for part in parts:
        if "functionResponse" in part:
            if not open_calls:
                raise ValueError("a functionResponse without a functionCall")
            text = str(next(iter(part["functionResponse"]["response"].values()), ""))
            messages.append({"role": "tool", "tool_call_id": open_calls.pop(0), "content": text})
        elif "inlineData" in part:
            data = part["inlineData"]
            beside.append({"type": "image_url", "image_url": {"url": f"data:{data['mimeType']};base64,{data['data']}"}})
        else:
            beside.append({"type": "text", "text": part["text"]})
    return messages + ([{"role": "user", "content": beside}] if beside else [])


def _written(part: Part, number: int) -> Json:
    if isinstance(part, Tool):
        return {"functionCall": {"name": part.name, "args": part.arguments}}
    assert isinstance(part, Text), f"part {number} has no spelling"
    return {"text": part.text}


def _error(message: str) -> Json:
    return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}


@contextmanager
def serve_gemini_oracle(model: Model, till: Till) -> Generator[GeminiOracle]:
    """Serve a model on loopback while it is needed."""
    found = GeminiOracle(model, till)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            status, body = found.answer(self.rfile.read(int(self.headers["content-length"])))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
