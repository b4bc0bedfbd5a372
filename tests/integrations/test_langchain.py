"""The middleware for LangChain keeps the contract of adapters, sync and async, alone and beside LangChain's own."""

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

import pytest

from keepwhole.config import Settings
from keepwhole.session import Session
from keepwhole.store.protocol import result_of
from keepwhole.testing import AdapterContract, AgentRun, MemoryStore, Script, printed_calls
from keepwhole.testing.look import find_unpaired, recorded_results, results_in
from keepwhole.testing.script import Tools
from keepwhole.testing.stage import Stage
from tests.canonical.pictures import png

pytest.importorskip("langchain", reason="LangChain is not installed: `pip install '.[langchain]'`")

from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from keepwhole.integrations.langchain import KeepwholeMiddleware, recall_tools, view_messages

pytestmark = pytest.mark.adapters
CONFIG = {"configurable": {"thread_id": "t1"}, "recursion_limit": 1_000}


class ScriptedModel(GenericFakeChatModel):
    """LangChain's fake model, with its messages from a script that is shown every request."""

    script: Any
    offered: Sequence[str] = ()

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "ScriptedModel":
        return self.model_copy(update={"offered": [convert_to_openai_tool(t)["function"]["name"] for t in tools]})

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        turn = self.script.reply(convert_to_openai_messages(messages), self.offered)
        calls = [{"name": name, "args": given, "id": call_id} for call_id, name, given in turn.calls]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=turn.text, tool_calls=calls))])


def model_of(script: Script) -> ScriptedModel:
    return ScriptedModel(messages=iter(()), script=script)


class SyncHarness:
    """An agent with a checkpointer, so that its thread continues."""

    before: Sequence[Any] = ()
    after: Sequence[Any] = ()

    def __init__(self) -> None:
        self.saver = InMemorySaver()

    def run(self, script: Script, tools: Tools, session: Session) -> AgentRun:
        middleware = [*self.before, KeepwholeMiddleware(session), *self.after]
        given = [StructuredTool.from_function(tool) for tool in tools.values()]
        agent = create_agent(model_of(script), tools=given, middleware=middleware, checkpointer=self.saver)
        self.invoke(agent)
        messages = agent.get_state(CONFIG).values["messages"]
        return AgentRun(str(messages[-1].content), script.requests, convert_to_openai_messages(messages))

    def invoke(self, agent: Any) -> None:
        agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)


class AsyncHarness(SyncHarness):
    """The same on an event loop."""

    def invoke(self, agent: Any) -> None:
        asyncio.run(agent.ainvoke({"messages": [HumanMessage("go")]}, CONFIG))


class TestSync(AdapterContract):
    def harness(self) -> SyncHarness:
        return SyncHarness()


class TestAsync(AdapterContract):
    def harness(self) -> SyncHarness:
        return AsyncHarness()


PICTURE = png(640, 480)
IMAGE = {"type": "image", "base64": base64.b64encode(PICTURE).decode(), "mime_type": "image/png"}
ANTHROPIC_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE["base64"]}}


class Shots(GenericFakeChatModel):
    """A model that takes screenshots, then asks for the first again, then is done; it notes what it gets."""

    seen: Any = None
    count: int = 1
    session: Any = None
    provider: str = "anthropic"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "Shots":
        return self

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        self.seen.append(messages)
        done = sum(isinstance(message, ToolMessage) for message in messages)
        calls = [{"name": "shot", "args": {"page": f"p{done}"}, "id": f"c{done}"}] if done < self.count else []
        if done == self.count:
            first, *_ = [row for row in self.session.store.rows(self.session.id, kind="result") if is_image(row)]
            calls = [{"name": "get_artifact", "args": {"id": first.trace_id}, "id": "back"}]
        about = {"model_provider": self.provider}
        said = AIMessage(content="", tool_calls=calls, response_metadata=about)
        return ChatResult(generations=[ChatGeneration(message=said)])


def is_image(row: Any) -> bool:
    return result_of(row).media_type == "image/png"


def images_in(messages: Sequence[Any]) -> list[Any]:
    blocks = [block for message in messages if isinstance(message.content, list) for block in message.content]
    return [block for block in blocks if block["type"] == "image"]


