"""Wrong uses of the command line: each gets one line with what is wrong, one next step and its code.

The words are asserted in full, so that this table is what a user reads.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import keepwhole
from keepwhole import SqliteStore
from keepwhole.apps.cli.main import main
from keepwhole.config import unknown_variables
from tests.apps.cli.cli import Cli

WRONG = Path(__file__).with_name("wrong_uses.txt").read_text(encoding="utf-8")
"""What was typed, the exit code, and the message in full."""
NO_ROOM = (
    "keepwhole: The output cannot be written (No space left on device). Free some space, or send it somewhere else."
)
NO_ADDRESS = (
    "keepwhole: Keepwhole cannot listen on 192.0.2.1:8787 (Cannot assign requested address). "
    "Give an address of this machine."
)
GONE = "keepwhole: The current folder no longer exists. Change to another one with `cd`."
NO_FOLDER = (
    "keepwhole: `/proc/.keepwhole` cannot be used (No such file or directory). Check the path and its permissions."
)
TABLE = [
    (words, int(code), message)
    for words, code, message in (line.split(" | ", 2) for line in WRONG.strip().splitlines())
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files that are wrong for most commands, and a record with two sessions."""
    made = tmp_path_factory.mktemp("wrong")
    files = {
        "bad.jsonl": "{not json\n",
        "notes.txt": "hello\n",
        "bad.yaml": "mood: on\n",
        "policy.yaml": "policy: atuo\n",
        "broken.yaml": "policy: [a\n",
        "list.yaml": "- a\n",
        "flat.yaml": "auto: 5\n",
        "mysql.yaml": "store: mysql://x/y\n",
        "twice.yaml": "auto:\n  start: 1\n  worth: 2\n  start: 3\n",
        "leaf.yaml": "inline_limit: 5000\n",
        "section.yaml": "truncation:\n  inline_limit: 5000\n",
        "tab.yaml": "\tpolicy: auto\n",
        "quota.yaml": "session_quota: 5GB\n",
        "numbers.json": "[1, 2]",
        "servers.json": '{"mcpServers": {"one": {"command": "one"}}}',
        "messages.json": '[{"role": "user", "content": "x"}]',
    }
    for name, text in files.items():
        (made / name).write_text(text)
    (made / "latin.yaml").write_bytes(b"\xff\xfe")
    for name, text in (("s1", "line\n" * 9_000), ("s2", "short\n")):
        with keepwhole.session(name, store=SqliteStore(str(made / "home"))) as session:
            artifact = session.keep("bash", {"command": "x"}, text).artifact_id
            if name == "s1":
                (made / "id").write_text(artifact)
    return made


