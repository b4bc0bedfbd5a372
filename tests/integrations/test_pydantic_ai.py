"""pydantic-ai with its own function model: the history keeps results whole, the model sees what fits."""

import asyncio
from typing import Any

import pytest

import keepwhole
from keepwhole.config import Settings
from keepwhole.store.protocol import result_of
from keepwhole.testing import AdapterContract, AgentRun, MemoryStore, Script, printed_calls
from keepwhole.testing.script import Tools
from tests.canonical.pictures import png
from tests.integrations.own_loop import in_own_loop

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: `pip install '.[pydantic-ai]'`")

from pydantic_ai import Agent, ModelRetry, capture_run_messages
from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import UsageLimits

from keepwhole.integrations.pydantic_ai import Keepwhole, history_processor

ENDLESS = UsageLimits(request_limit=None)
pytestmark = pytest.mark.adapters
PICTURE = png(640, 480)
LOG = "".join(f"{n:05} compiled unit {n}\n" for n in range(1_000))


class Scripted:
    """A function model that plays turns and remembers what it received."""

    def __init__(self, *turns: Any) -> None:
        self.turns = iter(turns)
        self.requests: list[list[ModelMessage]] = []
        self.offered: list[str] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(messages)
        self.offered = [tool.name for tool in info.function_tools]
        turn = next(self.turns, "done")
        turn = turn(results(messages)[-1]) if callable(turn) else turn
        return ModelResponse([TextPart(turn)] if isinstance(turn, str) else turn)

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> Any:
        for at, part in enumerate(self(messages, info).parts):
            if isinstance(part, ToolCallPart):
                yield {at: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}
            elif isinstance(part, TextPart):
                yield part.content


def call(target: str, call_id: str = "c1", tool: str = "build") -> ToolCallPart:
    return ToolCallPart(tool, {"target": target}, tool_call_id=call_id)


def an_agent(session: keepwhole.Session, model: Scripted, **given: Any) -> Agent[None, str]:
    fake = FunctionModel(model, stream_function=model.stream)
    agent: Agent[None, str] = Agent(fake, **(given or {"capabilities": [Keepwhole(session)]}))

    @agent.tool_plain
    def build(target: str) -> Any:
        if target == "picture":
            return ToolReturn([LOG, BinaryContent(PICTURE, media_type="image/png")])
        if target == "labelled":
            return ["a label", BinaryContent(PICTURE, media_type="image/png")]
        if target == "shot":
            return BinaryContent(PICTURE, media_type="image/png")
        if target == "again":
            raise ModelRetry("say which")
        if target == "broken":
            raise ValueError("no such target")
        if target == "page":
            return LOG[:6_000]
        return {"log": LOG} if target == "json" else LOG + target

    @agent.tool_plain
    async def slow(target: str) -> str:
        await asyncio.sleep(60)
        return target

    return agent


def run_sync(agent: Agent[None, str], words: str, **given: Any) -> Any:
    return in_own_loop(lambda: agent.run_sync(words, **given))


def parts(messages: list[ModelMessage]) -> list[Any]:
    return [part for message in messages for part in message.parts]


def results(messages: list[ModelMessage]) -> list[str]:
    return [part.model_response_str() for part in parts(messages) if isinstance(part, ToolReturnPart)]


def test_the_model_sees_what_fits_reads_back_and_the_history_keeps_the_truth() -> None:
    s = keepwhole.session(store=MemoryStore())
    model = Scripted([call("all")], lambda cut: [ToolCallPart(*printed_calls(cut)[-1], tool_call_id="c2")])
    done = run_sync(an_agent(s, model), "go")
    cut, page = results(model.requests[-1])
    assert len(cut) < 9_000
    assert "compiled unit" in page
    assert results(done.all_messages()) == [LOG + "all", page]
    assert model.offered[-3:] == ["get_artifact", "get_task_trace", "search_artifacts"]
    assert s.verify().whole


def test_data_is_kept_as_the_text_that_the_model_would_get() -> None:
    s = keepwhole.session(store=MemoryStore())
    model = Scripted([call("json")])
    done = run_sync(an_agent(s, model), "go")
    (row,) = s.store.rows(s.id, kind="result")
    (whole,) = results(done.all_messages())
    assert s.recall(row.trace_id) == whole
    assert len(results(model.requests[-1])[0]) < len(whole)


def test_the_text_beside_an_image_is_cut_and_both_are_kept() -> None:
    s = keepwhole.session(store=MemoryStore())
    model = Scripted([call("picture")])
    done = run_sync(an_agent(s, model), "go")
    cut, image = parts(model.requests[-1])[2].content
    assert "get_artifact(" in cut
    assert image.data == PICTURE
    assert parts(done.all_messages())[2].content == [LOG, image]
    text, picture = s.store.rows(s.id, kind="result")
    assert (s.recall(text.trace_id), s.recall_bytes(picture.trace_id)) == (LOG, PICTURE)
    assert (result_of(picture).media_type, result_of(picture).width) == ("image/png", 640)


