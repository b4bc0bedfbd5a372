"""A peer's change of messages as a relay, run by the Python of its own environment.

`python -I live_relay.py PEER PORT UPSTREAM TOKENS` takes Chat Completions on PORT, has the messages changed by the peer
as its own documentation says, above so many tokens, and passes them on. It imports nothing of Keepwhole. Where the peer
has a tool to read things back, the relay offers it and answers its calls, as an application would.
"""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

Change = Callable[[dict[str, Any]], tuple[dict[str, Any], Callable[[str, dict[str, Any]], str | None]]]
"""Changes a request; returns it, and what answers a call of a tool of the peer's own."""
_MOST_ROUNDS = 12


def litellm_change(tokens: int) -> Change:
    """Return `litellm.compress`, with the tool that it defines."""
    compress: Any = import_module("litellm.compression.compress").compress

    def change(body: dict[str, Any]) -> tuple[dict[str, Any], Callable[[str, dict[str, Any]], str | None]]:
        result = compress(body["messages"], body["model"], compression_trigger=tokens)
        changed = {**body, "messages": result["messages"], "tools": [*body["tools"], *result["tools"]]}

        def answer(tool: str, given: dict[str, Any]) -> str | None:
            return result["cache"].get(given.get("key"), "not found") if tool == "litellm_content_retrieve" else None

        return changed, answer

    return change


def langchain_change(tokens: int) -> Change:
    """Return LangChain's `ContextEditingMiddleware` with its only edit; it reads nothing back."""
    edit: Any = import_module("langchain.agents.middleware.context_editing").ClearToolUsesEdit(trigger=tokens)
    utils: Any = import_module("langchain_core.messages.utils")

    def change(body: dict[str, Any]) -> tuple[dict[str, Any], Callable[[str, dict[str, Any]], str | None]]:
        messages = utils.convert_to_messages(body["messages"])
        edit.apply(messages, count_tokens=utils.count_tokens_approximately)
        return {**body, "messages": utils.convert_to_openai_messages(messages)}, lambda tool, given: None

    return change


CHANGES = {"litellm": litellm_change, "langchain": langchain_change}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    change: Change
    upstream: str

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        body, answer = type(self).change(json.loads(data))
        status, reply = self._ask(body)
        for _ in range(_MOST_ROUNDS):
            message: dict[str, Any] = json.loads(reply)["choices"][0]["message"] if status == 200 else {}
            calls: list[dict[str, Any]] = message.get("tool_calls") or []
            answers = [answer(one["function"]["name"], json.loads(one["function"]["arguments"])) for one in calls]
            if not calls or None in answers:
                break
            results = [
                {"role": "tool", "tool_call_id": call["id"], "content": text}
                for call, text in zip(calls, answers, strict=True)
            ]
            body = {**body, "messages": [*body["messages"], message, *results]}
            status, reply = self._ask(body)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def _ask(self, body: dict[str, Any]) -> tuple[int, bytes]:
        headers = {"content-type": "application/json", "authorization": self.headers.get("authorization", "")}
        request = urllib.request.Request(type(self).upstream + self.path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=600) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


def main() -> None:
    peer, port, upstream, tokens = sys.argv[1:]
    made = {"change": staticmethod(CHANGES[peer](int(tokens))), "upstream": upstream}
    ThreadingHTTPServer(("127.0.0.1", int(port)), type("Handler", (_Handler,), made)).serve_forever()


if __name__ == "__main__":
    main()