@pytest.mark.parametrize(("typed", "code", "message"), TABLE, ids=[words for words, _, _ in TABLE])
def test_a_wrong_use_gets_one_line_and_one_next_step(
    typed: str,
    code: int,
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KEEPWHOLE_HOME", str(folder / "home"))
    monkeypatch.chdir(folder)
    words = [(folder / "id").read_text() if word == "ID" else word for word in _split(typed)]
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        try:
            ended = main(words)
        except SystemExit as end:
            ended = end.code
    assert (capsys.readouterr().err.strip(), ended) == (message, code)


def _split(typed: str) -> list[str]:
    return typed.split() if "{" in typed else shlex.split(typed)


def test_the_table_has_at_least_200_rows_and_no_message_advises_what_failed() -> None:
    assert len(TABLE) >= 200
    circular = [typed for typed, _, message in TABLE if f"`keepwhole {typed}`" in message]
    assert circular == []


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        (
            "forget --text nowhere --yes",
            1,
            "Nothing was removed: no entry contains this text. `keepwhole search --by words WORD` finds what is there.",
        ),
        (
            "import notes.txt",
            1,
            "There are no tool results in these logs. Give other logs; Claude Code, for example, writes its own to "
            "`~/.claude/projects`.",
        ),
        (
            "replay notes.txt --jobs 1",
            1,
            "There is nothing to replay in these logs. Look at made-up ones: `keepwhole replay --sample`.",
        ),
        ("mcp-gateway unwrap servers.json", 0, "No server in this file is behind the gateway."),
        ("status --model nobody", 0, "unknown, so the window is a guess; set `models.nobody.window`."),
    ],
)
def test_a_command_that_finds_nothing_says_so_and_what_to_do(
    typed: str,
    code: int,
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KEEPWHOLE_HOME", str(folder / "home"))
    monkeypatch.chdir(folder)
    assert main(typed.split()) == code
    assert message in capsys.readouterr().out


def test_a_variable_that_nothing_reads_is_reported_and_the_command_goes_on(cli: Cli) -> None:
    cli.environ["KEEPWHOLE_MOOD"] = "on"
    done = cli("config", "show")
    assert done.returncode == 0
    assert b"`KEEPWHOLE_MOOD` is not a setting and is ignored. Did you mean `KEEPWHOLE_MODE`?" in done.stderr
    assert unknown_variables({"KEEPWHOLE_HOME": "x", "KEEPWHOLE_PROXY_TOKEN": "y"}) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the words and the devices of Linux")
@pytest.mark.parametrize(
    ("shell", "code", "message"),
    [
        ("$KW sessions list >/dev/full", 1, NO_ROOM),
        ("$KW show 1 --session s1 --raw >/dev/full", 1, NO_ROOM),
        ("$KW sessions list --json >&-", 0, ""),
        ("$KW cut notes.txt >&-", 0, None),
        ("$KW cut - --limit 300 0<&-", 0, None),
        ("$KW status >&- 2>&-", 0, ""),
        ("$KW sessions list | true", 0, ""),
        ("PYTHONIOENCODING=ascii $KW cut notes.txt --compare >/dev/null", 0, ""),
        ("PYTHONIOENCODING=latin-1 $KW wrap --help >/dev/null", 0, ""),
        ("PYTHONIOENCODING=ascii:surrogateescape $KW sessions list >/dev/null", 0, ""),
        ("mkdir gone; cd gone; rmdir ../gone; $KW status", 1, GONE),
        ("cd /proc; $KW init", 1, NO_FOLDER),
        ("$KW proxy --host 192.0.2.1 --public", 2, NO_ADDRESS),
    ],
)
def test_odd_surroundings_get_no_traceback(shell: str, code: int, message: str | None, folder: Path) -> None:
    """Closed streams, a full disk behind the output, a terminal without Unicode, a folder that is gone."""
    command = shlex.join([sys.executable, "-m", "keepwhole"])
    environ = {**os.environ, "KEEPWHOLE_HOME": str(folder / "home"), "PYTHONUNBUFFERED": "1"}
    words = ["bash", "-c", shell.replace("$KW", command)]
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == code
    assert message is None or done.stderr.strip() == message


def test_a_file_opened_later_never_takes_the_place_of_a_closed_stream(folder: Path) -> None:
    """Without standard output, what is printed would otherwise be written into the record."""
    show = "import keepwhole.__main__ as m; m.open_missing_streams(); print(open('notes.txt').fileno() > 2, flush=True)"
    words = ["bash", "-c", f"{shlex.join([sys.executable, '-c', show])} 2>&-"]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    assert done.stdout == b"True\n"


def test_an_export_that_is_refused_leaves_no_file(folder: Path) -> None:
    assert not (folder / "never.html").exists()


def test_damage_that_stops_doctor_is_not_answered_with_doctor(cli: Cli) -> None:
    cli.said("keep", "--tool", "t", input=b"x\n")
    for file in (cli.folder / "home").glob("record.db*"):
        file.write_bytes(b"garbage " * 9_000)
    for command in ("doctor", "sessions verify"):
        done = cli(*command.split())
        assert done.returncode
        assert f"`keepwhole {command}`" not in (done.stdout + done.stderr).decode()


def test_ctrl_c_during_the_imports_prints_no_traceback(cli: Cli) -> None:
    """`keepwhole.session` raises as Ctrl-C does, where a real one would come at a time of its own."""
    interrupted = (
        "import builtins, sys; take = builtins.__import__\n"
        "def stop(name, *more):\n"
        "    if name == 'keepwhole.session': raise KeyboardInterrupt\n"
        "    return take(name, *more)\n"
        "builtins.__import__ = stop; sys.argv[0] = '/usr/bin/keepwhole'\n"
        "import keepwhole\n"
    )
    done = subprocess.run([sys.executable, "-c", interrupted], capture_output=True, check=False, env=cli.environ)
    assert (done.returncode, done.stderr) == (130, b"")
