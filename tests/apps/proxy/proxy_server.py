"""The proxy on a thread of its own, on real sockets, and clients that know nothing but bytes.

Owns: starting and stopping it, what was told of each request, talking to it byte by byte.
Must not know: what is promised.
"""

import asyncio
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from keepwhole import config
from keepwhole.apps.listener import Address
from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.apps.proxy.proxy import Proxy
from keepwhole.apps.proxy.server import ProxyOptions, start_proxy
from keepwhole.apps.proxy.telemetry import Reporter
from keepwhole.store.protocol import Store
from keepwhole.store.sqlite.store import SqliteStore
from tests.upstream.spelling import Dialect, Json

PATHS: dict[Dialect, str] = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
}
DIALECTS = tuple(PATHS)
PARAMETERS: Json = {"type": "object", "properties": {"n": {"type": "integer"}}}


class Served:
    """A proxy while it is there. Read it from any thread."""

    def __init__(self, proxy: Proxy, port: int, loop: asyncio.AbstractEventLoop) -> None:
        self.proxy, self.port, self._loop = proxy, port, loop
        self.outcomes: list[str] = []
        """What became of each request."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def rest(self, within: float = 5.0) -> None:
        """Wait until nothing is under way, and all is told."""
        pending = self.proxy._pending  # pyright: ignore[reportPrivateUsage]
        until(lambda: not self.proxy.counters.active and not pending, within)

    def tasks(self) -> int:
        """What the proxy is busy with."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return asyncio.run_coroutine_threadsafe(count(), self._loop).result(5)


class Answered(NamedTuple):
    """What a client got."""

    status: int
    headers: http.client.HTTPMessage
    data: bytes
    is_cut: bool = False

    @property
    def body(self) -> Any:
        return json.loads(self.data)


@contextmanager
def proxy(
    upstreams: Mapping[str, str] | str,
    token: str | None = None,
    store: Store | None = None,
    reporter: Reporter = lambda _: None,
    mode: str = "on",
    settings: config.Settings | None = None,
    **own: Any,
) -> Iterator[Served]:
    """A proxy in front of these upstreams, while it is needed."""
    named = isinstance(upstreams, Mapping)
    addresses = dict(upstreams) if named else dict.fromkeys(("openai", "anthropic", "gemini", "vertex"), upstreams)
    settings = settings or config.load()
    settings = settings.replace(mode=mode, proxy=settings.proxy.replace(upstreams=addresses, **own))
    kept = store or SqliteStore(settings.home)
    ready, stop, made = threading.Event(), asyncio.Event(), list[Served]()
    mask = os.umask(0o022)

    async def run() -> None:
        def report(proxied: ProxiedRequest) -> None:
            made[0].outcomes.append(proxied.outcome)
            reporter(proxied)

        wanted = ProxyOptions(Address(host="127.0.0.1", port=0), token, (report,))
        async with start_proxy(settings, kept, wanted) as (running, port):
            made.append(Served(running, port, asyncio.get_running_loop()))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    try:
        assert ready.wait(10), "the proxy did not start"
        yield made[0]
    finally:
        made[0]._loop.call_soon_threadsafe(stop.set)  # pyright: ignore[reportPrivateUsage]
        thread.join(15)
        os.umask(mask)
        if store is None:
            kept.close()


def offered(dialect: Dialect) -> list[Json]:
    """The one tool of a client."""
    if dialect == "anthropic":
        return [{"name": "work", "description": "d", "input_schema": PARAMETERS}]
    about: Json = {"name": "work", "description": "d", "parameters": PARAMETERS}
    return [{"type": "function", "function": about} if dialect == "openai_chat" else {"type": "function", **about}]


def request(dialect: Dialect, streamed: bool = False, **more: Any) -> Json:
    """What a client asks that has a tool."""
    said = [{"role": "user", "content": "hello"}]
    key = "input" if dialect == "openai_responses" else "messages"
    own: Json = {"model": "m", key: said, "tools": offered(dialect)}
    if dialect == "anthropic":
        own["max_tokens"] = 100
    if dialect == "openai_responses":
        own["store"] = False
    return {**own, **({"stream": True} if streamed else {}), **more}