def test_an_image_is_read_back_as_an_image() -> None:
    s = keepwhole.session(store=MemoryStore())

    def ask(_: str) -> Any:
        (row,) = s.store.rows(s.id, kind="result")
        return [ToolCallPart("get_artifact", {"id": row.trace_id}, tool_call_id="c2")]

    model = Scripted([call("shot")], ask)
    run_sync(an_agent(s, model), "go")
    shot, back = [part for part in parts(model.requests[-1]) if isinstance(part, ToolReturnPart)]
    assert shot.content.data == PICTURE
    words, image = back.content
    assert "image/png" in words
    assert image.data == PICTURE


def test_old_images_become_lines_and_the_history_keeps_them() -> None:
    settings = Settings(home="unused", policy="newest_images", models={"default": {"window": 200_000}})
    s = keepwhole.Session("s", store=MemoryStore(), settings=settings)
    model = Scripted(*([call("shot" if n % 2 else "labelled", f"c{n}")] for n in range(40)))
    done = run_sync(an_agent(s, model), "go", usage_limits=ENDLESS)

    def images(messages: list[ModelMessage]) -> int:
        returned = [part for part in parts(messages) if isinstance(part, ToolReturnPart)]
        return sum(len(part.files) for part in returned)

    assert 0 < images(model.requests[-1]) < 40
    assert images(done.all_messages()) == 40
    first, second, *_ = [part for part in parts(model.requests[-1]) if isinstance(part, ToolReturnPart)]
    assert first.content == ["a label", "[image removed]"]
    assert second.content == "[image removed]"


@pytest.mark.parametrize(
    ("item", "looks"),
    [
        (ImageUrl("https://example.org/a.png"), "text/uri-list; kind=image"),
        (DocumentUrl("https://example.org/a.pdf"), "text/uri-list; kind=document"),
        (BinaryContent(b"%PDF-1.4 ...", media_type="application/pdf"), "application/pdf"),
        (BinaryContent(b"RIFF0000WAVE", media_type="audio/wav"), "audio/wav"),
    ],
    ids=["image by URL", "document by URL", "document", "sound"],
)
def test_other_files_are_recorded_with_their_type_and_sent_as_they_came(item: Any, looks: str) -> None:
    s = keepwhole.session(store=MemoryStore())
    model = Scripted([call("file")])
    agent = an_agent(s, model)

    @agent.tool_plain
    def file(target: str) -> Any:
        return item

    model.turns = iter([[call("any", tool="file")]])
    run_sync(agent, "go")
    assert parts(model.requests[-1])[2].content == item
    (row,) = s.store.rows(s.id, kind="result")
    assert result_of(row).media_type == looks


def test_messages_in_which_nothing_is_left_out_are_the_same_objects() -> None:
    s = keepwhole.session(store=MemoryStore())
    model = Scripted([call("all", "c1")], [call("all", "c2")])
    done = run_sync(an_agent(s, model), "go")
    for sent, kept in zip(model.requests[-1], done.all_messages(), strict=False):
        is_cut = any(isinstance(part, ToolReturnPart) for part in kept.parts)
        assert (sent == kept) is not is_cut


def test_parallel_calls_and_a_retry_are_distinguished() -> None:
    s = keepwhole.session(store=MemoryStore())
    model = Scripted([call("one", "c1"), call("again", "c2"), call("three", "c3")])
    done = run_sync(an_agent(s, model), "go")
    answered = [part for part in parts(done.all_messages()) if getattr(part, "tool_call_id", None) == "c2"]
    assert "say which" in str(answered[-1].content)
    assert [text for text in results(done.all_messages()) if text.startswith("00000")] == [LOG + "one", LOG + "three"]
    kept = {s.recall(row.trace_id) for row in s.store.rows(s.id, kind="result")}
    assert {LOG + "one", LOG + "three"} <= kept
    assert any("say which" in text for text in kept)


def test_an_exception_of_a_tool_goes_through_and_the_session_is_whole() -> None:
    s = keepwhole.session(store=MemoryStore())
    run_sync(an_agent(s, Scripted([call("all", "c0")])), "go")
    with pytest.raises(ValueError, match="no such target"):
        run_sync(an_agent(s, Scripted([call("all", "c1"), call("broken", "c2")])), "go")
    assert s.verify().whole
    assert run_sync(an_agent(s, Scripted()), "again").output == "done"


def test_a_streamed_run_shows_and_keeps_the_same() -> None:
    async def run() -> None:
        s = keepwhole.session(store=MemoryStore())
        model = Scripted([call("all")])
        async with an_agent(s, model).run_stream("go") as streamed:
            assert await streamed.get_output() == "done"
        assert "get_artifact(" in results(model.requests[-1])[0]
        assert results(streamed.all_messages()) == [LOG + "all"]

    asyncio.run(run())