def run_shots(session: Session, image: Any, is_async: bool, **given: Any) -> tuple[Any, Any]:
    def shot(page: str) -> Any:
        """Take a screenshot."""
        return [{"type": "text", "text": f"of {page}"}, image]

    model = Shots(messages=iter(()), seen=[], session=session, **given)
    agent = create_agent(model, tools=[StructuredTool.from_function(shot)], middleware=[KeepwholeMiddleware(session)])
    asked = {"messages": [HumanMessage("go")]}
    done = asyncio.run(agent.ainvoke(asked, CONFIG)) if is_async else agent.invoke(asked, CONFIG)
    return model.seen[-1], done["messages"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("image", [IMAGE, ANTHROPIC_IMAGE], ids=["LangChain's", "Anthropic's"])
def test_an_image_of_a_tool_is_kept_and_read_back_as_an_image(image: Any, is_async: bool) -> None:
    session = Session("s", store=MemoryStore())
    sent, state = run_shots(session, image, is_async)
    rows = list(session.store.rows(session.id, kind="result"))
    assert next(session.recall_bytes(row.trace_id) for row in rows if is_image(row)) == PICTURE
    assert next(session.recall(row.trace_id) for row in rows if not is_image(row)) == "of p0"
    assert images_in(sent) == [image, IMAGE], "as it came, and in LangChain's own spelling where it is read back"
    assert images_in(state) == [image, IMAGE]


def test_where_the_provider_takes_no_images_in_results_one_is_described() -> None:
    session = Session("s", store=MemoryStore())
    sent, _ = run_shots(session, IMAGE, is_async=False, provider="openai")
    assert "image/png" in sent[-1].content
    assert "artifacts show" in sent[-1].content


def test_old_images_become_lines_and_the_state_keeps_them() -> None:
    settings = Settings(home="unused", policy="newest_images", models={"default": {"window": 200_000}})
    session = Session("s", store=MemoryStore(), settings=settings)
    sent, state = run_shots(session, IMAGE, is_async=False, count=40)
    assert 0 < len(images_in(sent)) < 40
    assert len(images_in(state)) == 41


class EditsAfter(SyncHarness):
    after = (ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1_000, keep=1)]),)


class EditsBefore(SyncHarness):
    before = EditsAfter.after


@pytest.fixture(params=[EditsBefore, EditsAfter])
def editing(request: pytest.FixtureRequest) -> SyncHarness:
    return request.param()


def test_beside_context_editing_results_stay_on_record_and_placeholders_do_not_go_there(
    editing: SyncHarness,
) -> None:
    session, stage = AdapterContract().session(), Stage()
    ran = stage.run(editing, session, *(("read_file", {"path": f"f{n}"}) for n in range(8)))
    assert recorded_results(session) == stage.returned
    assert [text for _, text in results_in(ran.requests[-1])][:7] == ["[cleared]"] * 7
    assert [text for _, text in results_in(ran.history)] == [text for _, text in stage.returned]
    assert all(find_unpaired(request) == set() for request in ran.requests)


def test_beside_context_editing_what_was_cleared_can_be_read_back(editing: SyncHarness) -> None:
    session, stage = AdapterContract().session(), Stage()
    steps = [("read_file", {"path": f"f{n}"}) for n in range(4)]
    ran = stage.run(editing, session, *steps, ("search_artifacts", {"query": "f0"}))
    assert "f0" in results_in(ran.requests[-1])[-1][1]


class Summary(SyncHarness):
    """With LangChain's summaries, which remove old messages from the state."""

    def __init__(self) -> None:
        super().__init__()
        writes = GenericFakeChatModel(messages=iter(AIMessage(f"summary {n}") for n in range(100)))
        self.writer = SummarizationMiddleware(writes, trigger=("tokens", 8_000), keep=("messages", 5))


class SummaryBefore(Summary):
    def __init__(self) -> None:
        super().__init__()
        self.before = (self.writer,)


class SummaryAfter(Summary):
    def __init__(self) -> None:
        super().__init__()
        self.after = (self.writer,)


@pytest.mark.parametrize("made", [SummaryBefore, SummaryAfter])
def test_beside_summaries_the_record_keeps_what_the_state_lost(made: type[Summary]) -> None:
    session, stage = AdapterContract().session(), Stage()
    ran = stage.run(made(), session, *(("run_command", {"command": "long"}) for _ in range(6)))
    assert "summary" in str(ran.requests[-1][0]["content"])
    assert len(results_in(ran.history)) < 6
    assert recorded_results(session) == stage.returned
    assert all(find_unpaired(request) == set() for request in ran.requests)
    assert all(len(text) <= 8_000 for request in ran.requests for _, text in results_in(request))


def test_the_ids_stand_in_artifact_where_the_model_does_not_look() -> None:
    session, stage, harness = AdapterContract().session(), Stage(), SyncHarness()
    stage.run(harness, session, ("run_command", {"command": "long"}))
    messages = harness.saver.get_tuple(CONFIG).checkpoint["channel_values"]["messages"]
    (ids,) = [message.artifact["keepwhole"] for message in messages if isinstance(message, ToolMessage)]
    assert session.recall(ids["artifact_id"]) == session.recall(ids["trace_id"]) == stage.kinds["long"]
    assert ids["session"] == session.id
    assert "keepwhole" not in str(stage.script.requests)


