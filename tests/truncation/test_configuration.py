"""Limits and their defaults, for all tools and for each."""

from typing import Any

import pytest

from keepwhole.errors import ConfigError
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.present import choose


def test_the_defaults_are_those_of_the_document() -> None:
    defaults = TruncationConfiguration()
    assert defaults.inline_limit == 8_000
    assert defaults.artifact_threshold == 50_000
    assert defaults.max_artifact_size == 10_485_760
    assert defaults.preview_limit == 2_000
    assert defaults.default_strategy == "head_tail"
    assert defaults.head_ratio == 0.6
    assert dict(defaults.overrides) == {}


@pytest.mark.parametrize("key", ["inline_limit", "artifact_threshold", "max_artifact_size", "preview_limit"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "8000", True, None, float("nan")])
def test_a_limit_is_a_positive_integer(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key):
        TruncationConfiguration(**{key: value})


def test_the_inline_limit_leaves_room_for_a_reference() -> None:
    assert TruncationConfiguration(inline_limit=256).inline_limit == 256
    with pytest.raises(ConfigError, match="at least 256"):
        TruncationConfiguration(inline_limit=255)


@pytest.mark.parametrize("value", [0, 0.0, 0.5, 1, 1.0])
def test_a_ratio_is_a_number_from_0_to_1(value: float) -> None:
    assert TruncationConfiguration(head_ratio=value).head_ratio == value


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "0.5", True, None])
def test_another_ratio_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="head_ratio"):
        TruncationConfiguration(head_ratio=value)


@pytest.mark.parametrize("value", [5, None, ["head"], {"name": "head"}])
def test_a_strategy_goes_by_a_name(value: Any) -> None:
    with pytest.raises(ConfigError, match="strategy"):
        TruncationConfiguration(default_strategy=value)


@pytest.mark.parametrize(
    "wrong", [{"inline_limit": 100}, {"artifact_threshold": 0}, {"preview_limit": -1}, {"head_ratio": 2}]
)
def test_an_override_is_checked_and_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"overrides\.run"):
        TruncationConfiguration(overrides={"run": ToolOverride(**wrong)})


def test_a_tool_without_an_override_has_the_settings_for_all() -> None:
    limits = TruncationConfiguration(inline_limit=500, head_ratio=0.3).for_tool("anything")
    assert (limits.inline_limit, limits.artifact_threshold, limits.preview_limit) == (500, 50_000, 2_000)
    assert (limits.strategy, limits.options.head_ratio) == ("head_tail", 0.3)


def test_an_override_changes_what_it_says_and_nothing_else() -> None:
    own = ToolOverride(strategy="head", inline_limit=300, head_ratio=0.0)
    configuration = TruncationConfiguration(overrides={"run": own}, preview_limit=999)
    limits = configuration.for_tool("run")
    assert (limits.strategy, limits.inline_limit, limits.options.head_ratio) == ("head", 300, 0.0)
    assert (limits.artifact_threshold, limits.preview_limit) == (50_000, 999)
    assert configuration.for_tool("walk").strategy == "head_tail"


def test_a_configuration_does_not_change() -> None:
    with pytest.raises(AttributeError):
        TruncationConfiguration().inline_limit = 5  # type: ignore[misc]


def test_a_limit_that_was_given_goes_before_that_of_the_tools_job_even_if_it_equals_the_default() -> None:
    assert TruncationConfiguration().for_tool("bash").inline_limit == 5_000
    assert TruncationConfiguration(inline_limit=8_000).for_tool("bash").inline_limit == 8_000
    assert TruncationConfiguration(inline_limit=8_000).replace(line_cap=90).for_tool("bash").inline_limit == 8_000
    assert TruncationConfiguration().replace(line_cap=90).for_tool("bash").inline_limit == 5_000


def test_a_strategy_that_was_given_for_all_is_the_users_choice_even_if_it_equals_the_default() -> None:
    assert not TruncationConfiguration().for_tool("anything").chosen_by_user
    assert TruncationConfiguration(default_strategy="head_tail").for_tool("anything").chosen_by_user
    assert not TruncationConfiguration(default_strategy="head").for_tool("bash").chosen_by_user


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("keep_keys", "id", "a list of names"),
        ("keep_keys", [1], "a list of names"),
        ("default_strategy", 7, "the name of a strategy"),
        ("head_ratio", 1.01, "a number from 0 to 1"),
        ("head_ratio", True, "a number from 0 to 1"),
        ("inline_limit", 255, "a whole number of at least 256"),
        ("inline_limit", 300.0, "a whole number of at least 256"),
        ("preview_limit", 0, "a whole number of at least 1"),
        ("artifact_threshold", True, "a whole number of at least 1"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_wanted(key: str, value: object, wanted: str) -> None:
    with pytest.raises(ConfigError, match=wanted):
        TruncationConfiguration(overrides={"t": ToolOverride(**{key.replace("default_", ""): value})})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("keep_keys", ["id"]),
        ("keep_keys", ()),
        ("head_ratio", 0),
        ("head_ratio", 1),
        ("inline_limit", 256),
        ("preview_limit", 1),
    ],
)
def test_the_least_and_the_most_that_is_allowed_is_accepted(key: str, value: object) -> None:
    TruncationConfiguration(overrides={"t": ToolOverride(**{key: value})})


@pytest.mark.parametrize(
    ("tool", "strategy", "most", "firm"),
    [
        ("read_file", "head_tail", 8_000, True),
        ("git_diff", "head_tail", 8_000, True),
        ("Bash", "tail", 5_000, False),
        ("list_directory", "element", 10_000, False),
        ("grep", "element", 8_000, False),
        ("fetch", "head_tail", 8_000, False),
    ],
)
def test_a_tool_is_cut_as_its_job_needs_it(tool: str, strategy: str, most: int, firm: bool) -> None:
    """What is read to be edited keeps both ends, whatever it looks like; of a shell the end says how it went."""
    log = "".join(f"2026-01-01 10:00:{n % 60:02} INFO request {n} took long\n" for n in range(900))
    limits = TruncationConfiguration().for_tool(tool)
    assert (limits.strategy, limits.inline_limit) == (strategy, most)
    assert choose(TextSource(log), limits) == ("head_tail" if firm else "log")
    assert choose(TextSource("words and more\n" * 900), limits) == strategy
    assert choose(TextSource("[" + "1, " * 9_000 + "2]"), limits) == "element"
    own = TruncationConfiguration(overrides={tool: ToolOverride(strategy="head", max_lines=7, inline_limit=300)})
    assert choose(TextSource(log), own.for_tool(tool)) == "head"
    assert own.for_tool(tool).options.max_lines == 7
    assert own.for_tool(tool).inline_limit == 300
    assert TruncationConfiguration(inline_limit=900).for_tool(tool).inline_limit == 900
