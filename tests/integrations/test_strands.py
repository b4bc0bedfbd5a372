"""Strands Agents with a scripted model: results are recorded whole, shown as fits, read back by the model."""

import json
from typing import Any

import pytest

import keepwhole
from keepwhole.testing import AdapterContract, AgentRun, MemoryStore, Script
from keepwhole.testing.look import recorded_results
from keepwhole.testing.script import Tools, newest_result
from tests.integrations.images import check_images

pytest.importorskip("strands", reason="Strands Agents is not installed; `make adapters` installs it")

import boto3
from strands import Agent, tool
from strands.models import Model
from strands.models.bedrock import BedrockModel

from keepwhole.integrations.strands import KeepwholePlugin

pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]
LOG = "".join(f"{n:05} compiled unit {n}\n" for n in range(1_000))


class Scripted(Model):
    """A model that plays a script."""

    def __init__(self) -> None:
        self.script = Script(())

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {"model_id": "scripted"}

    async def structured_output(self, *_: Any, **__: Any) -> Any:
        yield {}

    async def stream(self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **_: Any) -> Any:
        turn = self.script.reply(as_blocks(messages), [spec["name"] for spec in tool_specs or []])
        yield {"messageStart": {"role": "assistant"}}
        for call in turn.calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": call.name, "toolUseId": call.call_id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call.arguments)}}}}
            yield {"contentBlockStop": {}}
        if not turn.calls:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": turn.text}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if turn.calls else "end_turn"}}


def as_blocks(messages: Any) -> list[dict[str, Any]]:
    """Messages in a dialect that the checks can read."""
    return [{"role": each["role"], "content": [_block(part) for part in each["content"]]} for each in messages]


def _block(part: Any) -> dict[str, Any]:
    if call := part.get("toolUse"):
        return {"type": "tool_use", "id": call["toolUseId"], "name": call["name"], "input": call["input"]}
    if result := part.get("toolResult"):
        text = "".join(each.get("text", "") for each in result["content"])
        return {"type": "tool_result", "tool_use_id": result["toolUseId"], "content": text}
    return {"type": "text", "text": part.get("text", "")}


class StrandsHarness:
    """One agent."""

    def __init__(self) -> None:
        self._model = Scripted()
        self.agent: Any = None

    def run(self, script: Script, tools: Tools, session: keepwhole.Session) -> AgentRun:
        self._model.script = script
        if self.agent is None:
            made: Any = [tool(each) for each in tools.values()]
            plugins: Any = [KeepwholePlugin(session)]
            # The conversation manager of a default agent drops old messages; here the view does what is needed.
            self.agent = Agent(model=self._model, tools=made, plugins=plugins, callback_handler=None)
        text = str(self.agent("go")).strip()
        return AgentRun(text, script.requests, as_blocks(self.agent.messages))


class TestStrands(AdapterContract):
    def harness(self) -> StrandsHarness:
        return StrandsHarness()


def test_data_is_kept_as_json_and_an_image_beside_it() -> None:
    session, harness = keepwhole.session("data", store=MemoryStore()), StrandsHarness()

    def build(target: str) -> Any:
        """Build a target."""
        image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
        return {"status": "success", "content": [{"json": {"log": LOG}}, image]}

    ran = harness.run(Script([("build", {"target": "a"}), "done"]), {"build": build}, session)
    assert recorded_results(session) == [("build", json.dumps({"log": LOG})), ("build", "\udc89PNG")]
    assert len(newest_result(ran.requests[-1])) < len(LOG)
    result = harness.agent.messages[2]["content"][0]["toolResult"]
    assert result["content"][0] == {"json": {"log": LOG}}
    assert "image" in result["content"][1]


def test_its_own_bedrock_model_speaks_through_an_attached_client() -> None:
    from keepwhole.integrations.bedrock import attach
    from tests.upstream.bedrock import ACCESS_KEY, REGION, SECRET_KEY
    from tests.upstream.server import upstream
    from tests.upstream.spelling import Json, Part, Text
    from tests.upstream.spelling import Tool as Call

    def play(body: Json) -> list[Part]:
        told = json.dumps(body["messages"])
        if "compiled unit" not in told:
            return [Call("build", {"target": "a"})]
        if "get_artifact" not in json.dumps([one for one in body["messages"] if one["role"] == "assistant"]):
            return [Call("get_artifact", {"id": told.partition("[Artifact: ")[2].partition("]")[0], "lines": "501"})]
        return [Text("Unit 500." if "00500 compiled unit 500" in told else "Nothing was read back.")]

    @tool
    def build(target: str) -> str:
        """Build a target."""
        return LOG

    with upstream(play) as served:
        keys = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY, "region_name": REGION}
        model = BedrockModel(boto_session=boto3.Session(**keys), endpoint_url=served.url, streaming=True)
        store = MemoryStore()
        router = attach(model.client, "s", store=store)
        answer = str(Agent(model=model, tools=[build], callback_handler=None)("go")).strip()
        router.close()
    assert served.refused == []
    assert answer == "Unit 500."
    assert len(served.asked) == 3, "two of the agent, one hidden"
    assert recorded_results(keepwhole.session("s", store=store)) == [("build", LOG)]


def test_images_in_results_are_kept_and_age() -> None:
    from keepwhole.integrations.strands import _VIEWER  # pyright: ignore[reportPrivateUsage]

    def step(number: int, data: bytes) -> list[Any]:
        image = {"image": {"format": "png", "source": {"bytes": data}}}
        result = {"toolUseId": f"c{number}", "status": "success", "content": [{"text": f"Clicked at {number}."}, image]}
        call = {"toolUse": {"toolUseId": f"c{number}", "name": "computer", "input": {"at": number}}}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [{"toolResult": result}]}]

    def images(message: Any) -> list[bytes]:
        parts = [part for block in message["content"] for part in block.get("toolResult", {}).get("content", ())]
        return [part["image"]["source"]["bytes"] for part in parts if "image" in part]

    check_images(_VIEWER, step, images)
