"""LiteLLM's proxy with Keepwhole in its configuration: requests are edited, recall is answered on the way back."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

import keepwhole
from keepwhole.store.protocol import body_of
from tests.integrations.litellm_proxy import LiteLLMProxy, litellm_proxy
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Json, Part, Text, Tool

pytest.importorskip("litellm", reason="litellm is not installed; `make adapters` installs it")
pytest.importorskip("fastapi", reason="needs `litellm[proxy]`")

from keepwhole.integrations.litellm import KeepwholeCallback

pytestmark = [pytest.mark.adapters, pytest.mark.timeout(240)]

LOG = "".join(f"{number:05} a line of output\n" for number in range(4_000))
SAYS = "It says 01999."


def model(body: Json) -> list[Part]:
    """A model that recalls a line that was left out, and answers with it."""
    told = json.dumps(body.get("messages") or body["input"])
    artifact = told.partition("[Artifact: ")[2].partition("]")[0]
    if not artifact:
        return [Text("It is shown in full.")]
    if "01999 a line" not in told:
        return [Tool("get_artifact", {"id": artifact, "lines": "2000-2000"})]
    return [Text(SAYS)]


@pytest.fixture(scope="module")
def provider() -> Iterator[Upstream]:
    with upstream(model) as made:
        yield made


@pytest.fixture(scope="module")
def running(provider: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiteLLMProxy]:
    with litellm_proxy(provider.url, tmp_path_factory.mktemp("litellm")) as made:
        yield made


@pytest.fixture
def asked(provider: Upstream) -> Any:
    """What the provider is asked from now on."""
    before = len(provider.asked)
    return lambda: [each for each in provider.asked[before:] if each.method == "POST"]


def chat(call_id: str, text: str = LOG, name: str = "team-gpt") -> tuple[str, Json]:
    call = {"id": call_id, "type": "function", "function": {"name": "read_log", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": f"What does line 2,000 say? ({call_id})"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": text},
    ]
    function = {"name": "read_log", "description": "Read the log.", "parameters": {"type": "object", "properties": {}}}
    tools = [{"type": "function", "function": function}]
    return "/v1/chat/completions", {"model": name, "messages": messages, "tools": tools}


def claude_over_chat(call_id: str, text: str = LOG) -> tuple[str, Json]:
    return chat(call_id, text, "team-claude")


def messages(call_id: str, text: str = LOG) -> tuple[str, Json]:
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    said = [
        {"role": "user", "content": f"What does line 2,000 say? ({call_id})"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": "read_log", "input": {}}]},
        {"role": "user", "content": [result]},
    ]
    tools = [{"name": "read_log", "description": "Read the log.", "input_schema": {"type": "object"}}]
    return "/v1/messages", {"model": "team-claude", "max_tokens": 500, "messages": said, "tools": tools}


def responses(call_id: str, text: str = LOG) -> tuple[str, Json]:
    items = [
        {"role": "user", "content": f"What does line 2,000 say? ({call_id})"},
        {"type": "function_call", "call_id": call_id, "name": "read_log", "arguments": "{}"},
        {"type": "function_call_output", "call_id": call_id, "output": text},
    ]
    schema = {"type": "object", "properties": {}}
    tools = [{"type": "function", "name": "read_log", "description": "Read the log.", "parameters": schema}]
    return "/v1/responses", {"model": "team-gpt", "store": False, "input": items, "tools": tools}


def words(answer: str) -> str:
    """The words of an answer, whole or streamed: the texts of its deltas, where there are any."""
    data = [line[6:] for line in answer.splitlines() if line.startswith("data: {")] or [answer]
    found: list[str] = []
    for each in map(json.loads, data):
        delta = (each.get("choices") or [{}])[0].get("delta", each.get("delta"))
        text = delta if isinstance(delta, str) else (delta or {}).get("content") or (delta or {}).get("text")
        found += [text] if text else []
    return "".join(found)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("spell", [chat, claude_over_chat, messages, responses])
def test_a_model_reads_back_what_was_left_out(
    running: LiteLLMProxy, provider: Upstream, asked: Any, spell: Any, stream: bool
) -> None:
    path, body = spell(f"call_{spell.__name__}_{stream}")
    answer = running.post(path, {**body, "stream": stream})
    if stream:
        assert words(answer) == SAYS
    assert SAYS in (words(answer) if stream else answer)
    assert "get_artifact" not in answer, "the client sees a call that is not its own"
    sent = asked()
    assert len(sent) == 2
    assert max(len(each.data) for each in sent) < len(LOG) / 3
    assert not provider.refused + provider.failed
    assert LOG in recorded(running)


def recorded(running: LiteLLMProxy) -> set[str]:
    """The texts of all results on record."""
    with keepwhole.session(store=running.home) as session:
        found: set[str] = set()
        for info in session.store.sessions():
            for row in session.store.rows(info.name, kind="result"):
                with session.store.open(body_of(row)) as reader:
                    found.add(reader.text())
        return found


def test_the_next_request_begins_with_what_was_sent(running: LiteLLMProxy, asked: Any) -> None:
    """A prompt cache is kept: the hidden round is put back where it was."""
    path, body = chat("call_goes_on")
    running.post(path, body)
    said = [{"role": "assistant", "content": SAYS}, {"role": "user", "content": "And now?"}]
    running.post(path, {**body, "messages": [*body["messages"], *said]})
    _, second, third = (each.body for each in asked())
    assert third["messages"][: len(second["messages"])] == second["messages"]
    assert third["tools"] == second["tools"]


def test_a_session_belongs_to_one_key(running: LiteLLMProxy) -> None:
    for key in ("sk-one", "sk-two"):
        path, body = chat("call_same")
        running.post(path, body, key, **{"x-keepwhole-session": "shared"})
    with keepwhole.session(store=running.home) as session:
        names = [info.name for info in session.store.sessions() if info.name.startswith("shared@")]
    assert len(names) == len(set(names)) == 2


def test_short_results_and_plain_questions_are_sent_as_they_came(running: LiteLLMProxy, asked: Any) -> None:
    path, body = chat("call_short", "a.txt\n")
    running.post(path, body)
    running.post(path, {"model": "team-gpt", "messages": [{"role": "user", "content": "Hello"}]})
    short, plain = (each.body for each in asked())
    assert short["messages"][-1]["content"] == "a.txt\n"
    assert "tools" not in plain


def test_a_call_that_is_no_conversation_is_left_alone() -> None:
    hook = KeepwholeCallback().async_pre_call_hook
    assert asyncio.run(hook(None, None, {"input": "words", "litellm_logging_obj": object()}, "aembedding")) is None


def test_a_record_that_cannot_be_opened_leaves_the_request_as_it_came() -> None:
    class Logging:
        pass

    data = {**chat("call_1")[1], "litellm_logging_obj": Logging()}
    hook = KeepwholeCallback(store="postgresql://127.0.0.1:1/none").async_pre_call_hook
    assert asyncio.run(hook(None, None, data, "acompletion")) is None
