"""Whether a client may read results back without asking, by its own settings, and what to do where it may not."""

import json
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.hooks.permission import advice, claude_code_rule

ADD = (
    "To let it read results back without asking, add `{rule}` to `permissions.allow`; "
    "Keepwhole does not change permissions."
)
ALLOWED = "It may read results back without asking: `{rule}` is in `permissions.allow`."
OPENCODE = '{"permission": {"external_directory": {"/r/results/**": "allow"}}}'
OPENCODE_ALLOWS = f"The plugin lets it read results back without asking, as `{OPENCODE}` does."
OPENCODE_DENIES = (
    f"Your settings forbid it to read results, so nothing is shortened. To allow it, replace that rule by `{OPENCODE}`."
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def write(path: Path, settings: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings))


def ask(client: str, home: Path, results: str = "/r/results") -> str:
    return advice(client, results, {"HOME": str(home)}, str(home.parent / "work"))


def test_the_rule_is_spelled_from_the_home_folder_where_the_results_are_in_it() -> None:
    assert claude_code_rule("/home/u/r", "/home/u") == "Read(~/r/**)"
    assert claude_code_rule("/home/user/r", "/home/u") == "Read(//home/user/r/**)"


@pytest.mark.parametrize(
    ("where", "name"),
    [("home/.claude", "settings.json"), ("work/.claude", "settings.json"), ("work/.claude", "settings.local.json")],
)
@pytest.mark.parametrize("allowed", ["Read", "Read(//r/results/**)"])
def test_claude_code_is_allowed_by_any_of_its_files(home: Path, where: str, name: str, allowed: str) -> None:
    write(home.parent / where / name, {"permissions": {"allow": ["Bash", allowed]}})
    assert ask("claude-code", home) == ALLOWED.format(rule="Read(//r/results/**)")


def test_in_the_home_folder_both_spellings_of_the_rule_count(home: Path) -> None:
    results = f"{home}/.keepwhole/results"
    for allowed in ("Read(~/.keepwhole/results/**)", f"Read(/{results}/**)"):
        write(home / ".claude" / "settings.json", {"permissions": {"allow": [allowed]}})
        assert ask("claude-code", home, results) == ALLOWED.format(rule="Read(~/.keepwhole/results/**)")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        [],
        "no JSON",
        "[" * 100_000,
        {"permissions": []},
        {"permissions": {"allow": "Read"}},
        {"permissions": {"allow": ["Read(//r/**)"]}},
        {"permissions": {"deny": ["Read"]}},
    ],
)
def test_claude_code_is_told_the_rule_where_nothing_allows_it(home: Path, settings: Any) -> None:
    rule = "Read(//r/results/**)"
    assert ask("claude-code", home) == ADD.format(rule=rule)
    write(home / ".claude" / "settings.json", settings)
    assert ask("claude-code", home) == ADD.format(rule=rule)


def test_a_settings_file_over_four_megabytes_is_not_read(home: Path) -> None:
    settings = json.dumps({"permissions": {"allow": ["Read"]}})
    for size, words in ((4 * 1_048_576, ALLOWED), (4 * 1_048_576 + 1, ADD)):
        write(home / ".claude" / "settings.json", settings.ljust(size))
        assert ask("claude-code", home) == words.format(rule="Read(//r/results/**)")


@pytest.mark.parametrize(
    ("permission", "is_denied"),
    [
        (None, False),
        ("allow", False),
        ("ask", False),
        ("deny", True),
        ({}, False),
        ({"*": "deny"}, True),
        ({"*": "allow"}, False),
        ({"*": {"a": "deny"}}, True),
        ({"external_directory": "deny"}, True),
        ({"external_directory": "allow", "*": "deny"}, False),
        ({"external_directory": {"/a/**": "allow", "*": "deny"}}, True),
        ({"external_directory": {"/a/**": "allow"}}, False),
        ({"external_directory": 7}, False),
        ({"edit": "deny"}, False),
    ],
)
@pytest.mark.parametrize("where", ["home/.config/opencode", "work"])
def test_opencode_reads_back_unless_its_settings_deny_it(
    home: Path, permission: object, is_denied: bool, where: str
) -> None:
    write(home.parent / where / "opencode.json", {"permission": permission})
    assert ask("opencode", home) == (OPENCODE_DENIES if is_denied else OPENCODE_ALLOWS)


def test_codex_reads_in_its_shell(home: Path) -> None:
    assert ask("codex", home) == (
        "It reads results back with `sed` in its shell. "
        "That needs no permission, unless you forbid reading `/r/results`."
    )
