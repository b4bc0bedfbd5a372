"""CrewAI and LlamaIndex with nothing changed but a base URL: their agents work through the proxy."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

# ruff: noqa: E402 the proxy's package may not be there
# Frameworks leave the sockets of their own clients to the collector, and warn of what they themselves use.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("aiohttp", reason="needs the extra `proxy`")

from tests.apps.proxy.proxy_server import Served, proxy
from tests.integrations.test_frameworks_over_proxy import LOG, Model, collected
from tests.upstream.server import Upstream, upstream

__all__ = ["collected"]  # a fixture

QUESTION = "What does line 2,000 say?"


@pytest.fixture
def served() -> Iterator[Upstream]:
    with upstream(Model()) as made:
        yield made


@pytest.fixture
def running(served: Upstream) -> Iterator[Served]:
    with proxy(served.url) as made:
        yield made


def check(served: Upstream, said: str) -> None:
    assert said.endswith("It says 01999.")
    assert not served.refused
    assert max(len(asked.data) for asked in served.asked) < len(LOG) / 2


def test_an_agent_of_crewai(running: Served, served: Upstream, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("CREWAI_DISABLE_TELEMETRY", "OTEL_SDK_DISABLED", "CREWAI_TRACING_ENABLED"):
        monkeypatch.setitem(os.environ, name, "false" if name.endswith("ENABLED") else "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    crewai: Any = pytest.importorskip("crewai", reason="CrewAI is not installed; `make adapters` installs it")
    tools: Any = pytest.importorskip("crewai.tools")

    @tools.tool("read_log")
    def read_log() -> str:
        """Read the log."""
        return LOG

    llm = crewai.LLM(model="openai/gpt-5", api_key="k", base_url=f"{running.url}/v1")
    agent = crewai.Agent(role="reader", goal="read", backstory="reads logs", llm=llm, tools=[read_log])
    task = crewai.Task(description=QUESTION, expected_output="a line", agent=agent)
    check(served, str(crewai.Crew(agents=[agent], tasks=[task]).kickoff()))


def test_an_agent_of_llama_index(running: Served, served: Upstream) -> None:
    workflow: Any = pytest.importorskip(
        "llama_index.core.agent.workflow", reason="LlamaIndex is not installed; `make adapters` installs it"
    )
    llms: Any = pytest.importorskip("llama_index.llms.openai_like")

    def read_log() -> str:
        """Read the log."""
        return LOG

    llm = llms.OpenAILike(
        model="gpt-5", api_key="k", api_base=f"{running.url}/v1", is_chat_model=True, is_function_calling_model=True
    )
    agent = workflow.FunctionAgent(tools=[read_log], llm=llm)

    async def run() -> str:
        return str(await agent.run(QUESTION))

    check(served, asyncio.run(run()))
