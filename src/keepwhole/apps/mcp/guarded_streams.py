"""What is checked between a server's transport and the library that speaks the protocol.

Owns: that a malformed answer is made valid or becomes an error with the server's name, that a server cannot flood
clients with notices, and noticing that a connection has ended.
Must not know: how a server is reached, what is asked of it.
"""

import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from keepwhole.apps.mcp.answers import LISTS, valid_answer

MOST_NOTICES, NOTICE_SECONDS = 1_000, 10.0
"""Notices (progress, logs, changes) of one server that are passed on within this time."""
_CHECKED = frozenset((*LISTS, "tools/call", "prompts/get", "resources/read", "completion/complete"))
_log = logging.getLogger("keepwhole.mcp")


class RateLimit:
    """Allows a number of events in each period."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._began, self.count = clock(), 0

    def allows(self) -> bool:
        """Count an event; whether it is within the limit."""
        now = self._clock()
        if now - self._began >= self._seconds:
            self._began, self.count = now, 0
        self.count += 1
        return self.count <= self._most


class MessageGuard:
    """Checks the messages of one connection."""

    def __init__(self, server: str, version: Callable[[], str | None]) -> None:
        self._server, self._version = server, version
        self._methods: dict[str, str] = {}
        self._notices = RateLimit(MOST_NOTICES, NOTICE_SECONDS)

    def note_sent(self, message: JSONRPCMessage) -> None:
        """Remember what an answer will be the answer to."""
        if isinstance(message, JSONRPCRequest) and message.method in _CHECKED:
            self._methods[str(message.id)] = message.method
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._methods.pop(str((message.params or {}).get("requestId")), None)

    def checked(self, message: JSONRPCMessage) -> JSONRPCMessage | None:
        """The message as it may go on; None where it is dropped."""
        if isinstance(message, JSONRPCNotification) and not self._notices.allows():
            if self._notices.count == MOST_NOTICES + 1:
                _log.warning("server %r: more than %s notices at once; the rest is dropped", self._server, MOST_NOTICES)
            return None
        method = (
            self._methods.pop(str(message.id), None) if isinstance(message, JSONRPCResponse | JSONRPCError) else None
        )
        version = self._version()
        if not isinstance(message, JSONRPCResponse) or method is None or version is None:
            return message
        return self._valid_response(message, method, version)

    def _valid_response(self, message: JSONRPCResponse, method: str, version: str) -> JSONRPCMessage:
        result = valid_answer(method, version, message.result)
        if result is message.result:
            return message
        _log.warning("server %r: its answer to %s breaks the protocol", self._server, method)
        if result is not None:
            return JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result)
        words = f"The MCP server `{self._server}` answered `{method}` with something that breaks the protocol."
        return JSONRPCError(jsonrpc="2.0", id=message.id, error=ErrorData(code=INTERNAL_ERROR, message=words))


@asynccontextmanager
async def guarded(
    inner: AbstractAsyncContextManager[Any], guard: MessageGuard, ended: anyio.Event
) -> AsyncGenerator[Any]:
    """The same streams with every message checked; `ended` is set when the server sends no more."""
    async with inner as (read, write):
        yield _Incoming(read, guard, ended), _Outgoing(write, guard)


class _Stream:
    """A stream around another one."""

    def __init__(self, inner: Any, guard: MessageGuard) -> None:
        self._inner, self._guard = inner, guard

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


class _Outgoing(_Stream):
    """What is sent to a server."""

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        self._guard.note_sent(item.message)
        await self._inner.send(item)


class _Incoming(_Stream):
    """What comes from a server; says when that has ended."""

    def __init__(self, inner: Any, guard: MessageGuard, ended: anyio.Event) -> None:
        super().__init__(inner, guard)
        self._ended = ended

    @property
    def last_context(self) -> Any:
        """What the inner stream knows of who sent its last message."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        """The next message that may go on."""
        while True:
            try:
                item = await self._inner.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                self._ended.set()
                raise
            if not isinstance(item, SessionMessage):
                return item
            message = self._guard.checked(item.message)
            if message is item.message:
                return item
            if message is not None:
                return SessionMessage(message, metadata=item.metadata)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None
