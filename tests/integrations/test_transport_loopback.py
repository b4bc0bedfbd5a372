"""The client over a real socket: connections, streams without delay, and the proxies of the environment."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import keepwhole
from keepwhole.integrations import clients
from keepwhole.testing import MemoryStore
from tests.upstream.provider import httpx2

pytestmark = pytest.mark.adapters

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": [{"name": "work"}], "stream": True}


class Handler(BaseHTTPRequestHandler):
    """Streams one event, waits until the client has it, and streams another."""

    protocol_version = "HTTP/1.1"
    first_is_there = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b'event: ping\ndata: {"type": "ping"}\n\n')
        self.wfile.flush()
        came = self.first_is_there.wait(10)
        self.wfile.write(f"event: ping\ndata: {json.dumps({'type': 'ping', 'in_time': came})}\n\n".encode())
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    Handler.first_is_there.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/messages"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_stream_is_passed_on_as_it_comes(address: str) -> None:
    client = keepwhole.http_client(store=MemoryStore(), trust_env=False)
    with client, client.stream("POST", address, json=REQUEST) as response:
        pieces = response.iter_bytes()
        assert b"ping" in next(pieces)
        Handler.first_is_there.set()
        assert b'"in_time": true' in b"".join(pieces)


def test_proxies_of_the_environment_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert clients._routes({}) == {}
    monkeypatch.setenv("https_proxy", "proxy.test:3128")
    monkeypatch.setenv("no_proxy", "localhost,10.0.0.1,.inner.test")
    assert clients._routes({}) == {
        "https://": "http://proxy.test:3128",
        "all://localhost": None,
        "all://10.0.0.1": None,
        "all://*.inner.test": None,
    }
    assert clients._routes({"trust_env": False}) == {}
    monkeypatch.setenv("no_proxy", "*")
    assert clients._routes({}) == {}


def test_a_client_with_a_proxy_sends_through_it_and_through_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    with keepwhole.http_client(store=MemoryStore()) as client:
        used = client._transport_for_url(httpx2.URL("https://api.test/v1/messages"))
        assert type(used) is type(client._transport)
        assert used is not client._transport
