"""OpenAI's Agents SDK with a scripted model: results are recorded whole, shown as fits, read back by the model."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

import keepwhole
from keepwhole.canonical.media import MediaBytes
from keepwhole.config import Settings
from keepwhole.store.protocol import result_of
from keepwhole.testing import AdapterContract, AgentRun, MemoryStore, Script, printed_calls
from keepwhole.testing.script import Tools
from keepwhole.wire.media import data_url
from tests.canonical.pictures import png
from tests.integrations.own_loop import in_own_loop

pytest.importorskip("agents", reason="OpenAI Agents is not installed: `pip install '.[openai-agents]'`")

from agents import Agent, RunConfig, Runner, ToolOutputImage, ToolOutputText, function_tool, set_tracing_disabled
from agents.memory import Session as TheirSession
from agents.run import RunHooks
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from keepwhole.integrations.openai_agents import KeepwholeSession, _view_items, input_filter, recall_tools

pytestmark = pytest.mark.adapters
PICTURE = png(640, 480)
LOG = "".join(f"{n:05} compiled unit {n}\n" for n in range(1_000))


@pytest.fixture(autouse=True)
def _offline() -> None:
    set_tracing_disabled(True)


def run_sync(agent: Agent[None], words: str, **given: Any) -> Any:
    return in_own_loop(lambda: Runner.run_sync(agent, words, **given))


@function_tool(failure_error_function=lambda _, error: f"failed: {error}")
def build(target: str) -> str:
    """Build a target."""
    if target == "broken":
        raise ValueError("no such target")
    return LOG[:6_000] if target == "page" else LOG + target


@function_tool
async def slow(target: str) -> str:
    """Build forever."""
    await asyncio.sleep(60)
    return target


def an_agent(session: keepwhole.Session, *script: Any) -> tuple[Agent[None], ScriptedModel]:
    model = ScriptedModel([*script, [assistant_message("done")]])
    return Agent(name="a", model=model, tools=[build, slow, *recall_tools(session)]), model


def config(session: keepwhole.Session) -> RunConfig:
    return RunConfig(call_model_input_filter=input_filter(session))


def outputs(items: Any) -> list[str]:
    return [item["output"] for item in items if item.get("type") == "function_call_output"]


def call(target: str, call_id: str = "c1") -> Any:
    return function_call("build", {"target": target}, call_id=call_id)


def read_back(call_made: Any) -> Any:
    name, arguments = printed_calls(outputs(call_made.input)[-1])[-1]
    return [function_call(name, arguments, call_id="c2")]


def test_a_model_sees_what_fits_and_the_sdk_session_returns_everything() -> None:
    s = keepwhole.session(store=MemoryStore())
    agent, model = an_agent(s, [call("all")], ModelStep.respond(read_back))
    items = KeepwholeSession(s)

    done = run_sync(agent, "go", session=items, run_config=config(s))

    assert done.final_output == "done"
    cut, page = outputs(model.calls[-1].input)
    assert len(cut) < 9_000
    assert "get_artifact(" in cut
    assert "compiled unit" in page
    assert outputs(asyncio.run(items.get_items()))[0] == LOG + "all"
    assert s.verify().whole


def test_a_conversation_goes_on_in_another_process_and_is_sent_the_same_again(tmp_path: Path) -> None:
    with keepwhole.session("trip", store=tmp_path) as s:
        agent, first = an_agent(s, [call("all")])
        run_sync(agent, "go", session=KeepwholeSession(s), run_config=config(s))
    with keepwhole.session("trip", store=tmp_path) as s:
        agent, again = an_agent(s)
        run_sync(agent, "and now?", session=KeepwholeSession(s), run_config=config(s))
        items = asyncio.run(KeepwholeSession(s).get_items())
    sent = list(first.calls[-1].input)
    assert list(again.calls[-1].input)[: len(sent)] == sent
    assert [item.get("role", item.get("type")) for item in items] == [
        "user",
        "function_call",
        "function_call_output",
        "assistant",
        "user",
        "assistant",
    ]


def test_the_filter_alone_keeps_and_shows() -> None:
    s = keepwhole.session(store=MemoryStore())
    agent, model = an_agent(s, [call("all")])
    run_sync(agent, "go", run_config=config(s))
    (row,) = s.store.rows(s.id, kind="result")
    assert s.recall(row.trace_id) == LOG + "all"
    assert "get_artifact(" in outputs(model.calls[-1].input)[0]


@function_tool
def shot(page: str) -> Any:
    """Take a screenshot."""
    return [ToolOutputText(text=f"of {page}"), ToolOutputImage(image_url=data_url(MediaBytes("image/png", PICTURE)))]


def images(items: Any) -> list[tuple[str, bytes]]:
    """The images in results: the call and the bytes."""
    lists = [(item["call_id"], item["output"]) for item in items if isinstance(item.get("output"), list)]
    urls = [(call_id, part["image_url"]) for call_id, parts in lists for part in parts if part["type"] == "input_image"]
    return [(call_id, base64.b64decode(url.partition(",")[2])) for call_id, url in urls]


def test_an_image_of_a_tool_is_kept_and_read_back_as_an_image() -> None:
    s = keepwhole.session(store=MemoryStore())

    def ask(_: Any) -> Any:
        _, image = s.store.rows(s.id, kind="result")
        return [function_call("get_artifact", {"id": image.trace_id}, call_id="c2")]

    steps = [
        [function_call("shot", {"page": "one"}, call_id="c1")],
        ModelStep.respond(ask),
        [assistant_message("done")],
    ]
    model = ScriptedModel(steps)
    agent = Agent(name="a", model=model, tools=[shot, *recall_tools(s)])
    run_sync(agent, "go", run_config=config(s))
    assert images(model.calls[-1].input) == [("c1", PICTURE), ("c2", PICTURE)]
    text, image = list(s.store.rows(s.id, kind="result"))[:2]
    assert (s.recall(text.trace_id), s.recall_bytes(image.trace_id)) == ("of one", PICTURE)
    assert result_of(image).media_type == "image/png"


def test_images_of_results_without_their_calls_are_kept_and_sent_as_they_came() -> None:
    s = keepwhole.session(store=MemoryStore())
    part = {"type": "input_image", "image_url": data_url(MediaBytes("image/png", PICTURE))}
    items = [{"type": "function_call_output", "call_id": "c1", "output": [part, {"type": "input_text", "text": "hi"}]}]
    assert _view_items(s, items, None) == items
    image, text = s.store.rows(s.id, kind="result")
    assert (s.recall_bytes(image.trace_id), s.recall(text.trace_id)) == (PICTURE, "hi")
    assert s.artifacts() == []


def test_old_images_become_lines_and_the_items_keep_them() -> None:
    settings = Settings(home="unused", policy="newest_images", models={"default": {"window": 200_000}})
    s = keepwhole.Session("s", store=MemoryStore(), settings=settings)
    steps = [[function_call("shot", {"page": str(n)}, call_id=f"c{n}")] for n in range(40)]
    model = ScriptedModel([*steps, [assistant_message("done")]])
    items = KeepwholeSession(s)
    agent = Agent(name="a", model=model, tools=[shot])
    run_sync(agent, "go", session=items, run_config=config(s), max_turns=60)
    sent = images(model.calls[-1].input)
    assert 0 < len(sent) < 40
    assert len(images(asyncio.run(items.get_items()))) == 40


def test_a_result_that_comes_again_is_a_pointer_to_the_first() -> None:
    s = keepwhole.session(store=MemoryStore())
    agent, model = an_agent(s, [call("page", "c1")], [call("page", "c2")])
    run_sync(agent, "go", session=KeepwholeSession(s), run_config=config(s))
    first, again = outputs(model.calls[-1].input)
    assert first == LOG[:6_000]
    assert again.startswith("[Artifact: ")


def test_parallel_calls_and_failing_ones_are_distinguished() -> None:
    s = keepwhole.session(store=MemoryStore())
    agent, model = an_agent(s, [call("one", "c1"), call("broken", "c2"), call("three", "c3")])
    items = KeepwholeSession(s)
    run_sync(agent, "go", session=items, run_config=config(s))
    one, broken, three = outputs(asyncio.run(items.get_items()))
    assert (one, three) == (LOG + "one", LOG + "three")
    assert "no such target" in broken
    assert outputs(model.calls[-1].input)[1] == broken


def test_a_streamed_run_shows_and_keeps_the_same() -> None:
    async def run() -> None:
        s = keepwhole.session(store=MemoryStore())
        agent, model = an_agent(s, [call("all")])
        items = KeepwholeSession(s)
        streamed = Runner.run_streamed(agent, "go", session=items, run_config=config(s))
        kinds = [event.type async for event in streamed.stream_events()]
        assert "run_item_stream_event" in kinds
        assert "get_artifact(" in outputs(model.calls[-1].input)[0]
        assert outputs(await items.get_items()) == [LOG + "all"]

    asyncio.run(run())


def test_a_canceled_run_leaves_a_whole_record_that_the_next_run_continues() -> None:
    class Began(RunHooks[None]):
        def __init__(self) -> None:
            self.event = asyncio.Event()

        async def on_tool_start(self, *_: object) -> None:
            self.event.set()

    async def run() -> None:
        s = keepwhole.session(store=MemoryStore())
        agent, _ = an_agent(s, [call("all")], [function_call("slow", {"target": "x"}, call_id="c9")])
        items, began = KeepwholeSession(s), Began()
        task = asyncio.create_task(Runner.run(agent, "go", session=items, run_config=config(s), hooks=began))
        await began.event.wait()
        began.event.clear()
        await began.event.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert outputs(await items.get_items()) == [LOG + "all"]
        assert s.verify().whole
        agent, model = an_agent(s)
        done = await Runner.run(agent, "again", session=items, run_config=config(s))
        assert done.final_output == "done"
        assert "get_artifact(" in outputs(model.calls[-1].input)[0]

    asyncio.run(run())


def test_a_conversation_that_openai_stores_is_sent_without_repair() -> None:
    s = keepwhole.session(store=MemoryStore())
    agent, model = an_agent(s, {"output": [call("all")], "response_id": "resp_1"})
    run_sync(agent, "go", run_config=config(s), previous_response_id="resp_0")
    (only,) = model.calls[-1].input
    assert only["type"] == "function_call_output"
    assert "get_artifact(" in only["output"]


class Scripted:
    """Runs with the SDK's scripted model, which asks the script for each turn."""

    def __init__(self) -> None:
        self.items: KeepwholeSession | None = None

    def run(self, script: Script, tools: Tools, session: keepwhole.Session) -> AgentRun:
        def turn(asked: ModelCall) -> Any:
            said = script.reply(asked.input, [tool.name for tool in asked.tools])
            calls = [function_call(each.name, each.arguments, call_id=each.call_id) for each in said.calls]
            return calls or [assistant_message(said.text)]

        self.items = self.items or KeepwholeSession(session)
        own = [function_tool(each, failure_error_function=lambda _, error: str(error)) for each in tools.values()]
        model = ScriptedModel([ModelStep.respond(turn) for _ in range(200)])
        agent = Agent(name="a", model=model, tools=[*own, *recall_tools(session)])
        asked = Runner.run(agent, "go", session=self.items, run_config=config(session), max_turns=200)
        done = asyncio.run(asked)
        return AgentRun(done.final_output, script.requests, asyncio.run(self.items.get_items()))


