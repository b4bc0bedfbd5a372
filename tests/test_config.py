"""Settings: constructor over environment over file over default; what is unknown is refused with a suggestion."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keepwhole import Session, preferences, trust
from keepwhole.config import RECORD, all_settings, find_file, find_home, flattened, load, unknown_variables
from keepwhole.errors import ConfigError, UsageError
from keepwhole.policies.settings import LEAN
from keepwhole.preferences import Preferences
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.version import VERSION

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
    assert (settings.policy, settings.mode, settings.preset) == ("auto", "on", "careful")
    assert (settings.thresholds.warn, settings.thresholds.compact, settings.thresholds.hard) == (0.75, 0.9, 0.95)
    assert settings.auto.near_repeats is False
    assert dict(settings.sources) == {}


def test_the_home_is_the_one_named_else_the_nearest_else_that_of_the_person(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_home({}, str(inner)) == str(tmp_path / ".keepwhole")
    (tmp_path / "a" / ".keepwhole").mkdir()
    assert find_home({}, str(inner)) == str(tmp_path / ".keepwhole")
    trust.approve(str(tmp_path / "a" / ".keepwhole"), RECORD)
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


def test_a_policy_in_the_environment_goes_before_rolling_context_switched_on(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    preferences.save(Preferences(rolling_context_enabled=True), preferences.path_of(environ))
    assert load(environ=environ, folder=str(tmp_path)).policy == "rolling"
    assert load(environ={**environ, "KEEPWHOLE_POLICY": "truncation"}, folder=str(tmp_path)).policy == "truncation"


def test_the_constructor_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWHOLE_INLINE_LIMIT", "3000")
    assert Session().settings.truncation.inline_limit == 3_000
    assert Session(policy=TruncationConfiguration(inline_limit=500)).settings.truncation.inline_limit == 500


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


@pytest.mark.parametrize("name", ["old_after", "new_task", "along", "patience", "arrival_cap", "structured_cap"])
def test_a_setting_that_there_was_is_refused_with_the_one_that_took_its_place(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=rf"`auto\.{name}` was removed.*`auto\.worth`"):
        load(written(tmp_path, f"auto: {{{name}: 2}}"), environ={})


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
        ("policy: trunkation", "trunkation", "truncation"),
        ("auto: {strat: 5}", "auto.strat", "start"),
        ("auto: {keep: {reads: 5}}", "auto.keep.reads", "read"),
        ("auto: {arrival_least: {searches: 5}}", "auto.arrival_least.searches", "search"),
        ("rolling: {max_ages: 5}", "rolling.max_ages", "max_age"),
        ("retention: {line_char: 5}", "retention.line_char", "line_chars"),
        ("thresholds: {warning: 0.5}", "thresholds.warning", "warn"),
        ("models: {claude: {windw: 5}}", "models.claude.windw", "window"),
        ("proxy: {max_bodies: 5}", "proxy.max_bodies", "max_body"),
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
    with pytest.raises(ConfigError, match=r"`zzz` in Keepwhole .*\. Known: `store`, .*`tools`, .*\."):
        load(written(tmp_path, "zzz: 1"), environ={})


def repeated_by_aliases(value: str, form: str) -> str:
    """A few lines that stand for three thousand million times a value."""
    lines = [f"&a0 {value}"]
    for number in range(10):
        lines.append(f"&a{number + 1} {form.format(', '.join([f'*a{number}'] * 9))}")
    return f"[{', '.join(lines)}]"


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
        "mode: sideways",
        "mode: 5",
        "preset: rich",
        "policy: nope",
        "policy: [auto]",
        "auto: 5",
        "auto: {start: 0}",
        "auto: {start: 1.5}",
        "auto: {horizon: 0}",
        "auto: {worth: -1}",
        "auto: {worth: much}",
        "auto: {keep: 5}",
        "auto: {keep: {shell: 0}}",
        "auto: {keep: {shell: some}}",
        "rolling: {max_age: -1}",
        "rolling: {max_age: old}",
        "rolling: {placeholder: 5}",
        "retention: {line_chars: 0}",
        "thresholds: {warn: 75}",
        "thresholds: {warn: 0.95}",
        "thresholds: {warn: high}",
        "models: 5",
        "models: {claude: 5}",
        "models: {claude: {window: big}}",
        "models: {claude: {name: mine}}",
        "proxy: {holdout: 2}",
        "proxy: {hosts: one.example}",
        "proxy: {upstreams: {openai: 5}}",
        "proxy: {upstreams: {openai: not-an-address}}",
        "tools: [truncation]",
        "- a\n- list",
        "just text",
        "a: [unclosed",
        "a: !!python/object/apply:os.system ['true']",
        "mode: 2024-13-45",
        "mode: !!int abc",
        "mode: !!timestamp abc",
        f"session_quota: {'9' * 5_000}",
        f"session_quota: 1{':59' * 40_000}",
        f"mode: {'[' * 2_000}",
        f"mode: {'[' * 2_000}{']' * 2_000}",
        "mode: &a [*a]",
        "mode: &a {on: *a}",
        f"mode: {'x' * 100_000}",
        f"{'x' * 100_000}: 1",
        f"mode: [{'0, ' * 300_000}]",
        f"mode: {repeated_by_aliases('[0]', '[{}]')}",
        f"mode: {repeated_by_aliases('{on: 1}', '{{<<: [{}]}}')}",
    ],
)
def test_a_wrong_value_is_refused_with_an_error_of_ours(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(written(tmp_path, text), environ={})
    assert len(str(refused.value)) < 2_000


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keepwhole.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
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
        ("KEEPWHOLE_POLICY", "nope"),
        ("KEEPWHOLE_MODE", "sideways"),
        ("KEEPWHOLE_AUTO_START", "0"),
        ("KEEPWHOLE_AUTO_HORIZON", "long"),
        ("KEEPWHOLE_PROXY_TENANTS", "all"),
        ("KEEPWHOLE_THRESHOLDS_WARN", "75"),
    ],
)
def test_a_wrong_variable_is_refused(tmp_path: Path, variable: str, value: str) -> None:
    with pytest.raises(ConfigError):
        load(environ={variable: value}, folder=str(tmp_path))


@pytest.mark.parametrize(
    ("text", "environ", "message"),
    [
        ("mode: sideways", {}, "`{file}`: `mode` is 'sideways'; give one of off, shadow, on."),
        ("auto: {start: 0}", {}, "`{file}`: `auto.start` is 0; give a whole number of at least 1."),
        ("proxy: {holdout: 2}", {}, "`{file}`: `proxy.holdout` is 2; give a number from 0 to 1."),
        (
            "auto: {start: 7}",
            {"KEEPWHOLE_AUTO_HORIZON": "0"},
            "`KEEPWHOLE_AUTO_HORIZON`: `auto.horizon` is 0.0; give a number above 0 and up to 1,000.",
        ),
        (
            "tools: {truncation: {line_cap: 90}}",
            {"KEEPWHOLE_INLINE_LIMIT": "100"},
            "`KEEPWHOLE_INLINE_LIMIT`: `tools.truncation.inline_limit` is 100; give a whole number of at least 256.",
        ),
        ("", {"KEEPWHOLE_AUTO_START": "many"}, "`KEEPWHOLE_AUTO_START` is 'many'; give a whole number of at least 1."),
        (
            "thresholds: {warn: 0.95}",
            {},
            "`{file}`: `thresholds` must rise: `warn` 0.95, `compact` 0.9, `hard` 0.95. "
            "Set them in this order, for example 0.75, 0.9, 0.95.",
        ),
        (
            "just text",
            {},
            "`{file}`: The file needs a line `KEY: VALUE` for each setting, such as `mode: shadow`.",
        ),
    ],
)
def test_an_error_names_the_file_or_the_variable_and_the_key_and_says_what_to_give(
    tmp_path: Path, text: str, environ: dict[str, str], message: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as refused:
        load(file, environ=environ)
    assert str(refused.value) == message.format(file=file)


@pytest.mark.parametrize("key", ["store", "blobs"])
@pytest.mark.parametrize("by", ["file", "environment"])
def test_what_was_given_for_an_address_is_never_repeated(tmp_path: Path, key: str, by: str) -> None:
    secret = "mysql://me:hunter2@host/db"
    file = written(tmp_path, f"{key}: {secret}" if by == "file" else "")
    with pytest.raises(ConfigError) as refused:
        load(file, environ={f"KEEPWHOLE_{key.upper()}": secret} if by == "environment" else {})
    assert "hunter2" not in str(refused.value)
    assert f"`{key}`" in str(refused.value)


# Sections


def test_every_map_of_a_preset_is_merged_with_what_the_file_names(tmp_path: Path) -> None:
    text = "preset: lean\nauto: {keep: {read: 7}, arrival_least: {report: 900}}"
    auto = load(written(tmp_path, text), environ={}).auto
    assert dict(auto.keep) == {"shell": 1, "search": 1, "other": 1, "read": 7, "report": 1, "image": 3}
    assert dict(auto.arrival_least) == {"shell": 8_000, "search": 8_000, "other": 8_000, "report": 900}
    assert auto.worth == LEAN.worth


def test_the_sections_that_messages_name_are_settings(tmp_path: Path) -> None:
    text = (
        "rolling: {max_age: 3, placeholder: gone}\nretention: {line_chars: 90}\n"
        "thresholds: {warn: 0.5, compact: 0.6, hard: 0.7}\nmodels: {mine: {window: 64000, read: 0.2}}"
    )
    settings = load(written(tmp_path, text), environ={})
    assert (settings.rolling.max_age, settings.rolling.words(4)) == (3, "gone")
    assert settings.rolling.max_tokens_per_output == 2_000
    assert settings.retention.line_chars == 90
    assert settings.thresholds.level(55, 100) == "warn"
    assert settings.models["mine"]["window"] == 64_000


def test_a_nested_setting_may_come_from_the_environment(tmp_path: Path) -> None:
    environ = {
        "KEEPWHOLE_AUTO_START": "9_000",
        "KEEPWHOLE_PROXY_MAX_BODY": "5000",
        "KEEPWHOLE_PROXY_HOSTS": "one.example, two.example",
        "KEEPWHOLE_PROXY_TENANTS": "one",
        "KEEPWHOLE_ROLLING_MAX_AGE": "2",
        "KEEPWHOLE_RETENTION_LINE_CHARS": "80",
        "KEEPWHOLE_THRESHOLDS_WARN": "0.5",
    }
    settings = load(written(tmp_path, "auto: {start: 7000}\npreset: lean"), environ=environ)
    assert (settings.auto.start, settings.auto.worth) == (9_000, LEAN.worth)
    assert settings.proxy.max_body == 5_000
    assert settings.proxy.hosts == ("one.example", "two.example")
    assert settings.proxy.tenants == "one"
    assert (settings.rolling.max_age, settings.retention.line_chars) == (2, 80)
    assert settings.thresholds.warn == 0.5
    rows = {name: (value, source) for name, value, source in flattened(settings)}
    assert rows["auto.start"] == (9_000, "KEEPWHOLE_AUTO_START")


def test_a_setting_that_equals_its_default_is_given_all_the_same(tmp_path: Path) -> None:
    assert load(environ={"KEEPWHOLE_INLINE_LIMIT": "8000"}, folder=str(tmp_path)).truncation.is_given("inline_limit")
    file = written(tmp_path, "tools: {truncation: {inline_limit: 8000}}")
    truncation = load(file, environ={}).truncation
    assert truncation.is_given("inline_limit")
    assert not truncation.is_given("default_strategy")
    assert truncation == TruncationConfiguration()
    assert truncation.for_tool("bash").inline_limit == 8_000


def test_a_file_reads_on_and_off_as_words(tmp_path: Path) -> None:
    assert load(written(tmp_path, "mode: off\nrecall: off"), environ={}).mode == "off"
    assert load(written(tmp_path, "mode: on"), environ={}).mode == "on"


def test_every_setting_is_documented_with_its_variable() -> None:
    page = (Path(__file__).parent.parent / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    documented = {row[0].strip("`").removesuffix(".<tool>"): row for row in rows}
    for setting in all_settings():
        _, _, variable, meaning = documented[setting.key]
        assert variable == (f"`{setting.variable}`" if setting.variable else ""), setting.key
        assert len(meaning.split()) > 3, setting.key


def test_every_key_is_named_once_and_every_variable_too() -> None:
    keys = [setting.key for setting in all_settings()]
    variables = [setting.variable for setting in all_settings() if setting.variable]
    assert len(set(keys)) == len(keys)
    assert len(set(variables)) == len(variables)
    assert {"KEEPWHOLE_MODE", "KEEPWHOLE_INLINE_LIMIT", "KEEPWHOLE_AUTO_START", "KEEPWHOLE_PROXY_HOLDOUT"} <= {
        *variables
    }


def test_settings_can_be_sent_to_another_process(tmp_path: Path) -> None:
    settings = load(written(tmp_path, EXAMPLE + "auto: {keep: {read: 7}}\npreset: lean"), environ={})
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_without_a_file_no_library_is_imported(tmp_path: Path) -> None:
    script = "import sys; from keepwhole import config; config.load(); print(*sys.modules)"
    environ = {**os.environ, "KEEPWHOLE_POLICY": "rolling", "KEEPWHOLE_AUTO_START": "7000"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    heavy = {"yaml", "msgspec", "difflib", "dataclasses", "keepwhole.policies.catalog", "keepwhole.models.profiles"}
    assert not heavy & set(done.stdout.split())


def test_a_file_of_a_newer_version_is_refused_with_the_version_that_read_it(tmp_path: Path) -> None:
    file = tmp_path / "keepwhole.yaml"
    file.write_text("policy: auto\nwarp_drive: 9\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"`warp_drive` in Keepwhole {re.escape(VERSION)}; a newer one may have it"):
        load(str(file))
    file.write_text("polcy: auto\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"There is no setting `polcy`\. Did you mean `policy`"):
        load(str(file))


@pytest.mark.parametrize("place", ["mysql://x/y", "gs://bucket", "postgresql://x/y"])
def test_an_address_never_becomes_the_name_of_a_folder(place: str) -> None:
    with pytest.raises(UsageError, match=r"No store is known|not a folder"):
        load(environ={"KEEPWHOLE_HOME": place})
    if not place.startswith("postgresql"):
        with pytest.raises(UsageError, match="No store is known"):
            Session("s", store=place)


def test_a_variable_of_a_map_is_answered_with_the_place_where_it_can_be_set() -> None:
    (words,) = unknown_variables({"KEEPWHOLE_AUTO_KEEP": "x"})
    assert words == "`KEEPWHOLE_AUTO_KEEP` is ignored: a variable cannot give `auto.keep`. Set it in a settings file."


def test_a_key_that_aliases_repeat_is_not_given_twice(tmp_path: Path) -> None:
    laughs = "models:\n  a: &a {window: 5}\n" + "".join(f"  b{n}: *a\n" for n in range(9))
    assert len(load(written(tmp_path, laughs), environ={}).models) == 10
