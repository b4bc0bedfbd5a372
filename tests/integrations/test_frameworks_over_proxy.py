"""LangChain and pydantic-ai with nothing changed but a base URL: their agents work through the proxy."""

import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest

# ruff: noqa: E402 the proxy's package may not be there
# Frameworks leave the sockets of their own clients to the collector.
pytestmark = [
    pytest.mark.adapters,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
pytest.importorskip("aiohttp", reason="needs the extra `proxy`")

from tests.apps.proxy.proxy_server import Served, proxy
from tests.integrations.own_loop import in_own_loop
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Json, Part, Text, Tool

LOG = "".join(f"{number:05} a line of output\n" for number in range(4_000))


class Model:
    """A model that reads a log, recalls a line that was left out, and answers with it."""

    def __call__(self, body: Json) -> list[Part]:
        told = json.dumps(body.get("messages") or body["input"])
        if "a line of output" not in told:
            return [Tool("read_log", {})]
        artifact = told.partition("[Artifact: ")[2].partition("]")[0]
        assert artifact, "the log is shown in full"
        if "2000-2000" not in told:
            return [Tool("get_artifact", {"id": artifact, "lines": "2000-2000"})]
        return [Text("It says 01999." if "01999 a line" in told else "It is not there.")]


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    yield
    gc.collect()  # here, so that sockets which frameworks leave open are not counted as the test's


@pytest.fixture
def served() -> Iterator[Upstream]:
    with upstream(Model()) as made:
        yield made


@pytest.fixture
def running(served: Upstream) -> Iterator[Served]:
    with proxy(served.url) as made:
        yield made


def _holds(served: Upstream, said: str) -> None:
    assert said.endswith("It says 01999.")
    assert not served.refused
    assert max(len(asked.data) for asked in served.asked) < len(LOG) / 3


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_an_agent_of_langchain(running: Served, served: Upstream, provider: str) -> None:
    agents: Any = pytest.importorskip("langchain.agents", reason="langchain is not installed")
    clients: Any = pytest.importorskip(f"langchain_{provider}", reason=f"langchain-{provider} is not installed")
    if provider == "openai":
        model = clients.ChatOpenAI(model="gpt-5", api_key="k", base_url=f"{running.url}/v1", max_retries=0)
    else:
        model = clients.ChatAnthropic(model="claude-sonnet-5", api_key="k", base_url=running.url, max_retries=0)

    def read_log() -> str:
        """Read the log."""
        return LOG

    agent = agents.create_agent(model, [read_log])
    last = agent.invoke({"messages": [{"role": "user", "content": "What does line 2,000 say?"}]})["messages"][-1]
    _holds(served, last.text if isinstance(last.text, str) else last.text())


@pytest.mark.parametrize("provider", ["openai-chat", "openai-responses", "anthropic"])
def test_an_agent_of_pydantic_ai(running: Served, served: Upstream, provider: str) -> None:
    pydantic_ai: Any = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    model = _pydantic_model(provider, running.url)
    agent = pydantic_ai.Agent(model)

    @agent.tool_plain
    def read_log() -> str:
        """Read the log."""
        return LOG

    _holds(served, in_own_loop(lambda: agent.run_sync("What does line 2,000 say?")).output)


def _pydantic_model(provider: str, url: str) -> Any:
    if provider == "anthropic":
        models: Any = pytest.importorskip("pydantic_ai.models.anthropic", reason="needs pydantic-ai with anthropic")
        providers: Any = pytest.importorskip("pydantic_ai.providers.anthropic")
        return models.AnthropicModel("claude-sonnet-5", provider=providers.AnthropicProvider(api_key="k", base_url=url))
    models = pytest.importorskip("pydantic_ai.models.openai", reason="needs pydantic-ai with openai")
    providers = pytest.importorskip("pydantic_ai.providers.openai")
    kind = models.OpenAIChatModel if provider == "openai-chat" else models.OpenAIResponsesModel
    return kind("gpt-5", provider=providers.OpenAIProvider(api_key="k", base_url=f"{url}/v1"))
