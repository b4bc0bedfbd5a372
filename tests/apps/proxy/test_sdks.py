"""The official SDKs with the proxy as their base URL: in one go, streamed, from threads and from an event loop."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.apps.proxy.proxy_server import Served, offered, proxy
from tests.imported_on_use import ImportedOnUse
from tests.upstream.answer import refusal
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Json, Part, Text, Tool

pytestmark = pytest.mark.usefixtures("recall_from_start")

# ruff: noqa: SIM117 a client, and what is raised while it is there
anthropic: Any = ImportedOnUse("anthropic")
openai: Any = ImportedOnUse("openai")
TOKEN = "token-" + "x" * 30
OURS = Tool("get_artifact", {"id": "art_1700000000_AAAAAAAAAAAAAAAAAAAAAA"})
SAID: Any = [{"role": "user", "content": "hello"}]


class Model:
    """Reads something back, calls the client's tool, and says what came of it."""

    def __call__(self, body: Json) -> list[Part]:
        told = json.dumps(body.get("messages") or body["input"])
        if "get_artifact" not in told:
            return [Text("Let me look."), OURS]
        if "made-by-work" not in told:
            return [Tool("work", {"n": 7})]
        return [Text("All done.")]


@pytest.fixture
def served() -> Iterator[Upstream]:
    with upstream(Model()) as made:
        yield made


@pytest.fixture
def running(served: Upstream) -> Iterator[Served]:
    with proxy(served.url, TOKEN) as made:
        yield made


def base(running: Served) -> str:
    return f"{running.url}/kw-{TOKEN}"


def options(dialect: Any, key: str = "messages") -> Json:
    more = {"max_tokens": 50} if dialect == "anthropic" else {}
    more |= {"store": False} if key == "input" else {}
    return {"model": "m", key: SAID, "tools": offered(dialect), **more}


def test_anthropic_in_one_go_and_streamed(running: Served) -> None:
    with anthropic.Anthropic(api_key="k", base_url=base(running), max_retries=0) as client:
        whole = client.messages.create(**options("anthropic"))
        with client.messages.stream(**options("anthropic")) as stream:
            streamed = stream.get_final_message()
    for message in (whole, streamed):
        assert [block.type for block in message.content] == ["text", "tool_use"]
        assert (message.content[1].name, message.stop_reason) == ("work", "tool_use")


def test_anthropic_from_an_event_loop(running: Served) -> None:
    async def ask() -> Any:
        async with anthropic.AsyncAnthropic(api_key="k", base_url=base(running), max_retries=0) as client:
            async with client.messages.stream(**options("anthropic")) as stream:
                first = await stream.get_final_message()
            return first, await client.messages.create(**options("anthropic"))

    for message in asyncio.run(ask()):
        assert [block.type for block in message.content] == ["text", "tool_use"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_the_tool_runner_of_anthropic_from_several_threads(running: Served, served: Upstream, stream: bool) -> None:
    @anthropic.beta_tool
    def work(n: int) -> str:
        """Do some work.

        Args:
            n: how much of it
        """
        return f"made-by-work {n}"

    def run(number: int) -> str:
        with anthropic.Anthropic(api_key=f"k{number}", base_url=base(running), max_retries=0) as client:
            more: Json = {"stream": True} if stream else {}
            runner = client.beta.messages.tool_runner(model="m", max_tokens=50, messages=SAID, tools=[work], **more)
            last = [streamed.get_final_message() for streamed in runner][-1] if stream else runner.until_done()
            return "".join(block.text for block in last.content if block.type == "text")

    with ThreadPoolExecutor(6) as crowd:
        assert all(said.endswith("All done.") for said in crowd.map(run, range(6)))
    assert not served.refused


def test_openai_in_one_go_and_streamed(running: Served, served: Upstream) -> None:
    with openai.OpenAI(api_key="k", base_url=f"{base(running)}/v1", max_retries=0) as client:
        chat = client.chat.completions.create(**options("openai_chat"))
        assert chat.choices[0].message.content == "Let me look."
        assert chat.choices[0].message.tool_calls[0].function.name == "work"
        with client.chat.completions.stream(**{**options("openai_chat")}) as stream:
            final = stream.get_final_completion()
        assert final.choices[0].message.tool_calls[0].function.name == "work"
        whole = client.responses.create(**options("openai_responses", "input"))
        events = list(client.responses.create(**options("openai_responses", "input"), stream=True))
        for response in (whole, events[-1].response):
            assert response.output_text == "Let me look."
            assert [item.name for item in response.output if item.type == "function_call"] == ["work"]
    assert not served.refused


def test_openai_from_an_event_loop(running: Served) -> None:
    async def ask() -> Any:
        async with openai.AsyncOpenAI(api_key="k", base_url=f"{base(running)}/v1", max_retries=0) as client:
            asked = [client.chat.completions.create(**options("openai_chat")) for _ in range(8)]
            return await asyncio.gather(*asked)

    assert {answer.choices[0].message.tool_calls[0].function.name for answer in asyncio.run(ask())} == {"work"}


@pytest.mark.parametrize(
    ("status", "name"), [(401, "AuthenticationError"), (429, "RateLimitError"), (400, "BadRequestError")]
)
def test_an_error_is_the_sdks_own(status: int, name: str) -> None:
    def model(body: Json) -> Any:
        return refusal("anthropic" if "max_tokens" in body else "openai_chat", status, "so it is")

    with upstream(model) as served, proxy(served.url) as running:
        with anthropic.Anthropic(api_key="k", base_url=running.url, max_retries=0) as client:
            with pytest.raises(getattr(anthropic, name), match="so it is"):
                client.messages.create(**options("anthropic"))
        with openai.OpenAI(api_key="k", base_url=f"{running.url}/v1", max_retries=0) as client:
            with pytest.raises(getattr(openai, name), match="so it is"):
                client.chat.completions.create(**options("openai_chat"))


def test_a_wrong_token_is_the_sdks_own_error(running: Served) -> None:
    with anthropic.Anthropic(api_key="k", base_url=f"{running.url}/kw-wrong", max_retries=0) as client:
        with pytest.raises(anthropic.AuthenticationError, match="token is missing or wrong"):
            client.messages.create(**options("anthropic"))


@pytest.mark.parametrize("later", [False, True], ids=["first round", "later round"])
def test_an_error_in_a_stream_is_the_sdks_own(later: bool) -> None:
    def model(body: Json) -> Any:
        told = json.dumps(body.get("messages") or body["input"])
        if later and "get_artifact" not in told:
            return [Text("Let me look."), OURS]
        return refusal("anthropic" if "max_tokens" in body else "openai_chat", 529, "so it is")

    with upstream(model) as served, proxy(served.url) as running:
        with anthropic.Anthropic(api_key="k", base_url=running.url, max_retries=0) as client:
            with pytest.raises(anthropic.APIStatusError, match="so it is"):
                with client.messages.stream(**options("anthropic")) as stream:
                    stream.get_final_message()
        with openai.OpenAI(api_key="k", base_url=f"{running.url}/v1", max_retries=0) as client:
            with pytest.raises(openai.APIError, match="so it is"):
                list(client.chat.completions.create(**options("openai_chat"), stream=True))
            with pytest.raises(openai.APIError, match="so it is"):
                list(client.responses.create(**options("openai_responses", "input"), stream=True))