class TestContract(AdapterContract):
    def harness(self) -> Scripted:
        return Scripted()


class TestTheirProtocol:
    def test_a_keepwhole_session_is_a_session_of_the_sdk(self) -> None:
        assert isinstance(KeepwholeSession(keepwhole.session("s", store=MemoryStore())), TheirSession)

    def test_the_newest_item_is_popped_and_stays_recorded(self) -> None:
        async def run() -> None:
            s = keepwhole.session("s", store=MemoryStore())
            items = KeepwholeSession(s)
            assert await items.pop_item() is None
            await items.add_items([{"role": "user", "content": str(n)} for n in range(3)])
            assert await items.pop_item() == {"role": "user", "content": "2"}
            assert [item["content"] for item in await items.get_items()] == ["0", "1"]
            assert [item["content"] for item in await items.get_items(1)] == ["1"]
            await items.clear_session()
            assert await items.get_items() == []
            assert len(list(s.store.rows("s.items", kind="result"))) == 3

        asyncio.run(run())

    def test_any_item_comes_back_as_it_was(self) -> None:
        async def run() -> None:
            shell = {
                "type": "shell_call_output",
                "call_id": "c",
                "output": [{"stdout": LOG, "stderr": "\ud83d broken", "outcome": {"type": "exit", "exit_code": 1}}],
            }
            parts = [{"type": "input_text", "text": LOG}, {"type": "input_image", "image_url": "data:,"}]
            listed = {"type": "function_call_output", "call_id": "d", "output": parts}
            odd = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x" * 5_000}
            items = KeepwholeSession(keepwhole.session(store=MemoryStore()))
            await items.add_items([shell, listed, odd])
            assert await items.get_items() == [shell, listed, odd]

        asyncio.run(run())

    def test_what_a_model_writes_as_arguments_never_raises(self) -> None:
        async def run() -> None:
            (first, *_) = recall_tools(keepwhole.session(store=MemoryStore()))
            for arguments in ("{", "[]", '{"id": 4}', ""):
                assert isinstance(await first.on_invoke_tool(None, arguments), str)  # type: ignore[arg-type]

        asyncio.run(run())
