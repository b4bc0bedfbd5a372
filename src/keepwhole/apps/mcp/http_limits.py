"""Limits of the HTTP listener: how long a client may take, and how many clients there may be.

They are the proxy's; uvicorn has none of its own for a head that never ends.
Must not know: what is served.
"""

import asyncio
from typing import Any

import anyio
import h11
from starlette.types import Message, Receive, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Seconds within which the head of a request must arrive, from connecting or from its first byte."""
BODY_SECONDS = 60.0
"""Seconds that a client may pause within a body."""


def limited_protocol(most_connections: int) -> type[H11Protocol]:
    """The class of connections of a server that accepts this many at a time."""

    class Limited(_TimedHeads):
        most = most_connections

    return Limited


class _TimedHeads(H11Protocol):
    """A connection that is closed where the head of a request does not arrive in time."""

    most = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a client, or cut it off above the limit."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
        else:
            self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Read what arrived; while it is not a whole head, time runs."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a client that left."""
        self._stop_timer()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class TimedBody:
    """A request's `receive` and `send`, for which a client that pauses too long within its body has disconnected."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._is_whole = self._is_late = False

    async def receive(self) -> Message:
        """The next part of the body, or what follows it."""
        if self._is_whole:
            return await self._receive()
        message: dict[str, Any] = {"type": "http.disconnect"}
        self._is_late = True
        with anyio.move_on_after(BODY_SECONDS):
            message = dict(await self._receive())
            self._is_late = False
        self._is_whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer; the connection of a late client is closed after it."""
        if self._is_late and message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        await self._send(message)
