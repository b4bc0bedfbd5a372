"""Microsoft's Agent Framework with a scripted model: results are recorded whole, shown as fits, read back."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import keepwhole
from keepwhole.testing import AdapterContract, AgentRun, MemoryStore, Script
from keepwhole.testing.look import recorded_results
from keepwhole.testing.script import Tools, newest_result
from tests.integrations.images import check_images

pytest.importorskip("agent_framework", reason="the Agent Framework is not installed; `make adapters` installs it")

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
    tool,
)

from keepwhole.integrations.agent_framework import KeepwholeMiddleware, recall_tools

pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]
LOG = "".join(f"{n:05} compiled unit {n}\n" for n in range(1_000))


class Scripted(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """A model that plays a script."""

    script: Script

    def __init__(self) -> None:
        super().__init__(function_invocation_configuration={"max_iterations": 500, "include_detailed_errors": True})

    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        turn = self.script.reply(as_blocks(messages), [each.name for each in options.get("tools") or []])
        calls = [Content.from_function_call(each.call_id, each.name, arguments=each.arguments) for each in turn.calls]
        return ChatResponse(messages=[Message("assistant", calls or [turn.text])])


def as_blocks(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages in a dialect that the checks can read."""
    roles = {"assistant": "assistant"}
    return [
        {"role": roles.get(each.role, "user"), "content": [_block(part) for part in each.contents]} for each in messages
    ]


def _block(part: Any) -> dict[str, Any]:
    if part.type == "function_call":
        return {"type": "tool_use", "id": part.call_id, "name": part.name, "input": part.parse_arguments()}
    if part.type == "function_result":
        return {"type": "tool_result", "tool_use_id": part.call_id, "content": str(part.result)}
    return {"type": "text", "text": part.text or ""}


class AgentFrameworkHarness:
    """One agent with one session of its own."""

    def __init__(self) -> None:
        self._client = Scripted()
        self._agent: Any = None
        self._session: Any = None

    def run(self, script: Script, tools: Tools, session: keepwhole.Session) -> AgentRun:
        return asyncio.run(self._run(script, tools, session))

    async def _run(self, script: Script, tools: Tools, session: keepwhole.Session) -> AgentRun:
        self._client.script = script
        if self._agent is None:
            made = [tool(each) for each in tools.values()]
            self._agent = Agent(
                client=self._client,
                tools=[*made, *recall_tools(session)],
                middleware=[KeepwholeMiddleware(session)],
                context_providers=[InMemoryHistoryProvider("memory")],
            )
            self._session = self._agent.create_session()
        done = await self._agent.run("go", session=self._session)
        history = self._session.state["memory"]["messages"]
        return AgentRun(done.text, script.requests, as_blocks(history))


class TestAgentFramework(AdapterContract):
    def harness(self) -> AgentFrameworkHarness:
        return AgentFrameworkHarness()


def test_an_image_beside_a_text_is_kept_and_stays() -> None:
    session = keepwhole.session("image", store=MemoryStore())
    sent: list[Any] = []

    def shot(page: str) -> list[Content]:
        """Take a screenshot."""
        return [Content.from_text(LOG), Content.from_uri("data:image/png;base64,iVBORw0KGgo=", media_type="image/png")]

    harness = AgentFrameworkHarness()
    inner = harness._client._inner_get_response

    async def note(**given: Any) -> Any:
        sent.append(given["messages"])
        return await inner(**given)

    harness._client._inner_get_response = note  # type: ignore[method-assign]
    ran = harness.run(Script([("shot", {"page": "one"}), "done"]), {"shot": shot}, session)  # type: ignore[dict-item]
    assert recorded_results(session) == [
        ("shot", LOG),
        ("shot", b"\x89PNG\r\n\x1a\n".decode("ascii", "surrogateescape")),
    ]
    assert len(newest_result(ran.requests[-1])) < len(LOG)
    assert [item.type for item in sent[-1][-1].contents[0].items] == ["text", "data"]


def test_images_in_results_are_kept_and_age() -> None:
    from agent_framework import Content, Message

    from keepwhole.integrations.agent_framework import _VIEWER  # pyright: ignore[reportPrivateUsage]

    def step(number: int, data: bytes) -> list[Any]:
        image = Content.from_data(data, media_type="image/png")
        call = Content.from_function_call(f"c{number}", "computer", arguments={"at": number})
        result = Content.from_function_result(f"c{number}", result=[Content.from_text(f"Clicked at {number}."), image])
        return [Message("assistant", [call]), Message("tool", [result])]

    def images(message: Any) -> list[bytes]:
        items = [item for part in message.contents for item in getattr(part, "items", None) or ()]
        return [base64.b64decode(item.uri.partition(",")[2]) for item in items if item.type == "data"]

    check_images(_VIEWER, step, images, lambda message: str(message.to_dict()))
