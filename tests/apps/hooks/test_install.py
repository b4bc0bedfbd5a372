"""Installing by the command line: where, how, and that nothing of anybody else is lost."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.client_file import ChangedMeanwhile
from keepwhole.apps.hooks import install
from tests.apps.cli.cli import Cli

PLACES = {
    ("claude-code", "user"): ".claude/settings.json",
    ("claude-code", "project"): ".claude/settings.json",
    ("codex", "user"): ".codex/hooks.json",
    ("codex", "project"): ".codex/hooks.json",
    ("opencode", "user"): ".config/opencode/plugin/keepwhole.js",
    ("opencode", "project"): ".opencode/plugin/keepwhole.js",
}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.mark.parametrize(("client", "scope"), PLACES)
def test_a_client_is_installed_found_and_taken_away(client: str, scope: str, cli: Cli) -> None:
    path = cli.folder / PLACES[client, scope]
    done = cli("hook", "status", client, "--scope", scope)
    assert (done.returncode, b"not installed" in done.stdout) == (1, True)
    told = cli.said("hook", "install", client, "--scope", scope)
    assert told.startswith(f"Installed in {path}: {client} runs `")
    assert ("`permissions.allow`" in told) == (client == "claude-code")
    assert f"hook run {client}" in path.read_text()
    assert "Already installed in" in cli.said("hook", "install", client, "--scope", scope)
    assert "not installed" not in cli.said("hook", "status", client, "--scope", scope)
    assert "Removed from" in cli.said("hook", "uninstall", client, "--scope", scope)
    assert not path.exists()
    assert "No hook of Keepwhole" in cli.said("hook", "uninstall", client, "--scope", scope)


def test_a_project_names_us_by_name_and_a_user_by_path(cli: Cli) -> None:
    cli("hook", "install", "codex", "--scope", "project")
    path = cli.folder / ".codex/hooks.json"
    assert '"keepwhole hook run codex"' in path.read_text()
    cli("hook", "install", "codex", "--scope", "user")
    command = json.loads(path.read_text())["hooks"]["PostToolUse"][0]["hooks"][0]["command"]
    assert os.path.isabs(shlex.split(command)[0])


def test_settings_keep_their_permissions_and_stay_where_a_link_leads(cli: Cli) -> None:
    real = cli.folder / "dotfiles.json"
    real.write_text('{"env": {"KEY": "secret"}}')
    real.chmod(0o600)
    (cli.folder / ".claude").mkdir()
    (cli.folder / ".claude/settings.json").symlink_to(real)
    cli("hook", "install", "claude-code")
    assert (cli.folder / ".claude/settings.json").is_symlink()
    assert "hook run claude-code" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    cli("hook", "uninstall", "claude-code")
    assert real.read_text() == '{"env": {"KEY": "secret"}}'
    assert sorted(path.name for path in (cli.folder / ".claude").iterdir()) == ["settings.json"]


@pytest.mark.parametrize("data", [b"{ // mine\n}", b"\xff{}", b"", b'{"hooks": 3}'])
def test_settings_that_cannot_be_parsed_are_refused_and_left_alone(data: bytes, cli: Cli) -> None:
    path = cli.folder / ".claude/settings.json"
    path.parent.mkdir()
    path.write_bytes(data)
    for action in ("install", "uninstall", "status"):
        done = cli("hook", action, "claude-code")
        assert done.returncode == 2
        assert b"left as it is" in done.stderr
    assert path.read_bytes() == data


def test_a_plugin_that_is_not_ours_is_left_alone(cli: Cli) -> None:
    path = cli.folder / ".opencode/plugin/keepwhole.js"
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = async () => ({})\n")
    assert cli("hook", "install", "opencode", "--scope", "project").returncode == 2
    assert cli("hook", "uninstall", "opencode", "--scope", "project").returncode == 2
    assert path.read_text() == "export const Mine = async () => ({})\n"


def test_other_places_are_looked_up_where_the_clients_do(cli: Cli) -> None:
    cli.environ |= {"CLAUDE_CONFIG_DIR": str(cli.folder / "c"), "CODEX_HOME": str(cli.folder / "x")}
    cli.environ["XDG_CONFIG_HOME"] = str(cli.folder / "g")
    for client in ("claude-code", "codex", "opencode"):
        cli("hook", "install", client)
    assert (cli.folder / "c/settings.json").exists()
    assert (cli.folder / "x/hooks.json").exists()
    assert (cli.folder / "g/opencode/plugin/keepwhole.js").exists()


def said(cli: Cli, action: str, client: str) -> str:
    """The sentence about the permission to read results back."""
    return cli("hook", action, client).stdout.decode().splitlines()[-1]


def test_claude_code_is_told_the_permission_and_status_finds_it(cli: Cli) -> None:
    rule = "Read(~/home/results/**)"
    missing = (
        f"To let it read results back without asking, add `{rule}` to `permissions.allow`; "
        "Keepwhole does not change permissions."
    )
    assert said(cli, "install", "claude-code") == said(cli, "status", "claude-code") == missing
    path = cli.folder / ".claude/settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "permissions": {"allow": [rule]}}))
    allowed = f"It may read results back without asking: `{rule}` is in `permissions.allow`."
    assert said(cli, "status", "claude-code") == allowed


def test_opencode_is_told_the_permission_and_status_finds_where_it_is_denied(cli: Cli) -> None:
    rule = json.dumps({"permission": {"external_directory": {f"{cli.folder}/home/results/**": "allow"}}})
    assert rule in said(cli, "install", "opencode")
    settings = cli.folder / ".config/opencode/opencode.json"
    for permission in ({"external_directory": "deny"}, "deny", {"external_directory": {"/secret/**": "deny"}}):
        settings.write_text(json.dumps({"permission": permission}))
        assert said(cli, "status", "opencode").startswith(
            "Your settings forbid it to read results, so nothing is shortened."
        )
    settings.write_text(rule)
    assert said(cli, "status", "opencode").startswith("The plugin lets it read results back without asking")


def test_codex_is_told_that_it_needs_no_permission(cli: Cli) -> None:
    assert "needs no permission" in said(cli, "install", "codex")
    assert "needs no permission" in said(cli, "status", "codex")


@pytest.mark.parametrize(("changes", "is_installed"), [(1, True), (4, True), (5, False)])
def test_a_file_that_another_program_changes_meanwhile_is_edited_anew_four_times(
    changes: int, is_installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = install.target("claude-code", "project", {}, str(tmp_path))
    write, left = install._write, [changes]

    def changed(*given: Any) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise ChangedMeanwhile("It was changed by another program.")
        write(*given)

    monkeypatch.setattr(install, "_write", changed)
    if is_installed:
        assert install.install(to)
    else:
        with pytest.raises(ChangedMeanwhile):
            install.install(to)
    assert left[0] == (-1 if is_installed else 0)
    assert bool(install.installed(to)) is is_installed
