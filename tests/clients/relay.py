"""A relay on the client's side of Keepwhole, which keeps every request exactly as the client sent it.

`wrap` tells a client an address of its own choosing. A stand-in for the client's command, first in the `PATH`, puts the
relay before that address in everything the client is told, and becomes the client.

Owns: what the client sent, and the way to it. Must not know: what a request means.
"""

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.upstream.server import Asked

_STAND_IN = """#!{python}
import os, re, sys

def relayed(text):
    return re.sub(r"http://127\\.0\\.0\\.1:(\\d+)/kw-", r"http://127.0.0.1:{port}/\\1/kw-", text)

os.execve({real!r}, list(map(relayed, sys.argv)), {{name: relayed(value) for name, value in os.environ.items()}})
"""
_OWN = {"host", "connection", "transfer-encoding", "content-length", "keep-alive"}
"""Headers of one connection."""


class Relay:
    """Sends `/PORT/path` on to this machine's port. Read it from any thread."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[Asked] = []
        self.before: Callable[[int], None] = lambda number: None
        """Told of every conversation's request before it is sent on, by its number."""
        self._lock = threading.Lock()

    def add(self, asked: Asked) -> None:
        """Keep a request, in the order in which they came."""
        with self._lock:
            self.asked.append(asked)
            number = len(self.asked)
        self.before(number)

    def stand_in(self, command: str, folder: Path, path: str) -> str:
        """A `PATH` by which the command is started behind the relay."""
        real = shutil.which(command, path=path)
        assert real is not None
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / command
        made.write_text(_STAND_IN.format(python=sys.executable, port=self.port, real=real))
        made.chmod(0o755)
        return f"{folder}:{path}"


@contextmanager
def relay() -> Iterator[Relay]:
    """A relay, while it is needed."""
    kept = Relay()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Serving", (_Handler,), {"kept": kept}))
    server.daemon_threads = True
    kept.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kept: Relay

    def _send_on(self) -> None:
        _, port, rest = self.path.split("/", 2)
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.command == "POST":
            self.kept.add(Asked(self.command, f"/{rest}", headers, data))
        try:
            self._answer(*_ask(int(port), self.command, f"/{rest}", self.headers.items(), data))
        except (OSError, HTTPException):
            self.close_connection = True  # as if the client had asked there itself

    do_GET = do_POST = do_HEAD = _send_on

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _OWN:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _ask(port: int, method: str, path: str, headers: Any, data: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers:
            if name.lower() != "host":
                connection.putheader(name, value)
        connection.endheaders(data or None)
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read()
    finally:
        connection.close()