def ask(
    port: int,
    path: str,
    body: Json | bytes | None = None,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
) -> Answered:
    """Ask once, and read whatever comes until it ends or breaks off."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, dict(headers or {}))
        response = connection.getresponse()
        try:
            return Answered(response.status, response.headers, response.read())
        except (http.client.IncompleteRead, ConnectionError) as error:
            partial = error.partial if isinstance(error, http.client.IncompleteRead) else b""
            return Answered(response.status, response.headers, partial, is_cut=True)
    finally:
        connection.close()


class Talk:
    """A socket, byte by byte."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection((host, port), timeout=20)

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, data: bytes) -> "Talk":
        self.socket.sendall(data)
        return self

    def hear(self, within: float = 5.0) -> bytes:
        """All that comes until the other side closes, or is silent for so long."""
        self.socket.settimeout(within)
        heard = b""
        try:
            while piece := self.socket.recv(65_536):
                heard += piece
        except (TimeoutError, ConnectionError):
            pass
        return heard

    def hear_until(self, end: bytes, within: float = 5.0) -> bytes:
        self.socket.settimeout(within)
        heard = b""
        while end not in heard:
            piece = self.socket.recv(65_536)
            if not piece:
                break
            heard += piece
        return heard


def written(
    method: str, path: str, port: int, headers: Mapping[str, str] | None = None, data: bytes = b"", length: bool = True
) -> bytes:
    """A request as bytes."""
    own = {"host": f"127.0.0.1:{port}", **({"content-length": str(len(data))} if length else {}), **(headers or {})}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in own.items() if value is not None)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + data


def status_of(data: bytes) -> int:
    """The status of what was heard; 0 where nothing was."""
    found = re.match(rb"HTTP/[01]\.[019] (\d{3})", data)
    return int(found[1]) if found else 0


def unchunked(data: bytes) -> tuple[bytes, bool]:
    """The body of a chunked answer as far as it came, and whether it came to its end."""
    _, _, rest = data.partition(b"\r\n\r\n")
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        if not rest and not size.strip(b"0"):
            break
        length = int(size, 16)
        if not length:
            assert rest == b"\r\n", f"after the end of the answer came {rest!r}"
            return body, True
        body += rest[:length]
        rest = rest[length + 2 :]
    return body, False


def until(happens: Callable[[], bool], within: float = 5.0) -> float:
    """Wait for it; how long it took."""
    started = time.monotonic()
    while not happens():
        assert time.monotonic() - started < within, "it did not happen"
        time.sleep(0.005)
    return time.monotonic() - started


class Process:
    """`keepwhole proxy`, or another command that is one too, as its own process."""

    def __init__(self, *options: str, home: str, command: Sequence[str] = ("proxy",), **environ: str) -> None:
        self.home = home
        self.started = time.monotonic()
        path = os.pathsep.join(os.path.abspath(one) for one in sys.path)
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "keepwhole", *command, "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, "KEEPWHOLE_HOME": home, **environ},
            cwd=home,
        )
        self.printed: list[bytes] = []
        self._readers = [threading.Thread(target=self._read, args=(pipe,), daemon=True) for pipe in self._pipes()]
        for reader in self._readers:
            reader.start()
        until(lambda: b"OPENAI_BASE_URL" in self.output or self._popen.poll() is not None, 20)
        found = re.search(rb"ANTHROPIC_BASE_URL=http://[^:]+:(\d+)(\S*)", self.output)
        assert found, self.output
        self.port, self.prefix = int(found[1]), found[2].decode()

    def _pipes(self) -> tuple[Any, Any]:
        return self._popen.stdout, self._popen.stderr

    def _read(self, pipe: Any) -> None:
        with pipe:
            while piece := pipe.read1(65_536):
                self.printed.append(piece)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def output(self) -> bytes:
        """All that it printed."""
        return b"".join(self.printed)

    def send(self, number: int) -> None:
        self._popen.send_signal(number)

    def wait(self, within: float) -> int:
        """How it ended."""
        return self._popen.wait(within)

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
        self._popen.wait(10)
        for reader in self._readers:
            reader.join(5)
