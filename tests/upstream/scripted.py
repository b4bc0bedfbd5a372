"""The simplest provider on loopback: answers each request at once, whole, and says nothing on standard error."""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = "application/json"


class Scripted(BaseHTTPRequestHandler):
    """What clients ask of any provider beside the conversation; `events` says the rest."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer(200, "text/plain", b"")

    def do_GET(self) -> None:
        self.answer(404, JSON, b"{}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.split("?")[0]
        if path.endswith("count_tokens"):
            return self.answer(200, JSON, b'{"input_tokens": 100}')
        events = self.events(path, body)
        if events is None:
            return self.answer(404, JSON, b"{}")
        if isinstance(events, bytes):
            return self.answer(200, JSON, events)
        return self.answer(200, "text/event-stream", b"".join(events))

    def events(self, path: str, body: dict[str, Any]) -> Iterable[bytes] | bytes | None:
        """The events that answer a request, or one JSON text; None where there is nothing at this path."""
        raise NotImplementedError

    def answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(handler: type[Scripted], **script: Any) -> Iterator[int]:
    """The port of a server whose handler has these attributes, while it answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Serving", (handler,), script))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
