"""Azure OpenAI, Claude on Vertex AI and servers like OpenAI's behind the proxy, with the SDKs' own clients."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from keepwhole.exchange.request_log import RequestLog
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from tests.apps.proxy.proxy_server import Served, ask, offered, proxy, request
from tests.imported_on_use import ImportedOnUse
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Json, Part, Text, Tool

# ruff: noqa: SIM117 a client, and what is raised while it is there
pytestmark = pytest.mark.usefixtures("recall_from_start")
anthropic: Any = ImportedOnUse("anthropic")
openai: Any = ImportedOnUse("openai")
OURS = Tool("get_artifact", {"id": "art_1700000000_AAAAAAAAAAAAAAAAAAAAAA"})
SAID: Any = [{"role": "user", "content": "hello"}]
VERSION = "2025-04-01-preview"
NAMED = {"x-keepwhole-session": "s"}
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def model(body: Json) -> list[Part]:
    """Reads something back, then calls the client's tool."""
    told = json.dumps(body.get("messages") or body["input"])
    return [Tool("work", {"n": 7})] if "get_artifact" in told else [Text("Let me look."), OURS]


@pytest.fixture
def served() -> Iterator[Upstream]:
    with upstream(model) as made:
        yield made


@pytest.fixture
def kept() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def running(served: Upstream, kept: MemoryStore) -> Iterator[Served]:
    names = ("azure", "vertex", "openrouter", "groq", "ollama")
    with proxy(dict.fromkeys(names, served.url), store=kept) as made:
        yield made


def logged(kept: MemoryStore) -> list[Any]:
    sessions = [Session(info.name, store=kept) for info in kept.sessions()]
    return [step for session in sessions for step in RequestLog(session).all()]


@STREAMED
@pytest.mark.parametrize("prefix", ["", "/azure"], ids=["bare", "named"])
def test_a_deployment_of_azure_is_asked_as_it_was_and_priced_as_what_answers(
    running: Served, served: Upstream, kept: MemoryStore, prefix: str, stream: bool
) -> None:
    more: Json = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    options: Json = {"azure_endpoint": running.url + prefix, "api_version": VERSION, "api_key": "k", "max_retries": 0}
    with openai.AzureOpenAI(**options, default_headers=NAMED) as client:
        made = client.chat.completions.create(model="team-helper", messages=SAID, tools=offered("openai_chat"), **more)
        names = [
            call.function.name
            for choice in ([choice for chunk in made for choice in chunk.choices] if stream else made.choices)
            for call in (choice.delta if stream else choice.message).tool_calls or ()
            if call.function.name
        ]
    running.rest()
    assert names == ["work"]
    assert not served.refused
    wanted = f"/openai/deployments/team-helper/chat/completions?api-version={VERSION}"
    assert {asked.path for asked in served.asked} == {wanted}
    assert {asked.headers["api-key"] for asked in served.asked} == {"k"}
    assert {(step.request.model, step.model) for step in logged(kept)} == {("team-helper", "gpt-5")}


def test_the_v1_paths_of_azure_take_the_plain_client(running: Served, served: Upstream) -> None:
    base, key = f"{running.url}/azure/openai/v1", {"api-key": "k"}
    with openai.OpenAI(api_key="k", base_url=base, default_headers=key, max_retries=0) as client:
        chat = client.chat.completions.create(model="team-helper", messages=SAID, tools=offered("openai_chat"))
        response = client.responses.create(
            model="team-helper", input=SAID, tools=offered("openai_responses"), store=False
        )
    assert chat.choices[0].message.tool_calls[0].function.name == "work"
    assert [item.name for item in response.output if item.type == "function_call"] == ["work"]
    assert {asked.path for asked in served.asked} == {"/openai/v1/chat/completions", "/openai/v1/responses"}
    assert not served.refused


