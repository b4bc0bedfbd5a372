"""Messages of a server are checked before anything reads them: answers become valid, notices do not flood."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from keepwhole.apps.mcp.guarded_streams import MOST_NOTICES, MessageGuard, RateLimit, guarded

VERSION = "2025-06-18"
NOTICE = JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"level": "info", "data": "x"})
VALID = {"content": [{"type": "text", "text": "x"}]}


def request(number: int | str, method: str = "tools/call") -> JSONRPCRequest:
    return JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params={})


def answer(number: int | str, result: dict[str, Any]) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=number, result=result)


def cancelled(number: int) -> JSONRPCNotification:
    return JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params={"requestId": number})


def guard(version: str | None = VERSION) -> MessageGuard:
    return MessageGuard("files", lambda: version)


def test_a_number_of_events_is_allowed_in_each_period() -> None:
    now = 5.0
    limit = RateLimit(2, 10.0, lambda: now)
    assert [limit.allows() for _ in range(4)] == [True, True, False, False]
    assert limit.count == 4
    now = 14.9
    assert not limit.allows()
    now = 15.0
    assert [limit.allows() for _ in range(3)] == [True, True, False]
    now = 24.9
    assert not limit.allows()
    now = 25.0
    assert limit.allows()


def test_a_valid_answer_goes_on_as_it_is() -> None:
    one, reply = guard(), answer(1, VALID)
    one.note_sent(request(1))
    assert one.checked(reply) is reply


@pytest.mark.parametrize("method", ["prompts/get", "resources/read", "completion/complete"])
def test_an_answer_that_cannot_be_made_valid_becomes_an_error_with_the_servers_name(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    one = guard()
    one.note_sent(request(1, method))
    found = one.checked(answer(1, {"odd": 7}))
    assert isinstance(found, JSONRPCError)
    assert (found.id, found.error.code) == (1, INTERNAL_ERROR)
    assert found.error.message == (
        f"The MCP server `files` answered `{method}` with something that breaks the protocol."
    )
    assert f"server 'files': its answer to {method} breaks the protocol" in caplog.text


def test_what_can_be_made_valid_of_an_answer_goes_on() -> None:
    one = guard()
    one.note_sent(request("a", "tools/list"))
    good = {"name": "echo", "inputSchema": {"type": "object"}}
    found = one.checked(answer("a", {"tools": [good, {"odd": 7}]}))
    assert isinstance(found, JSONRPCResponse)
    assert found.id == "a"
    assert [tool["name"] for tool in found.result["tools"]] == ["echo"]


def test_only_answers_to_what_was_asked_are_checked_and_once() -> None:
    odd = answer(1, {"odd": 7})
    assert guard().checked(odd) is odd
    other = guard()
    other.note_sent(request(1, "ping"))
    assert other.checked(odd) is odd
    again = guard()
    again.note_sent(request(1, "prompts/get"))
    assert isinstance(again.checked(odd), JSONRPCError)
    assert again.checked(odd) is odd
    unknown = guard(None)
    unknown.note_sent(request(1, "prompts/get"))
    assert unknown.checked(odd) is odd


def test_a_call_that_was_cancelled_or_failed_is_forgotten() -> None:
    odd = answer(1, {"odd": 7})
    one = guard()
    one.note_sent(request(1, "prompts/get"))
    one.note_sent(cancelled(2))
    one.note_sent(cancelled(1))
    one.note_sent(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled"))
    assert one.checked(odd) is odd
    other = guard()
    other.note_sent(request(1, "prompts/get"))
    error = JSONRPCError(jsonrpc="2.0", id=1, error=ErrorData(code=1, message="no"))
    assert other.checked(error) is error
    assert other.checked(odd) is odd


def test_notices_over_the_limit_are_dropped_and_that_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    one = guard()
    with caplog.at_level(logging.WARNING):
        assert all(one.checked(NOTICE) is NOTICE for _ in range(MOST_NOTICES))
        assert caplog.text == ""
        assert [one.checked(NOTICE) for _ in range(3)] == [None] * 3
    assert caplog.text.count("server 'files': more than 1000 notices at once; the rest is dropped") == 1
    asked = request(1, "sampling/createMessage")
    assert one.checked(asked) is asked


class Streams:
    """Both streams of a connection, with what was sent and closed."""

    last_context = "context"

    def __init__(self, *items: object) -> None:
        self._items, self.sent, self.closed = iter(items), list[Any](), 0

    async def __aenter__(self) -> "Streams":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed += 1

    async def aclose(self) -> None:
        self.closed += 1

    async def send(self, item: object) -> None:
        self.sent.append(item)

    async def receive(self) -> object:
        item = next(self._items, anyio.EndOfStream())
        if isinstance(item, BaseException):
            raise item
        return item


def test_every_message_of_a_connection_is_checked_and_its_end_is_noticed() -> None:
    reply, odd = SessionMessage(answer(1, VALID)), SessionMessage(answer(2, {"odd": 7}))
    inner = Streams(reply, odd, "other", reply)

    @asynccontextmanager
    async def connection() -> AsyncGenerator[Any]:
        yield inner, inner

    async def use() -> None:
        ended = anyio.Event()
        async with guarded(connection(), guard(), ended) as (read, write), read, write:
            asked = SessionMessage(request(2, "prompts/get"))
            await write.send(asked)
            assert inner.sent == [asked]
            assert read.last_context == "context"
            assert await read.receive() is reply
            changed = await read.receive()
            assert isinstance(changed.message, JSONRPCError)
            assert await read.receive() == "other"
            assert not ended.is_set()
            assert [item async for item in read] == [reply]
            assert ended.is_set()
            await read.aclose()
        assert inner.closed == 3

    anyio.run(use)


@pytest.mark.parametrize("error", [anyio.EndOfStream, anyio.ClosedResourceError])
def test_a_closed_connection_has_ended_and_says_so(error: type[Exception]) -> None:
    @asynccontextmanager
    async def connection() -> AsyncGenerator[Any]:
        inner = Streams(*[SessionMessage(NOTICE)] * (MOST_NOTICES + 2), error())
        yield inner, inner

    async def use() -> None:
        ended = anyio.Event()
        async with guarded(connection(), guard(), ended) as (read, _):
            for _ in range(MOST_NOTICES):
                await read.receive()
            with pytest.raises(error):
                await read.receive()
            assert ended.is_set()

    anyio.run(use)
