"""A command that did what it was asked exits with 0 and prints something, for people and with `--json`."""

import pytest

from tests.apps.cli.cli import Cli
from tests.apps.cli.test_commands import kept, long_text

MESSAGES = b'[{"role": "user", "content": "what is in it?"}]'
DONE = [
    "artifacts clean",
    "artifacts collect",
    "artifacts list",
    "artifacts search many",
    "artifacts show ID",
    "artifacts show ID --lines 1-2",
    "config check",
    "config show",
    "cut big.txt",
    "doctor",
    "explain",
    "report",
    "report --since 1",
    "rolling-context status",
    "search line 2999",
    "sent",
    "sessions export",
    "sessions list",
    "sessions show",
    "sessions verify",
    "show ID",
    "status",
    "store backup there",
    "store copy home other",
    "trace show ID",
    "trust",
    "undo ID",
    "view messages.json",
]
TEXT_ONLY = ("sessions export", "trust")


def _words(cli: Cli, command: str) -> list[str]:
    """Return the words of a command, for a record and a folder in which it has something to do."""
    artifact = kept(cli, long_text())
    (cli.folder / "big.txt").write_text(long_text())
    (cli.folder / "messages.json").write_bytes(MESSAGES)
    return [artifact if word == "ID" else word for word in command.split()]


@pytest.mark.parametrize("command", DONE)
def test_a_command_that_did_what_it_was_asked_exits_with_zero(cli: Cli, command: str) -> None:
    done = cli(*_words(cli, command))
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout


@pytest.mark.parametrize("command", [command for command in DONE if command not in TEXT_ONLY])
def test_it_does_so_for_a_program_too(cli: Cli, command: str) -> None:
    assert cli.json(*_words(cli, command)) is not None


@pytest.mark.parametrize(
    "command", ["artifacts collect", "config check", "config show", "report", "sessions list", "store backup there"]
)
def test_a_command_for_the_whole_record_takes_no_session(cli: Cli, command: str) -> None:
    done = cli(*command.split(), "--session", "s")
    assert done.returncode == 2
    assert b"--session" in done.stderr
