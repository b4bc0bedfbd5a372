"""Policies by name: Keepwhole's own, those of other systems, those of installed packages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole import Session, plugins
from keepwhole.apps.cli.main import main
from keepwhole.config import load
from keepwhole.errors import ConfigError, UsageError
from keepwhole.policies.auto import Auto
from keepwhole.policies.catalog import known_policies, policy_named
from keepwhole.policies.retention import Retention
from keepwhole.policies.rolling import Rolling
from keepwhole.policies.settings import BUILT_IN, AutoSettings, RetentionSettings, RollingContext
from keepwhole.truncation.configuration import TruncationConfiguration

PACKAGE = """
from keepwhole.policies.policy import Choice, replacement_cut

class Blank:
    name = "blank"

    def arrive(self, transcript, new, decided, situation=None):
        return [Choice(item.number, "blank", replacement_cut(item, "[left blank]"), 3) for item in new]

    def age(self, transcript, decided, situation):
        return []

class Broken:
    name = "broken"
"""
MESSAGES = [
    {"role": "user", "content": "look"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a line\n" * 50},
]


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package with policies: a module, and the folder with its metadata."""
    site = tmp_path / "site"
    described = site / "keepwhole_blank-1.0.dist-info"
    described.mkdir(parents=True)
    (site / "keepwhole_blank.py").write_text(PACKAGE)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: keepwhole-blank\nVersion: 1.0\n")
    points = "[keepwhole.policies]\nblank = keepwhole_blank:Blank\nbroken = keepwhole_blank:Broken\n"
    (described / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(site))
    plugins._offered.cache_clear()
    yield
    plugins._offered.cache_clear()


@pytest.mark.usefixtures("_installed")
def test_a_policy_of_another_package_named_in_the_settings_file_makes_the_views(tmp_path: Path) -> None:
    (tmp_path / "keepwhole.yaml").write_text("policy: blank")
    settings = load(str(tmp_path / "keepwhole.yaml"), environ={}, home=str(tmp_path / "home"))
    with Session("s", settings=settings) as session:
        assert session.view(MESSAGES)[-1]["content"] == "[left blank]"


@pytest.mark.usefixtures("_installed")
def test_config_check_knows_a_policy_of_another_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KEEPWHOLE_POLICY", raising=False)
    (tmp_path / "keepwhole.yaml").write_text("policy: blank")
    assert main(["config", "check", "--config", str(tmp_path / "keepwhole.yaml")]) == 0
    assert "✓" in capsys.readouterr().out


@pytest.mark.usefixtures("_installed")
def test_an_unknown_name_is_answered_with_all_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        policy_named("nope")
    assert all(name in str(refused.value) for name in known_policies())
    with pytest.raises(UsageError, match="Did you mean `blank`"):
        policy_named("blnk")


@pytest.mark.usefixtures("_installed")
def test_a_package_that_offers_something_other_than_a_policy_is_reported() -> None:
    with pytest.raises(UsageError, match="`broken` is not a policy: it has no `arrive`"):
        policy_named("broken")


def test_without_the_package_its_policy_is_refused_in_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "keepwhole.yaml").write_text("policy: blank")
    with pytest.raises(ConfigError, match="there is no such policy"):
        load(str(tmp_path / "keepwhole.yaml"), environ={})


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_policy_is_called_by_its_name(name: str) -> None:
    assert policy_named(name).name == name


def test_the_settings_reach_the_policies() -> None:
    cuts = TruncationConfiguration(line_cap=90)
    auto = policy_named("auto", auto=AutoSettings(start=7), truncation=cuts, strategies={})
    assert isinstance(auto, Auto)
    assert (auto.settings.start, auto._rule.configuration, auto._rule.strategies) == (7, cuts, {})
    rolling = policy_named("rolling", rolling=RollingContext(max_age=2), truncation=cuts, strategies={})
    assert isinstance(rolling, Rolling)
    assert (rolling.settings.max_age, rolling.configuration, rolling.strategies) == (2, cuts, {})
    retention = policy_named("retention", retention=RetentionSettings(line_chars=50))
    assert isinstance(retention, Retention)
    assert retention.settings.line_chars == 50
