"""Settings: constructor over environment over file over default; what is unknown is refused with a suggestion."""

from pathlib import Path

import pytest

from keepwhole import Session, TruncationConfiguration
from keepwhole.config import find_file, find_home, flattened, load
from keepwhole.errors import ConfigError

EXAMPLE = """
retrieval_limit: 16000
session_quota: 1000000
tools:
  truncation:
    inline_limit: 4000
    artifact_threshold: 20000
    max_artifact_size: 5000000
    preview_limit: 900
    default_strategy: head
    head_ratio: 0.5
    overrides:
      execute_command:
        strategy: head
        inline_limit: 5000
      list_directory:
        strategy: head_tail
        inline_limit: 10000
"""


def written(folder: Path, text: str = EXAMPLE, name: str = "keepwhole.yaml") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


# Where things are found


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(environ={}, folder=str(tmp_path))
    assert (settings.retrieval_limit, settings.inline_body, settings.session_quota) == (32_000, 32_768, 5_368_709_120)
    assert settings.truncation == TruncationConfiguration()
    assert dict(settings.sources) == {}


def test_the_home_is_the_one_named_else_the_nearest_else_that_of_the_person(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_home({}, str(inner)) == str(tmp_path / ".keepwhole")
    (tmp_path / "a" / ".keepwhole").mkdir()
    assert find_home({}, str(inner)) == str(tmp_path / "a" / ".keepwhole")
    assert find_home({"KEEPWHOLE_HOME": "/elsewhere"}, str(inner)) == "/elsewhere"
    assert find_home({"KEEPWHOLE_HOME": "~/mine"}, str(inner)) == str(tmp_path / "mine")
    assert find_home({"KEEPWHOLE_HOME": ""}, str(inner)) == str(tmp_path / "a" / ".keepwhole")


def test_a_file_called_like_the_folder_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".keepwhole").write_text("a file")
    assert find_home({}, str(tmp_path / "a")) == str(tmp_path / ".keepwhole")