def test_a_result_is_recorded_before_the_next_request_even_if_the_run_is_canceled() -> None:
    async def run() -> None:
        s = keepwhole.session(store=MemoryStore())
        agent = an_agent(s, Scripted([call("all", "c1")], [call("x", "c2", "slow")]))
        task = asyncio.create_task(agent.run("go"))
        while not list(s.store.rows(s.id, kind="result")):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (row,) = s.store.rows(s.id, kind="result")
        assert s.recall(row.trace_id) == LOG + "all"
        assert s.verify().whole

    asyncio.run(run())


def test_a_later_run_is_sent_the_same_again() -> None:
    s = keepwhole.session(store=MemoryStore())
    model = Scripted([call("all")])
    agent = an_agent(s, model)
    done = run_sync(agent, "go")
    run_sync(agent, "and now?", message_history=done.all_messages())
    before, after = results(model.requests[-2]), results(model.requests[-1])
    assert before == after
    assert "get_artifact(" in after[0]
    assert len(list(s.store.rows(s.id, kind="result"))) == 1


def test_a_result_that_comes_again_is_a_pointer_to_the_first() -> None:
    s = keepwhole.session(store=MemoryStore())
    model = Scripted([call("page", "c1")], [call("page", "c2")])
    run_sync(an_agent(s, model), "go")
    first, again = results(model.requests[-1])
    assert first == LOG[:6_000]
    assert again.startswith("[Artifact: ")


def test_a_call_that_was_never_answered_is_answered_in_words() -> None:
    s = keepwhole.session(store=MemoryStore())
    history: list[ModelMessage] = [
        ModelRequest([UserPromptPart("go")]),
        ModelResponse([call("lost", "c7")]),
        ModelRequest([UserPromptPart("well?")]),
    ]
    sent = asyncio.run(history_processor(s)(history))
    (put_in,) = (part for part in parts(sent) if isinstance(part, ToolReturnPart))
    assert (put_in.tool_name, put_in.tool_call_id) == ("build", "c7")
    assert "No result on record" in put_in.content


def test_a_history_processor_knows_its_own_views_again() -> None:
    s = keepwhole.session(store=MemoryStore())
    history: list[ModelMessage] = [
        ModelRequest([UserPromptPart("go")]),
        ModelResponse([call("all")]),
        ModelRequest([ToolReturnPart("build", LOG, tool_call_id="c1")]),
    ]
    once = asyncio.run(history_processor(s)(history))
    assert asyncio.run(history_processor(s)(once)) == once
    assert len(list(s.store.rows(s.id, kind="result"))) == 1


class Contracted:
    """Runs with pydantic-ai's function model, which asks the script for each turn."""

    def __init__(self) -> None:
        self.history: list[ModelMessage] = []

    def run(self, script: Script, tools: Tools, session: keepwhole.Session) -> AgentRun:
        def turn(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            said = script.reply(as_chat(messages), [tool.name for tool in info.function_tools])
            calls = [ToolCallPart(each.name, each.arguments, tool_call_id=each.call_id) for each in said.calls]
            return ModelResponse(calls or [TextPart(said.text)])

        agent: Agent[None, str] = Agent(FunctionModel(turn), tools=[*tools.values()], capabilities=[Keepwhole(session)])
        with capture_run_messages() as messages:
            try:
                done = asyncio.run(agent.run("go", message_history=self.history, usage_limits=ENDLESS))
            finally:
                self.history = ended(messages)
        return AgentRun(done.output, script.requests, as_chat(self.history))


def ended(messages: list[ModelMessage]) -> list[ModelMessage]:
    """A history that can be continued: without unanswered calls at its end."""
    last = messages[-1] if messages else None
    is_open = isinstance(last, ModelResponse) and any(isinstance(part, ToolCallPart) for part in last.parts)
    return list(messages[:-1] if is_open else messages)


def as_chat(messages: list[ModelMessage]) -> list[dict[str, Any]]:
    """Messages in OpenAI's format, converted without the code that is tested."""
    chat: list[dict[str, Any]] = []
    for message in messages:
        calls: list[dict[str, Any]] = []
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
                calls.append({"id": part.tool_call_id, "type": "function", "function": function})
            elif isinstance(part, ToolReturnPart):
                text = part.model_response_str()
                chat.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": text})
            else:
                role = "assistant" if isinstance(message, ModelResponse) else "user"
                chat.append({"role": role, "content": part.content})
        if calls:
            chat.append({"role": "assistant", "content": None, "tool_calls": calls})
    return chat


class TestContract(AdapterContract):
    def harness(self) -> Contracted:
        return Contracted()