@STREAMED
def test_responses_of_azure_need_no_prefix_either(running: Served, served: Upstream, stream: bool) -> None:
    options: Json = {"azure_endpoint": running.url, "api_version": VERSION, "api_key": "k", "max_retries": 0}
    asked: Json = {"model": "team-helper", "input": SAID, "tools": offered("openai_responses"), "store": False}
    with openai.AzureOpenAI(**options, default_headers=NAMED) as client:
        if stream:
            with client.responses.stream(**asked) as events:
                response = events.get_final_response()
        else:
            response = client.responses.create(**asked)
    assert [item.name for item in response.output if item.type == "function_call"] == ["work"]
    assert {asked.path for asked in served.asked} == {f"/openai/responses?api-version={VERSION}"}


def test_nothing_of_azure_is_sent_to_another_while_the_settings_have_no_azure(served: Upstream) -> None:
    with proxy(served.url) as running:
        with openai.AzureOpenAI(azure_endpoint=running.url, api_version=VERSION, api_key="k", max_retries=0) as client:
            for ask in (
                lambda: client.chat.completions.create(model="team-helper", messages=SAID),
                lambda: client.responses.create(model="team-helper", input="hello"),
                lambda: client.embeddings.create(model="team-embeddings", input="hello"),
                client.models.list,
            ):
                with pytest.raises(openai.BadRequestError, match=r"proxy\.upstreams\.azure"):
                    ask()
    assert not served.asked


@STREAMED
def test_claude_on_vertex_reads_back_and_calls_the_clients_tool(
    running: Served, served: Upstream, kept: MemoryStore, stream: bool
) -> None:
    options: Json = {"region": "us-east5", "project_id": "p", "access_token": "t", "max_retries": 0}
    options["default_headers"] = NAMED
    asked: Json = {
        "model": "claude-opus-4-5@20251101",
        "max_tokens": 50,
        "messages": SAID,
        "tools": offered("anthropic"),
    }
    with anthropic.AnthropicVertex(base_url=f"{running.url}/v1", **options) as client:
        if stream:
            with client.messages.stream(**asked) as streamed:
                message = streamed.get_final_message()
        else:
            message = client.messages.create(**asked)
        counted = client.messages.count_tokens(model=asked["model"], messages=SAID)
    running.rest()
    assert [block.type for block in message.content] == ["text", "tool_use"]
    assert counted.input_tokens > 0
    assert not served.refused
    assert {step.request.model for step in logged(kept)} == {"claude-opus-4-5@20251101"}


@pytest.mark.parametrize("path", ["/openrouter/api/v1", "/groq/openai/v1", "/ollama/v1"])
def test_a_server_that_speaks_like_openai_is_recognized_by_its_path(
    running: Served, served: Upstream, path: str
) -> None:
    with openai.OpenAI(api_key="k", base_url=running.url + path, max_retries=0) as client:
        chat = client.chat.completions.create(model="qwen/qwen3", messages=SAID, tools=offered("openai_chat"))
    assert chat.choices[0].message.tool_calls[0].function.name == "work"
    assert {asked.path for asked in served.asked} == {f"/{path.split('/', 2)[2]}/chat/completions"}


def test_the_upstream_refuses_what_the_clouds_refuse(served: Upstream) -> None:
    deployment, chat = "/openai/deployments/d/chat/completions", request("openai_chat")
    claude = "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict"
    assert ask(served.port, deployment, chat, {"api-key": "k"}).status == 400
    assert ask(served.port, f"{deployment}?api-version=2024-10-21", chat).status == 400
    assert ask(served.port, claude, request("anthropic"), {"authorization": "Bearer t"}).status == 400
    assert len(served.refused) == 3


def test_a_deployment_is_known_by_its_first_answer_here_and_after_a_restart(running: Served, kept: MemoryStore) -> None:
    path = f"/azure/openai/deployments/team-helper/chat/completions?api-version={VERSION}"
    unknown = Session("unknown", store=kept).billing.profile("team-helper")
    assert ask(running.port, path, request("openai_chat"), {"api-key": "k", **NAMED}).status == 200
    running.rest()
    name = next(info.name for info in kept.sessions() if info.name.startswith("s@"))
    again = Session(name, store=kept)
    again.conversations.catch_up()
    again.billing.catch_up()
    assert (unknown.name, again.billing.profile("team-helper").name) == ("default", "gpt-5")