def one_call(result: Any, session: Session) -> Any:
    """The output of the middleware for a tool's result."""
    call = {"name": "look", "args": {}, "id": "c1", "type": "tool_call"}
    request = type("Request", (), {"tool_call": call})()
    return KeepwholeMiddleware(session).wrap_tool_call(request, lambda _: result)


def test_an_artifact_of_the_tools_own_is_left_alone() -> None:
    given = ToolMessage("text", tool_call_id="c1", artifact={"rows": [1, 2]})
    kept = one_call(given, Session(store=MemoryStore()))
    assert kept.artifact == {"rows": [1, 2]}
    assert kept.response_metadata["keepwhole"]["trace_id"].startswith("trace_")


def test_results_inside_a_command_are_kept_too() -> None:
    session = Session(store=MemoryStore())
    update = {"seen": 3, "messages": [ToolMessage("found", tool_call_id="c1"), HumanMessage("and this")]}
    kept = one_call(Command(update=update, goto="next"), session)
    assert recorded_results(session) == [("look", "found")]
    assert (kept.goto, kept.update["seen"], kept.update["messages"][1]) == ("next", 3, update["messages"][1])
    assert kept.update["messages"][0].artifact["keepwhole"]["session"] == session.id


def test_texts_beside_images_are_kept_and_cut_and_the_image_stays() -> None:
    session, image = AdapterContract().session(), {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    long = "".join(f"line {n}\n" for n in range(3_000))
    given = ToolMessage([{"type": "text", "text": long}, image, "words"], tool_call_id="c1", name="look")
    assert one_call(given, session).content == given.content
    assert recorded_results(session) == [("look", "hi"), ("look", long), ("look", "words")]
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    sent = view_messages(session, [HumanMessage("go"), call, given])[2]
    assert sent.content[1:] == [image, "words"]
    assert len(sent.content[0]["text"]) <= 8_000
    assert given.content[0]["text"] == long
    assert len(recorded_results(session)) == 3


def test_an_error_of_a_tool_is_recorded_as_an_error() -> None:
    session = Session(store=MemoryStore())
    kept = one_call(ToolMessage("wrong", tool_call_id="c1", status="error"), session)
    assert session.shown(kept.artifact["keepwhole"]["trace_id"]).is_error


def test_messages_that_are_not_changed_are_the_same_objects() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": "é"}}
    messages = [
        SystemMessage("be good"),
        HumanMessage([{"type": "text", "text": "see"}, image], name="ann", id="m1"),
        AIMessage([thinking, use], tool_calls=[{"name": "look", "args": {"a": "é"}, "id": "c1"}]),
        ToolMessage("short", tool_call_id="c1", artifact=object()),
        AIMessage("done", additional_kwargs={"x": 1}),
    ]
    sent = view_messages(Session(store=MemoryStore()), messages)
    assert len(sent) == len(messages)
    assert all(new is old for new, old in zip(sent, messages, strict=True))


def test_a_result_that_is_cut_differs_in_its_content_only() -> None:
    session = AdapterContract().session()
    fields = {"tool_call_id": "c1", "id": "m3", "name": "look", "artifact": {"x": 1}, "additional_kwargs": {"y": 2}}
    given = ToolMessage("line\n" * 5_000, **fields)
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    sent = view_messages(session, [HumanMessage("go"), call, given])[2]
    assert sent.content != given.content
    assert sent.model_copy(update={"content": given.content}) == given


def test_a_call_that_was_never_answered_gets_words_and_the_others_their_place() -> None:
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    messages = [HumanMessage("go"), call, HumanMessage("and now?")]
    sent = view_messages(Session(store=MemoryStore()), messages)
    assert (sent[0], sent[1], sent[3]) == tuple(messages)
    assert isinstance(sent[2], ToolMessage)
    assert sent[2].tool_call_id == "c1"


def test_a_result_of_a_call_that_could_not_be_parsed_keeps_its_place() -> None:
    wrong = {"name": "look", "args": "{oops", "id": "c1", "error": "no JSON", "type": "invalid_tool_call"}
    messages = [HumanMessage("go"), AIMessage("", invalid_tool_calls=[wrong]), ToolMessage("no", tool_call_id="c1")]
    assert view_messages(Session(store=MemoryStore()), messages) == messages


def test_the_tools_are_told_to_the_model_as_the_session_tells_them() -> None:
    session = Session(store=MemoryStore())
    told = [convert_to_openai_tool(tool) for tool in recall_tools(lambda: session)]
    assert told == session.tools("openai_chat")


def test_the_tools_answer_in_a_graph_without_the_middleware_too() -> None:
    session = AdapterContract().session()
    shown = session.keep("look", {}, Stage().kinds["long"], call_id="c1")
    tools = {tool.name: tool for tool in recall_tools(lambda: session)}
    printed = printed_calls(shown.content)[-1]
    assert "needle" in tools[printed.name].invoke(printed.arguments)
    assert "needle" in asyncio.run(tools[printed.name].ainvoke(printed.arguments))


def test_no_tools_are_offered_where_the_session_has_none() -> None:
    assert KeepwholeMiddleware(Session(store=MemoryStore(), recall="off")).tools == []


def agent_with(middleware: KeepwholeMiddleware, script: Script, saver: InMemorySaver, stage: Stage) -> Any:
    tools = [StructuredTool.from_function(tool) for tool in stage.tools().values()]
    return create_agent(model_of(script), tools=tools, middleware=[middleware], checkpointer=saver)


def test_each_thread_has_a_session_of_its_name_and_finds_it_again() -> None:
    stage, saver = Stage(), InMemorySaver()
    long: Any = ("run_command", {"command": "long"})
    follow: Any = lambda text: printed_calls(text)[-1]  # noqa: E731
    for thread in ("ann", "bob/ü"):
        script = Script([long, "done"])
        agent = agent_with(KeepwholeMiddleware(), script, saver, stage)
        agent.invoke({"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": thread}})
    script = Script([follow, "done"])
    agent = agent_with(KeepwholeMiddleware(), script, saver, stage)
    agent.invoke({"messages": [HumanMessage("read on")]}, {"configurable": {"thread_id": "ann"}})
    assert "needle" in results_in(script.requests[-1])[-1][1]
    names = {info.name for info in Session().store.sessions()}
    assert "ann" in names
    assert len(names) == 2
    assert recorded_results(Session("ann")) == [("run_command", stage.kinds["long"])]


