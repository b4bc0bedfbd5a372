"""A hand-written loop keeps the contract of adapters, and `on_tool_end` reports what a tool did."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from keepwhole.canonical.media import MediaBytes
from keepwhole.integrations.loop import aon_tool_end, on_tool_end
from keepwhole.session import Session
from keepwhole.testing import AdapterContract, AgentRun, MemoryStore, Script
from keepwhole.testing.script import Tools
from tests.canonical.pictures import png


class Loop:
    """The loop of the how-to, with Anthropic's messages."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def run(self, script: Script, tools: Tools, session: Session) -> AgentRun:
        ended = on_tool_end(session)
        offered = [*tools, *(tool["name"] for tool in session.tools("anthropic"))]
        self.messages.append({"role": "user", "content": "go"})
        while (turn := script.reply(session.view(self.messages), offered)).calls:
            blocks = [{"type": "tool_use", "id": c.call_id, "name": c.name, "input": c.arguments} for c in turn.calls]
            self.messages.append({"role": "assistant", "content": blocks})
            results = [ended(block, lambda b=block: tools[str(b["name"])](**b["input"])) for block in blocks]
            self.messages.append({"role": "user", "content": results})
        self.messages.append({"role": "assistant", "content": turn.text})
        return AgentRun(turn.text, script.requests, self.messages)


class TestLoop(AdapterContract):
    """`on_tool_end` where a tool has returned, `Session.view` where messages are sent."""

    holds_truth = False

    def harness(self) -> Loop:
        return Loop()


def call(name: str = "look", **arguments: Any) -> dict[str, Any]:
    return {"type": "function", "id": "c1", "function": {"name": name, "arguments": arguments}}


def test_the_block_is_in_the_dialect_of_the_call() -> None:
    ended = on_tool_end(Session(store=MemoryStore()))
    assert ended(call(), "found") == {"role": "tool", "tool_call_id": "c1", "content": "found"}
    block = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    assert ended(block, lambda: "found") == {"type": "tool_result", "tool_use_id": "t1", "content": "found"}


def test_what_a_tool_raises_is_kept_as_an_error_and_said() -> None:
    session = Session(store=MemoryStore())
    block = on_tool_end(session)({"type": "tool_use", "id": "t1", "name": "look", "input": {}}, lambda: 1 // 0)
    assert block["is_error"]
    assert block["content"].startswith("ZeroDivisionError: ")


@pytest.mark.parametrize("is_async", [False, True])
def test_an_image_is_kept_sent_as_an_image_and_read_back_as_one(is_async: bool) -> None:
    session, picture = Session(store=MemoryStore()), MediaBytes("image/png", png(30, 20))

    def ended(called: Any, output: Any) -> Any:
        return asyncio.run(aon_tool_end(session)(called, output)) if is_async else on_tool_end(session)(called, output)

    called = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    sent = ended(called, lambda: picture)
    (row,) = session.store.rows(session.id, kind="result")
    assert session.recall_bytes(row.trace_id) == picture.data
    words, image = sent["content"]
    assert words["text"] == "image/png 30x20"
    assert base64.b64decode(image["source"]["data"]) == picture.data
    asked = {"type": "tool_use", "id": "t2", "name": "get_artifact", "input": {"id": row.trace_id}}
    assert ended(asked, None)["content"][1] == image
    messages = [{"role": "assistant", "content": [called]}, {"role": "user", "content": [sent]}]
    assert session.view(messages) == messages
    assert ended(call(), picture)["content"] == "image/png 30x20", "a tool's message is text there"


def test_a_recall_call_is_answered_and_the_function_is_not_called() -> None:
    session = Session(store=MemoryStore())
    block = on_tool_end(session)(call("get_artifact", id="art_1_x"), lambda: pytest.fail("it was called"))
    assert block["content"].startswith("404")


def test_a_cancellation_is_let_through() -> None:
    def cancelled() -> str:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        on_tool_end(Session(store=MemoryStore()))(call(), cancelled)


async def chunks() -> AsyncIterator[str]:
    for part in ("a", "b", "c"):
        yield part


async def found() -> str:
    return "found"


async def failed() -> str:
    raise ValueError("no such thing")


def test_the_twin_awaits_coroutines_streams_and_exceptions() -> None:
    session = Session(store=MemoryStore())

    async def contents() -> list[str]:
        ended = aon_tool_end(session)
        outputs = (found, chunks(), failed, lambda: "plain", ValueError("wrong"))
        blocks = [await ended(call(n=n), output) for n, output in enumerate(outputs)]
        return [block["content"] for block in blocks]

    assert asyncio.run(contents()) == ["found", "abc", "ValueError: no such thing", "plain", "ValueError: wrong"]
