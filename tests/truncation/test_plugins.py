"""A strategy of another package works by its name wherever a built-in one does."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import keepwhole
from keepwhole import MemoryStore, Session, config, plugins
from keepwhole.errors import ConfigError, UnknownStrategy
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.present import Artifact, choose, present
from keepwhole.truncation.strategy import (
    STRATEGIES,
    Strategy,
    StrategyOptions,
    is_strategy,
    strategy_for,
    strategy_named,
    strategy_names,
)
from tests.build import numbered_lines

MODULE = '''
from keepwhole.truncation.cut import Cut, Inserted, Segment
from keepwhole.truncation.strategy import Strategy


def middle(source, budget, options):
    """Keep the middle."""
    words = "[both ends are left out]\\n"
    room = max(0, budget - 2 * len(words))
    start = (source.chars - room) // 2
    kept = Segment("kept", start, start + room)
    ends = Segment("gap", 0, start), Segment("gap", start + room, source.chars)
    return Cut((ends[0], Inserted(words), kept, Inserted(words), ends[1]))


MIDDLE = Strategy("middle_text", middle, is_text=True, reads_all=False)
'''
ENTRY_POINTS = """[keepwhole.strategies]
middle = other_package:middle
middle_text = other_package:MIDDLE
gone = other_package:gone
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with strategies, installed as `pip` installs one."""
    (tmp_path / "other_package.py").write_text(MODULE, encoding="utf-8")
    facts = tmp_path / "other_package-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: other-package\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins._offered.cache_clear()  # type: ignore[reportPrivateUsage]
    yield
    plugins._offered.cache_clear()  # type: ignore[reportPrivateUsage]
    sys.modules.pop("other_package", None)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["middle", "middle_text"])
def test_a_strategy_of_another_package_cuts_where_a_settings_file_names_it(name: str, tmp_path: Path) -> None:
    file = tmp_path / "keepwhole.yaml"
    overrides = {"read_file": {"strategy": name, "inline_limit": 8_000}}
    file.write_text(json.dumps({"tools": {"truncation": {"overrides": overrides}}}), encoding="utf-8")
    settings = config.load(file)
    with Session("s", store=MemoryStore(), policy=settings.truncation) as session:
        text = numbered_lines(1_000)
        shown = session.keep("read_file", {}, text)
        assert shown.metadata.strategy_used == name
        assert "[both ends are left out]" in shown.content
        assert session.recall(str(shown.trace_id)) == text
        assert session.verify().whole


@pytest.mark.usefixtures("installed")
def test_its_traits_hold() -> None:
    own = strategy_named("middle_text")
    assert own.is_text
    assert not own.reads_all
    colored = "".join(f"\x1b[3{number % 8}mline {number:06}\x1b[0m\n" for number in range(2_000))
    limits = TruncationConfiguration(default_strategy="middle_text").for_tool("t")
    shown = present(TextSource(colored), Artifact("art_1_x", "t", len(colored)), limits, STRATEGIES)
    assert shown.metadata.strategy_used == "middle_text"
    assert "\x1b" not in shown.content


@pytest.mark.usefixtures("installed")
def test_its_name_is_one_of_those_there_are() -> None:
    assert strategy_names() == (*STRATEGIES, "gone", "middle", "middle_text")
    assert is_strategy("middle")
    with pytest.raises(UnknownStrategy, match=r"`head`.*`middle`.*`rows`"):
        strategy_named("centre")


@pytest.mark.usefixtures("installed")
def test_a_package_that_cannot_be_imported_is_named() -> None:
    with pytest.raises(keepwhole.errors.UsageError, match="other-package"):
        strategy_named("gone")


def test_without_the_package_the_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keepwhole.yaml"
    file.write_text('{"tools": {"truncation": {"default_strategy": "middle"}}}', encoding="utf-8")
    with pytest.raises(ConfigError, match="middle"):
        config.load(file)


def test_a_strategy_of_ones_own_may_be_chosen_by_the_kind_of_text() -> None:
    own = Strategy("short_log", STRATEGIES["tail"].function, is_text=True, kinds=("log",))
    limits = TruncationConfiguration().for_tool("t")
    log = TextSource("".join(f"2024-01-01 12:00:{at % 60:02} INFO event {at}\n" for at in range(1_000)))
    assert choose(log, limits) == "log"
    assert choose(log, limits, {**STRATEGIES, "short_log": own}) == "short_log"
    assert strategy_for("text") is None


def test_a_plain_function_promises_nothing() -> None:
    def function(source: object, budget: int, options: StrategyOptions) -> object:
        raise AssertionError

    own = strategy_named("own", {"own": function})  # type: ignore[dict-item]
    assert (own.is_text, own.keeps_json, own.reads_all, own.kinds) == (False, False, True, ())
