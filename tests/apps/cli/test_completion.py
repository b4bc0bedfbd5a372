"""The completion scripts complete commands, actions, options and values, in the shells themselves."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from keepwhole.apps.cli.completion import command_words
from keepwhole.apps.cli.main import main

# zsh completes inside its line editor; what the script would offer is printed instead.
_ZSH = """
compdef() {{ : }}
_files() {{ : }}
compadd() {{ shift; print -l -- "$@" }}
_describe() {{ for entry in "${{(@P)2}}"; do print -- "${{entry%%:*}}"; done }}
source {script}
words=({words}); CURRENT=$#words
_keepwhole
"""
_BASH = """
source {script}
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_keepwhole
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
_FISH = "source {script}; complete -C {typed} | cut -f1"


def offered(shell: str, script: Path, *typed: str) -> list[str]:
    """What a shell offers for the last of the words typed so far."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    words = ["keepwhole", *typed]
    quoted = " ".join(f"'{word}'" for word in words)
    code = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell]
    code = code.format(script=script, words=quoted, typed=f"'{' '.join(words)}'")
    environ = {**os.environ, "HOME": str(script.parent), "XDG_CONFIG_HOME": str(script.parent)}
    done = subprocess.run([path, "-c", code], env=environ, capture_output=True, text=True, check=True, timeout=30)
    assert not done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith(typed[-1])]


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def script(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    return tmp_path / "script"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (("sess",), ["sessions"]),
        (("artifacts", "s"), ["search", "show"]),
        (("artifacts", "show", "--fr"), ["--from-end"]),
        (("proxy", "--mode", "o"), ["off", "on"]),
        (("replay", "--pol"), ["--policy"]),
        (("hook", "install", "claude"), ["claude-code"]),
        (("completion", "z"), ["zsh"]),
    ],
    ids=" ".join,
)
def test_a_shell_completes_what_was_begun(
    shell: str, script: Path, typed: tuple[str, ...], expected: list[str]
) -> None:
    assert sorted(offered(shell, script, *typed)) == expected


def test_the_table_has_every_action_and_no_word_that_a_shell_would_read_otherwise() -> None:
    table = {one.path: one for one in command_words()}
    assert {"show", "sessions list", "store restore", "completion"} <= set(table)
    assert "--from-end" in table["show"].options
    words = " ".join(word for one in table.values() for word in (*one.names, *one.options))
    assert not set(words) & set("\"'$`\\*")


@pytest.mark.parametrize(
    ("shell", "lines"),
    [
        (
            "zsh",
            (
                '      "/replay") commandpath="replay" ;;',
                '      "sessions/list") commandpath="sessions list" ;;',
                '    "artifacts search --by") values=(relevance words) ;;',
                "    \"completion\") entries=('bash' 'zsh' 'fish' '--help:show this help message and exit') ;;",
            ),
        ),
        (
            "fish",
            (
                '      case "/replay"; set path "replay"',
                '      case "sessions/list"; set path "sessions list"',
                "complete -c keepwhole -n 'test \"$(__keepwhole_path)\" = \"completion\"' -f -a 'zsh'",
                "complete -c keepwhole -n 'test \"$(__keepwhole_path)\" = \"proxy\"' -l mode -x -a 'off shadow on' -d "
                "'off: change nothing; shadow: only report what would change; on: do it'",
                'complete -c keepwhole -n \'test "$(__keepwhole_path)" = "proxy"\' -l port -d '
                "'port to listen on (default: 8787)'",
            ),
        ),
    ],
)
def test_a_script_has_what_its_shell_reads_whether_it_is_installed_here_or_not(
    shell: str, lines: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out.splitlines()
    assert not [line for line in lines if line not in script]
    assert not [line for line in script if line.count("'") % 2], "a quote of the words would end the shell's"
