"""A fault of our own costs our part in a conversation and never the conversation: what came is passed on."""

import json
import logging
from typing import Any

import pytest

from keepwhole import MemoryStore
from keepwhole.errors import StoreError
from keepwhole.exchange import outgoing_request
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.wire.anthropic.stream import AnthropicStream
from keepwhole.wire.sse import written

TOOLS = [{"name": "work", "input_schema": {"type": "object"}}]


def body(text: str = "x\n" * 9_000) -> bytes:
    call = {"type": "tool_use", "id": "toolu_1", "name": "work", "input": {}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": text}]},
    ]
    return json.dumps({"model": "m", "max_tokens": 9, "messages": messages, "tools": TOOLS, "stream": True}).encode()


def begin(router: SessionRouter, data: bytes) -> Any:
    return router.begin("POST", "/v1/messages", {"x-keepwhole-session": "s"}, data)


def events_of(*blocks: dict[str, Any]) -> list[bytes]:
    """A streamed answer with these blocks."""
    said = [written("message_start", {"type": "message_start", "message": {"id": "m", "usage": {}}})]
    for at, block in enumerate(blocks):
        said += [
            written("content_block_start", {"type": "content_block_start", "index": at, "content_block": block}),
            written("content_block_stop", {"type": "content_block_stop", "index": at}),
        ]
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    return [*said, written("message_delta", end), written("message_stop", {"type": "message_stop"})]


RECALL = {"type": "tool_use", "id": "toolu_9", "name": "get_artifact", "input": {}}
TEXT = {"type": "text", "text": "done"}


def fail(*_: object, **__: object) -> Any:
    raise RuntimeError("a fault of our own")


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING, logger="keepwhole")
    return caplog


def streamed(exchange: Exchange, events: list[bytes]) -> bytes:
    shown = b"".join(exchange.feed_chunk(event) for event in events)
    return shown + (exchange.end_stream() or b"")


@pytest.mark.parametrize(("error", "is_logged"), [(RuntimeError("odd"), True), (StoreError("the disk is full"), False)])
def test_a_request_that_cannot_be_begun_passes_as_it_came(
    error: Exception, is_logged: bool, monkeypatch: pytest.MonkeyPatch, warned: pytest.LogCaptureFixture
) -> None:
    def raising(*_: object) -> Any:
        raise error

    router = SessionRouter(each=True, store=MemoryStore())
    monkeypatch.setattr(router, "_begin", raising)
    assert begin(router, body()) is None
    assert router.counts["requests"] == 1
    assert (f"passed on unchanged: request reason={type(error).__name__}" in warned.text) is is_logged


@pytest.mark.parametrize("blocks", [[TEXT], [TEXT, RECALL]], ids=["plain", "with a recall"])
def test_an_event_that_cannot_be_read_passes_as_it_came(
    blocks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, warned: pytest.LogCaptureFixture
) -> None:
    exchange = begin(SessionRouter(each=True, store=MemoryStore()), body())
    events = events_of(*blocks)
    monkeypatch.setattr(AnthropicStream, "feed", fail)
    shown = streamed(exchange, events)
    assert shown == b"".join(events)
    assert ("passed on unchanged: event reason=RuntimeError" in warned.text) is (RECALL in blocks)


def test_a_stream_whose_end_cannot_be_made_ends_as_the_provider_ended_it(
    monkeypatch: pytest.MonkeyPatch, warned: pytest.LogCaptureFixture
) -> None:
    exchange = begin(SessionRouter(each=True, store=MemoryStore()), body())
    monkeypatch.setattr(exchange, "_end_stream", fail)
    monkeypatch.setattr(exchange, "_release", lambda: b"")
    shown = streamed(exchange, events_of(TEXT, RECALL))
    assert b"message_stop" in shown
    assert "passed on unchanged: end of a stream reason=RuntimeError" in warned.text


def test_a_bill_that_cannot_be_read_is_not_learned_from(
    monkeypatch: pytest.MonkeyPatch, warned: pytest.LogCaptureFixture
) -> None:
    exchange = begin(SessionRouter(each=True, store=MemoryStore()), body())
    monkeypatch.setattr(exchange, "_learn_bill", fail)
    assert exchange.learn_bill(200, b"{}", complete=True) is None
    assert "passed on unchanged: bill reason=RuntimeError" in warned.text
    assert exchange.learn_bill(200, b"", complete=False) is None


def test_a_request_is_as_good_without_a_marker_that_cannot_be_set(
    monkeypatch: pytest.MonkeyPatch, warned: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outgoing_request, "_mark_before", fail)
    router = SessionRouter(each=True, store=MemoryStore(), policy="rolling")
    exchange = begin(router, body())
    account = exchange.account.replace(mode="on", changed_last=1)
    assert outgoing_request._with_marker(router.session("s"), exchange._endpoint, b"{}", account) == b"{}"
    assert "passed on unchanged: marker reason=RuntimeError" in warned.text
