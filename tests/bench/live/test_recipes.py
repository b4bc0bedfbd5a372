"""The recipes for other harnesses, as far as they go without a key: their client libraries, told by the variables that
the page names, reach the provider through the proxy, and what they are sent is on record there."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench.live.statistics import compare
from keepwhole.apps.cli.main import main
from tests.apps.proxy.agent_proxy import proxy
from tests.imported_on_use import ImportedOnUse
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Text

anthropic: Any = ImportedOnUse("anthropic")
openai: Any = ImportedOnUse("openai")
PAGE = Path(__file__).parents[3] / "docs" / "howto" / "live-recipes.md"
VARIABLE = re.compile(r"^(?:export )?(\w+_BASE_URL)=\"?(BASE\S*?)\"?$", re.M)


class Between(NamedTuple):
    """A proxy before a provider that says one word."""

    url: str
    provider: Upstream


@pytest.fixture(scope="module")
def between(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Between]:
    folder = tmp_path_factory.mktemp("recipes")
    with upstream(lambda body: [Text("done")]) as provider, proxy(folder, provider.url) as running:
        yield Between(running.url, provider)


def test_the_page_names_the_variables_that_are_tried_here() -> None:
    named = dict(VARIABLE.findall(PAGE.read_text(encoding="utf-8")))
    assert named == {"LOCA_OPENAI_BASE_URL": "BASE/v1", "OPENAI_BASE_URL": "BASE/v1"}
    assert "`ANTHROPIC_BASE_URL`" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("variable", ["LOCA_OPENAI_BASE_URL", "OPENAI_BASE_URL"])
def test_harnesses_that_ask_openai_come_through(
    between: Between, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = dict(VARIABLE.findall(PAGE.read_text(encoding="utf-8")))
    monkeypatch.setenv(variable, named[variable].replace("BASE", between.url))
    given = {} if variable == "OPENAI_BASE_URL" else {"base_url": os.environ[variable]}
    before = len(between.provider.asked)
    with openai.OpenAI(api_key="k", **given) as client:
        said = client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "go"}])
    assert said.choices[0].message.content == "done"
    assert [asked.path for asked in between.provider.asked[before:]] == ["/v1/chat/completions"]


def test_harnesses_that_run_claude_code_come_through(between: Between, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", between.url)
    before = len(between.provider.asked)
    with anthropic.Anthropic(api_key="k") as client:
        client.messages.create(model="claude-haiku-4-5", max_tokens=9, messages=[{"role": "user", "content": "go"}])
    assert [asked.path for asked in between.provider.asked[before:]] == ["/v1/messages"]


def test_the_options_of_the_page_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["proxy", "--help"])
    told = capsys.readouterr().out
    assert all(option in told for option in ("--mode", "--host", "--public", "--port"))
    for command in ("status", "report", "sessions"):
        assert f"keepwhole {command}" in PAGE.read_text(encoding="utf-8")


def test_rows_of_any_harness_can_be_compared() -> None:
    keys = ("task", "repeat", "arm", "outcome", "dollars")
    assert all(f"`{key}`" in PAGE.read_text(encoding="utf-8") for key in keys)
    rows = [
        dict(zip(keys, (f"t{number}", 0, arm, "solved", 1.0), strict=True))
        for number in range(12)
        for arm in ("a", "b")
    ]
    found = compare(rows, "a", "b")
    assert found is not None
    assert found.dollars.value == 0
