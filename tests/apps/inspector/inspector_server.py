"""An inspector that really listens, in a thread, for tests that speak HTTP to it."""

import asyncio
import http.client
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from keepwhole.apps.inspector.server import Inspector, start_inspector
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.listener import Address

TOKEN = "t" * 43
OURS = {"x-keepwhole-inspector": "1"}


class Answer(NamedTuple):
    """One response."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """An inspector at a port of its own."""

    def __init__(self, inspector: Inspector, port: int) -> None:
        self.inspector, self.port = inspector, port
        self.cookie = f"{inspector.guard.cookie}={inspector.guard.cookie_for(TOKEN)}"

    def ask(self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> Answer:
        """Send exactly this request; return the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        """The answer to a request of the page."""
        return self.ask("GET", path, {"cookie": self.cookie, **headers})

    def post(self, path: str, given: Any = None) -> Answer:
        """The answer to a button of the page."""
        return self.ask("POST", path, {"cookie": self.cookie, **OURS}, json.dumps(given or {}).encode())


@contextmanager
def served(services: InspectorServices) -> Generator[Served]:
    """An inspector over a record, in a thread of its own."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    made: list[Served] = []

    async def serve() -> None:
        async with start_inspector(services, Address(host="127.0.0.1", port=0), TOKEN) as (inspector, address):
            made.append(Served(inspector, address.port))
            ready.set()
            await stop.wait()
        await loop.shutdown_default_executor()  # here, since a browser's driver may have its own event loop in the test

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(10)
    try:
        yield made[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)  # a worker may be reading a long session still
        loop.close()
