"""Anthropic on loopback: asks a function for the next turn and remembers the requests."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

from tests.upstream.spelling import SPELLINGS, Part, Text, Tool

Respond: TypeAlias = Callable[[dict[str, Any]], list[dict[str, Any]]]
"""The blocks that answer a request's body."""
_NUMBERS = itertools.count()
_USAGE = {"input_tokens": 10, "output_tokens": 5}


@contextmanager
def upstream(respond: Respond) -> Iterator[int]:
    """Its port, while it answers."""
    handler = type("Scripted", (_Handler,), {"respond": staticmethod(respond)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    respond: Respond

    def do_HEAD(self) -> None:
        self._answer(200, "text/plain", b"")

    def do_GET(self) -> None:
        self._answer(404, "application/json", b"{}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.split("?")[0].endswith("count_tokens"):
            return self._answer(200, "application/json", b'{"input_tokens": 100}')
        blocks = self.respond(body) if body.get("tools") else [{"type": "text", "text": "title"}]
        events = SPELLINGS["anthropic"].events([_part(block) for block in blocks], next(_NUMBERS), _USAGE)
        return self._answer(200, "text/event-stream", b"".join(events))

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _part(block: dict[str, Any]) -> Part:
    return Text(block["text"]) if block["type"] == "text" else Tool(block["name"], block["input"], block["id"])
