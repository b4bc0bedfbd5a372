"""The transport keeps the contract of adapters, with both SDKs, in three dialects, whole and streamed."""

import inspect
import json
from typing import Any

import pytest

from keepwhole.session import Session
from keepwhole.testing import AdapterContract, AgentRun, Script
from keepwhole.testing.script import Tools
from tests.integrations.sdks import Anthropic, Chat, Responses
from tests.upstream.provider import Part, Provider, Text, Tool

pytestmark = [pytest.mark.adapters, pytest.mark.usefixtures("recall_from_start")]


class Agent:
    """A loop over an SDK as in its guide; the transport is its only part of Keepwhole."""

    def __init__(self, sdk: type[Any], way: str) -> None:
        self._sdk, self._way = sdk, way
        self.messages: list[Any] = []

    def run(self, script: Script, tools: Tools, session: Session) -> AgentRun:
        def played(body: dict[str, Any]) -> list[Part]:
            offered = [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", ())]
            turn = script.reply(agent.sent(body), offered)
            words: list[Part] = [Text(turn.text)] if turn.text else []
            return [*words, *(Tool(call.name, call.arguments, call.call_id) for call in turn.calls)]

        agent = self._sdk(Provider([played] * 300), session=session)
        agent.options["model"] = "scripted"
        agent.options["tools"] = [spelled(agent.name, name, tool) for name, tool in tools.items()]
        self.messages.append({"role": "user", "content": "go"})
        while True:
            answer = self._ask(agent)
            self.messages += answer.history
            if not answer.calls:
                break
            self._answer(agent, answer, tools)
        return AgentRun(answer.text, script.requests, [json.loads(json.dumps(m, default=plain)) for m in self.messages])

    def _ask(self, agent: Any) -> Any:
        """Send a request; OpenAI's SDK takes milliseconds per message, so it gets them ready to send."""
        ask = getattr(agent, self._way)
        if agent.name == "anthropic":
            return ask(self.messages)
        return ask([], extra_body={"messages" if agent.name == "openai_chat" else "input": self.messages})

    def _answer(self, agent: Any, answer: Any, tools: Tools) -> None:
        given = arguments_of(agent.name, answer.raw)
        results = [
            message
            for name, call_id in answer.calls
            for message in agent.result(call_id, str(tools[name](**given[call_id])))
        ]
        if agent.name == "anthropic":
            results = [{"role": "user", "content": [block for message in results for block in message["content"]]}]
        self.messages += results


def plain(value: Any) -> Any:
    return value.model_dump(mode="json", exclude_none=True)


def spelled(dialect: str, name: str, tool: Any) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {word: {"type": "string"} for word in inspect.signature(tool).parameters},
    }
    if dialect == "anthropic":
        return {"name": name, "description": name, "input_schema": parameters}
    about = {"name": name, "description": name, "parameters": parameters}
    if dialect == "openai_chat":
        return {"type": "function", "function": about}
    return {"type": "function", "strict": False, **about}


def arguments_of(dialect: str, raw: Any) -> dict[str, dict[str, Any]]:
    if dialect == "anthropic":
        return {block.id: dict(block.input) for block in raw.content if block.type == "tool_use"}
    if dialect == "openai_chat":
        calls = raw.choices[0].message.tool_calls or ()
        return {call.id: json.loads(call.function.arguments) for call in calls}
    return {item.call_id: json.loads(item.arguments) for item in raw.output if item.type == "function_call"}


class TestAnthropic(AdapterContract):
    def harness(self) -> Agent:
        return Agent(Anthropic, "ask")


class TestAnthropicStreamed(AdapterContract):
    test_a_hundred_steps_stay_under_the_window = None  # type: ignore[assignment]  # its other way runs it

    def harness(self) -> Agent:
        return Agent(Anthropic, "stream")


class TestChat(AdapterContract):
    test_a_hundred_steps_stay_under_the_window = None  # type: ignore[assignment]  # its other way runs it

    def harness(self) -> Agent:
        return Agent(Chat, "ask")


class TestChatStreamed(AdapterContract):
    def harness(self) -> Agent:
        return Agent(Chat, "stream")


class TestResponses(AdapterContract):
    def harness(self) -> Agent:
        return Agent(Responses, "ask")


class TestResponsesStreamed(AdapterContract):
    test_a_hundred_steps_stay_under_the_window = None  # type: ignore[assignment]  # its other way runs it

    def harness(self) -> Agent:
        return Agent(Responses, "stream")
