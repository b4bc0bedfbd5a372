"""Google's ADK with a scripted model: results are recorded whole, shown as fits, read back by the model."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

import keepwhole
from keepwhole.testing import AdapterContract, AgentRun, MemoryStore, Script, printed_calls
from keepwhole.testing.look import recorded_results
from keepwhole.testing.script import Tools, newest_result
from tests.integrations.images import check_images

pytest.importorskip("google.adk", reason="Google's ADK is not installed; `make adapters` installs it")

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from keepwhole.integrations.google_adk import KeepwholePlugin

pytestmark = [
    pytest.mark.adapters,
    # ADK marks some of what it runs as experimental, and leaves its own loops to the collector.
    pytest.mark.filterwarnings("ignore"),
]
LOG = "".join(f"{n:05} compiled unit {n}\n" for n in range(1_000))


class Scripted(BaseLlm):
    """A model that plays a script; without `named` its calls have no ids, as Gemini's have none."""

    model: str = "scripted"
    script: Any = None
    named: bool = True

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        names = [each.name for tool in llm_request.config.tools or [] for each in tool.function_declarations or []]
        turn = self.script.reply(as_blocks(llm_request.contents), names)
        calls = [
            types.Part(
                function_call=types.FunctionCall(
                    id=call.call_id if self.named else None, name=call.name, args=call.arguments
                )
            )
            for call in turn.calls
        ]
        yield LlmResponse(content=types.Content(role="model", parts=calls or [types.Part(text=turn.text)]))


def as_blocks(contents: Any) -> list[dict[str, Any]]:
    """Contents in a dialect that the checks can read."""
    return [
        {"role": "assistant" if c.role == "model" else "user", "content": [_block(p) for p in c.parts]}
        for c in contents
    ]


def _block(part: Any) -> dict[str, Any]:
    if call := part.function_call:
        return {"type": "tool_use", "id": call.id or call.name, "name": call.name, "input": call.args}
    if result := part.function_response:
        says = next(iter(result.response.values())) if len(result.response) == 1 else json.dumps(result.response)
        return {"type": "tool_result", "tool_use_id": result.id or result.name, "content": str(says)}
    return {"type": "text", "text": part.text or ""}


class ADKHarness:
    """One ADK session."""

    def __init__(self, named: bool = True) -> None:
        self._runner: Any = None
        self._model = Scripted(named=named)

    def run(self, script: Script, tools: Tools, session: keepwhole.Session) -> AgentRun:
        return asyncio.run(self._run(script, tools, session))

    async def _run(self, script: Script, tools: Tools, session: keepwhole.Session) -> AgentRun:
        self._model.script = script
        if self._runner is None:
            agent = LlmAgent(name="agent", model=self._model, tools=list(tools.values()))
            app = App(name="trial", root_agent=agent, plugins=[KeepwholePlugin(session)])
            self._runner = InMemoryRunner(app=app)
            await self._runner.session_service.create_session(app_name="trial", user_id="u", session_id="s")
        asked = types.Content(role="user", parts=[types.Part(text="go")])
        text = ""
        async for event in self._runner.run_async(user_id="u", session_id="s", new_message=asked):
            said = [part.text for part in (event.content.parts if event.content else None) or [] if part.text]
            text = said[-1] if said else text
        stored = await self._runner.session_service.get_session(app_name="trial", user_id="u", session_id="s")
        history = as_blocks([event.content for event in stored.events if event.content])
        return AgentRun(text, script.requests, history)


class TestGoogleADK(AdapterContract):
    def harness(self) -> ADKHarness:
        return ADKHarness()


def test_calls_without_ids_are_told_apart_by_their_places() -> None:
    session = keepwhole.session("numbered", store=MemoryStore())

    def build(target: str) -> str:
        """Build a target."""
        return LOG + target

    script = Script(
        [("build", {"target": "a"}), ("build", {"target": "b"}), lambda text: printed_calls(text)[-1], "done"]
    )
    ran = ADKHarness(named=False).run(script, {"build": build}, session)
    assert ran.text == "done"
    assert recorded_results(session) == [("build", LOG + "a"), ("build", LOG + "b")]
    assert "compiled unit" in newest_result(ran.requests[-1])
    assert len(str(ran.requests[-1])) < 2 * len(LOG)


def test_a_result_of_several_fields_is_kept_as_json() -> None:
    session = keepwhole.session("fields", store=MemoryStore())

    def build(target: str) -> dict[str, Any]:
        """Build a target."""
        return {"status": "ok", "log": LOG + target}

    ran = ADKHarness().run(Script([("build", {"target": "ü"}), "done"]), {"build": build}, session)
    ((_, kept),) = recorded_results(session)
    assert json.loads(kept) == {"status": "ok", "log": LOG + "ü"}
    assert len(newest_result(ran.requests[-1])) < len(LOG)


def test_each_adk_session_has_a_record_of_its_name(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path))

    def build(target: str) -> str:
        """Build a target."""
        return LOG

    ADKHarness().run(Script([("build", {"target": "a"}), "done"]), {"build": build}, None)  # type: ignore[arg-type]
    with keepwhole.session("s", store=tmp_path) as session:
        assert recorded_results(session) == [("build", LOG)]


def test_images_beside_results_are_kept_and_age() -> None:
    from keepwhole.integrations.blocks import PartsViewer
    from keepwhole.integrations.google_adk import _Spelling  # pyright: ignore[reportPrivateUsage]

    if not hasattr(types, "FunctionResponsePart"):
        pytest.skip("this version of google-genai has no parts beside a response")

    class Viewer:
        def view(self, session: Any, contents: Any, model: Any) -> Any:
            return PartsViewer(_Spelling(contents)).view(session, contents, model)

    def step(number: int, data: bytes) -> list[Any]:
        image = types.FunctionResponsePart.from_bytes(data=data, mime_type="image/png")
        named = {"id": f"c{number}", "name": "computer"}
        response = types.FunctionResponse(**named, response={"result": f"Clicked at {number}."}, parts=[image])
        call = types.FunctionCall(**named, args={"at": number})
        return [
            types.Content(role="model", parts=[types.Part(function_call=call)]),
            types.Content(role="user", parts=[types.Part(function_response=response)]),
        ]

    def images(message: Any) -> list[bytes]:
        responses = [part.function_response for part in message.parts if part.function_response]
        return [each.inline_data.data for response in responses for each in response.parts or ()]

    check_images(Viewer(), step, images)
