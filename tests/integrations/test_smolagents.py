"""smolagents, which sends results as words: unchanged through the proxy, and with its tools' results kept."""

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

# ruff: noqa: E402 the packages may not be there
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("aiohttp", reason="needs the extra `proxy`")
smolagents: Any = pytest.importorskip("smolagents", reason="smolagents is not installed; `make adapters` installs it")

from tests.apps.proxy.proxy_server import proxy
from tests.integrations.test_frameworks_over_proxy import LOG, collected
from tests.test_docs import ROOT, blocks
from tests.upstream.server import upstream
from tests.upstream.spelling import Json, Part, Tool

__all__ = ["collected"]  # a fixture
PAGE = ROOT / "docs/howto/smolagents.md"
QUESTION = "What does line 2,000 say?"


def a_model(body: Json) -> list[Part]:
    """Reads the log, recalls what was left out of it, and answers."""
    told = json.dumps(body["messages"])
    if "a line of output" not in told:
        return [Tool("read_log", {})]
    if "01999 a line" not in told:
        artifact = told.partition("[Artifact: ")[2].partition("]")[0]
        return [Tool("get_artifact", {"id": artifact, "lines": "2000-2000"})]
    return [Tool("final_answer", {"answer": "It says 01999."})]


@pytest.fixture
def read_log() -> Any:
    """The tool."""

    @smolagents.tool
    def read_log() -> str:
        """Read the log."""
        return LOG

    return read_log


def an_agent(url: str, *tools: Any) -> Any:
    model = smolagents.OpenAIServerModel("gpt-5", api_base=f"{url}/v1", api_key="k")
    return smolagents.ToolCallingAgent(list(tools), model, verbosity_level=0)


def test_requests_go_through_the_proxy_unchanged(read_log: Any) -> None:
    with upstream(a_model) as direct, upstream(a_model) as behind, proxy(behind.url) as running:
        answers = [an_agent(url, read_log).run(QUESTION) for url in (direct.url, running.url)]
    assert answers == ["It says 01999."] * 2
    assert not behind.refused
    sent, through = ([_without_ids(asked.body["messages"]) for asked in each.asked] for each in (direct, behind))
    assert through == sent


def test_the_tools_of_the_page_keep_and_recall(read_log: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path))
    page = _as_module(tmp_path / "page.py")
    with upstream(a_model) as served:
        agent = an_agent(served.url, page.kept(read_log), page.get_artifact)
        assert agent.run(QUESTION) == "It says 01999."
        assert max(len(asked.data) for asked in served.asked) < len(LOG) / 3
    page.s.close()


def _as_module(file: Path) -> Any:
    """The page's program, in a file: smolagents reads the source of tools."""
    file.write_text("\n".join(blocks(PAGE, "python")), encoding="utf-8")
    spec = spec_from_file_location("page", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _without_ids(messages: list[Json]) -> str:
    """Messages without the ids that differ from run to run."""
    return re.sub(r"(?:call|toolu)_\w+|[0-9a-f-]{32,36}", "ID", json.dumps(messages))