def test_a_function_chooses_the_session_of_a_thread() -> None:
    stage, asked, session = Stage(), [], Session(store=MemoryStore())

    def chosen(thread: str) -> Session:
        asked.append(thread)
        return session

    agent = agent_with(KeepwholeMiddleware(chosen), Script([("read_file", {"path": "a"})]), InMemorySaver(), stage)
    agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert set(asked) == {"t1"}
    assert recorded_results(session) == stage.returned


def test_a_fork_from_an_old_checkpoint_sends_what_was_sent_then() -> None:
    session, stage, harness = AdapterContract().session(), Stage(), SyncHarness()
    first = stage.run(harness, session, ("run_command", {"command": "long"}), ("run_command", {"command": "short"}))
    script = Script([("read_file", {"path": "b"}), "else"])
    agent = agent_with(KeepwholeMiddleware(session), script, harness.saver, stage)
    past = [s for s in agent.get_state_history(CONFIG) if s.next == ("model",) and len(s.values["messages"]) == 3]
    agent.invoke(None, past[0].config)
    assert script.requests[0] == first.requests[1]
    assert len(recorded_results(session)) == 3


def test_a_task_that_is_canceled_from_outside_can_be_continued() -> None:
    session, stage, saver = AdapterContract().session(), Stage(), InMemorySaver()
    script = Script([("run_command", {"command": "long"}), ("wait", {}), "never", "done"])

    async def cancelled() -> None:
        waits = asyncio.Event()

        async def wait() -> str:
            """Wait forever."""
            waits.set()
            await asyncio.sleep(3_600)
            return "never"

        tools = [
            StructuredTool.from_function(stage.tools()["run_command"]),
            StructuredTool.from_function(coroutine=wait),
        ]
        agent = create_agent(
            model_of(script), tools=tools, middleware=[KeepwholeMiddleware(session)], checkpointer=saver
        )
        task = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("go")]}, CONFIG))
        await waits.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await agent.ainvoke({"messages": [HumanMessage("go on")]}, CONFIG)

    asyncio.run(cancelled())
    assert recorded_results(session) == stage.returned
    assert [call_id for call_id, _ in results_in(script.requests[-1])] == ["call_1", "call_2"]
    assert find_unpaired(script.requests[-1]) == set()


def test_streams_give_whole_results_and_the_model_gets_views() -> None:
    session, stage = AdapterContract().session(), Stage()
    script = Script([("run_command", {"command": "long"}), "done"])
    agent = agent_with(KeepwholeMiddleware(session), script, InMemorySaver(), stage)
    updates = list(agent.stream({"messages": [HumanMessage("go")]}, CONFIG, stream_mode="updates"))
    (result,) = [update["tools"]["messages"][0] for update in updates if "tools" in update]
    assert result.content == stage.kinds["long"]
    assert len(results_in(script.requests[-1])[0][1]) <= 8_000