def test_the_settings_file_is_the_one_named_else_the_nearest_else_that_of_the_person(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_file(None, {}, str(inner)) is None
    own = written(tmp_path / ".keepwhole")
    assert find_file(None, {}, str(inner)) == own
    nearest = written(tmp_path / "a")
    assert find_file(None, {}, str(inner)) == nearest
    named = written(tmp_path, name="other.yaml")
    assert find_file(None, {"KEEPWHOLE_CONFIG": named}, str(inner)) == named
    given = written(tmp_path, name="given.yaml")
    assert find_file(given, {"KEEPWHOLE_CONFIG": named}, str(inner)) == given


@pytest.mark.parametrize("by", ["argument", "environment"])
def test_a_file_that_was_named_and_is_not_there_is_an_error(tmp_path: Path, by: str) -> None:
    missing = str(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match=r"none\.yaml"):
        load(missing if by == "argument" else None, environ={"KEEPWHOLE_CONFIG": missing}, folder=str(tmp_path))


# What goes before what


def test_the_documented_file_is_read_whole(tmp_path: Path) -> None:
    settings = load(written(tmp_path), environ={})
    assert (settings.retrieval_limit, settings.session_quota, settings.inline_body) == (16_000, 1_000_000, 32_768)
    truncation = settings.truncation
    assert (truncation.inline_limit, truncation.artifact_threshold) == (4_000, 20_000)
    assert (truncation.max_artifact_size, truncation.preview_limit) == (5_000_000, 900)
    assert (truncation.default_strategy, truncation.head_ratio) == ("head", 0.5)
    assert truncation.for_tool("execute_command").inline_limit == 5_000
    assert truncation.for_tool("list_directory").strategy == "head_tail"


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    environ = {
        "KEEPWHOLE_INLINE_LIMIT": "3_000",
        "KEEPWHOLE_HEAD_RATIO": "0.25",
        "KEEPWHOLE_DEFAULT_STRATEGY": "head_tail",
        "KEEPWHOLE_RETRIEVAL_LIMIT": "9000",
    }
    settings = load(written(tmp_path), environ=environ)
    assert settings.retrieval_limit == 9_000
    assert settings.truncation.inline_limit == 3_000
    assert settings.truncation.head_ratio == 0.25
    assert settings.truncation.default_strategy == "head_tail"
    assert settings.truncation.artifact_threshold == 20_000


def test_the_constructor_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWHOLE_INLINE_LIMIT", "3000")
    assert Session().configuration.inline_limit == 3_000
    assert Session(policy=TruncationConfiguration(inline_limit=500)).configuration.inline_limit == 500


def test_a_home_given_to_the_constructor_goes_before_the_environment(tmp_path: Path) -> None:
    assert Session(store=str(tmp_path / "mine")).settings.home == str(tmp_path / "mine")


def test_every_setting_says_where_it_came_from(tmp_path: Path) -> None:
    file = written(tmp_path)
    rows = {
        name: (value, source) for name, value, source in flattened(load(file, environ={"KEEPWHOLE_HEAD_RATIO": "1"}))
    }
    assert rows["retrieval_limit"] == (16_000, file)
    assert rows["inline_body"] == (32_768, "default")
    assert rows["tools.truncation.inline_limit"] == (4_000, file)
    assert rows["tools.truncation.head_ratio"] == (1.0, "KEEPWHOLE_HEAD_RATIO")
    assert rows["tools.truncation.overrides.execute_command.inline_limit"][0] == 5_000
    assert "tools.truncation.overrides.execute_command.preview_limit" not in rows


# What is refused


@pytest.mark.parametrize(
    ("text", "named", "suggested"),
    [
        ("retreival_limit: 5", "retreival_limit", "retrieval_limit"),
        ("tool: {}", "tool", "tools"),
        ("tools: {truncatoin: {}}", "tools.truncatoin", "truncation"),
        ("tools: {truncation: {inline_limits: 500}}", "tools.truncation.inline_limits", "inline_limit"),
        (
            "tools: {truncation: {overrides: {run: {stategy: head}}}}",
            "tools.truncation.overrides.run.stategy",
            "strategy",
        ),
        ("tools: {truncation: {default_strategy: head-tail}}", "head-tail", "head_tail"),
        ("tools: {truncation: {overrides: {run: {strategy: heads}}}}", "heads", "head"),
    ],
)
def test_an_unknown_key_is_refused_by_its_full_name_with_a_suggestion(
    tmp_path: Path, text: str, named: str, suggested: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        load(written(tmp_path, text), environ={})
    assert f"`{named}`" in str(refused.value)
    assert f"Did you mean `{suggested}`?" in str(refused.value)


def test_a_key_like_no_other_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Known: `retrieval_limit`, .*`tools`\."):
        load(written(tmp_path, "zzz: 1"), environ={})


@pytest.mark.parametrize(
    "text",
    [
        "retrieval_limit: 0",
        "retrieval_limit: many",
        "retrieval_limit: true",
        "retrieval_limit:",
        "inline_body: -1",
        "session_quota: 1.5",
        "tools: {truncation: {inline_limit: 255}}",
        "tools: {truncation: {inline_limit: }}",
        "tools: {truncation: {inline_limit: 8000.5}}",
        "tools: {truncation: {head_ratio: 2}}",
        "tools: {truncation: {head_ratio: }}",
        "tools: {truncation: {default_strategy: }}",
        "tools: {truncation: {default_strategy: [head]}}",
        "tools: {truncation: {default_strategy: 5}}",
        "tools: {truncation: {overrides: {run: {strategy: {name: head}}}}}",
        "tools: {truncation: {overrides: {run: {inline_limit: 100}}}}",
        "tools: {truncation: {overrides: {run: 5}}}",
        "tools: {truncation: {overrides: [run]}}",
        "tools: {truncation: 5}",
        "tools: [truncation]",
        "- a\n- list",
        "just text",
        "a: [unclosed",
        "a: !!python/object/apply:os.system ['true']",
    ],
)
def test_a_wrong_value_is_refused_with_an_error_of_ours(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError):
        load(written(tmp_path, text), environ={})


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keepwhole.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="config check"):
        load(str(tmp_path / "keepwhole.yaml"), environ={})


@pytest.mark.parametrize("text", ["", "# nothing but a comment", "tools:", "tools: {truncation: }", "{}"])
def test_an_empty_file_changes_nothing(tmp_path: Path, text: str) -> None:
    assert load(written(tmp_path, text), environ={}).truncation == TruncationConfiguration()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KEEPWHOLE_INLINE_LIMIT", "many"),
        ("KEEPWHOLE_INLINE_LIMIT", ""),
        ("KEEPWHOLE_INLINE_LIMIT", "100"),
        ("KEEPWHOLE_HEAD_RATIO", "half"),
        ("KEEPWHOLE_HEAD_RATIO", "nan"),
        ("KEEPWHOLE_RETRIEVAL_LIMIT", "-1"),
        ("KEEPWHOLE_DEFAULT_STRATEGY", "sideways"),
    ],
)
def test_a_wrong_variable_is_refused(tmp_path: Path, variable: str, value: str) -> None:
    with pytest.raises(ConfigError):
        load(environ={variable: value}, folder=str(tmp_path))
