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

WRONG = """
shwo | 2 | keepwhole: there is no command `shwo`. Did you mean `show`?
stat | 2 | keepwhole: there is no command `stat`. Did you mean `status`?
qqqqqq | 2 | keepwhole: there is no command `qqqqqq`. See `keepwhole --help`.
--json status | 2 | keepwhole: `--json` is not an option here; options follow the command, as in `keepwhole status --json`. See `keepwhole --help`.
sessions lst | 2 | keepwhole sessions: there is no action `lst`. Did you mean `list`?
sessions | 2 | keepwhole sessions: say what to do: list, show, verify, purge, export or import. See `keepwhole sessions --help`.
artifacts shwo x | 2 | keepwhole artifacts: there is no action `shwo`. Did you mean `show`?
hook | 2 | keepwhole hook: say what to do: install, uninstall, status or run. See `keepwhole hook --help`.
hook install clade-code | 2 | keepwhole hook install: `CLIENT`: `clade-code` is not one of its values. Did you mean `claude-code`?
replay --polcy auto | 2 | keepwhole replay: there is no option `--polcy`. Did you mean `--policy`?
replay --sample --policy atuo | 2 | keepwhole: There is no policy or settings file `atuo`. Did you mean `auto`?
replay --sample --provider antropic | 2 | keepwhole: There are no prices for `antropic`. Did you mean `anthropic`?
replay --sample --provider nobody | 2 | keepwhole: There are no prices for `nobody`. Use a model's name or one of anthropic, openai, google, deepseek, moonshot, zhipu, minimax.
replay --sample --window banana | 2 | keepwhole: `banana` is not a valid window. Give tokens, such as 128k or 200000.
replay missing.jsonl | 2 | keepwhole: There is no `missing.jsonl`. Give a log, or a folder of logs.
replay bad.jsonl --jobs 1 | 1 | not read: bad.jsonl: not a log of Claude Code, Codex, Gemini CLI, opencode or SWE-agent
replay --sample --report /none/x.html | 2 | keepwhole: `/none/x.html` cannot be written: there is no such folder. Name a file in a folder of yours.
replay --sample --jobs x | 2 | keepwhole replay: `--jobs`: give a whole number, not `x`. See `keepwhole replay --help`.
show | 2 | keepwhole show: missing: STEP|ID. See `keepwhole show --help`.
show 99 | 3 | keepwhole: Session s2 has no result at step 99. `keepwhole sessions show` lists its steps.
show nosuch | 3 | keepwhole: No result has the id `nosuch` here. List them with `keepwhole artifacts list`.
show ID --lines 5-2 | 2 | keepwhole: "5-2" is not a range of lines. Give it as lines="100-200", counted from 1.
show ID --lines 99999- | 3 | keepwhole: There is no line 99,999: the result has 9,000. Ask for `--lines 1-9000`.
show ID --chars 99999-100000 | 3 | keepwhole: There is no character 99,999: the result has 45,000. Ask for `--chars 0-45000`.
show ID --lines 1-2 --chars 1-2 | 2 | keepwhole show: `--chars`: not together with --lines. See `keepwhole show --help`.
show ID --part argument | 2 | keepwhole show: `--part`: `argument` is not one of its values. Did you mean `arguments`?
show ID extra | 2 | keepwhole show: one argument too many: `extra`. See `keepwhole show --help`.
show ID --path $.x | 2 | keepwhole: path leads into JSON, NDJSON and CSV, and this is none of them. Leave it out, or give a pattern.
artifacts show nosuch | 3 | keepwhole: No result has the id `nosuch` here. List them with `keepwhole artifacts list`.
artifacts list --limit many | 2 | keepwhole artifacts list: `--limit`: give a whole number, not `many`. See `keepwhole artifacts list --help`.
artifacts list --session nosuch | 3 | keepwhole: No session is named `nosuch`. List them with `keepwhole sessions list`.
trace show | 2 | keepwhole trace show: missing: STEP|ID. See `keepwhole trace show --help`.
trace show nosuch | 3 | keepwhole: No result has the id `nosuch` here. List them with `keepwhole artifacts list`.
search | 2 | keepwhole search: missing: QUERY. See `keepwhole search --help`.
search x --budget 0 | 2 | keepwhole: `--budget` is a number of tokens, 1 or more.
search x --by word | 2 | keepwhole search: `--by`: `word` is not one of its values. Did you mean `words`?
sessions show nosuch | 3 | keepwhole: No session is named `nosuch`. List them with `keepwhole sessions list`.
sessions show s | 3 | keepwhole: Several sessions begin with `s`. List them with `keepwhole sessions list`.
sessions purge | 2 | keepwhole: Name one session, or an age: `keepwhole sessions purge --older-than 30d`.
sessions purge s1 | 1 | Purge s1 with 44.2 KB for good? Say yes with `--yes`.
sessions import missing.file | 3 | keepwhole: `missing.file` cannot be opened (No such file or directory). Check the path.
sessions import notes.txt | 2 | keepwhole: This is not an archive of a session; make one with `keepwhole sessions export`.
sent nosuch | 3 | keepwhole: There is no request `nosuch` here. `keepwhole sent` lists what was sent.
explain s1 77 | 3 | keepwhole: Result 77 of session `s1` was not shortened by any rule. `keepwhole explain` lists those that were.
undo nosuch | 3 | keepwhole: No result has the id `nosuch` here. List them with `keepwhole artifacts list`.
forget | 2 | keepwhole forget: one of the arguments ID --text is required. See `keepwhole forget --help`.
status --model | 2 | keepwhole status: `--model`: give a value. See `keepwhole status --help`.
keep | 2 | keepwhole keep: missing: --tool. See `keepwhole keep --help`.
keep --tool t --arguments {bad | 2 | keepwhole: `--arguments` is not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)). Give it like '{"path": "a.txt"}'.
keep --tool t --exit-code x | 2 | keepwhole keep: `--exit-code`: give a whole number, not `x`. See `keepwhole keep --help`.
run | 2 | keepwhole: Say what to run: `keepwhole run -- ls -l`.
run -- nosuchcommand | 127 | keepwhole: `nosuchcommand` cannot be run (No such file or directory). Check its name, or give its path.
import missing.jsonl | 2 | keepwhole: There is no `missing.jsonl`. Give a log, or a folder of logs.
cut missing.txt | 2 | keepwhole: `missing.txt` cannot be read: No such file or directory.
cut notes.txt --strategy lgo | 2 | keepwhole: There is no strategy `lgo`. Did you mean `log`?
cut notes.txt --limit 3 | 2 | keepwhole: `--limit` is 3; give a whole number of at least 256.
view notes.txt | 2 | keepwhole: `notes.txt` cannot be read as JSON (Expecting value: line 1 column 1 (char 0)). Give a list of messages or a request.
config show --config missing.yaml | 2 | keepwhole: There is no settings file `missing.yaml`. Check `--config` and `KEEPWHOLE_CONFIG`.
config check --config bad.yaml | 2 | keepwhole: `bad.yaml`: There is no setting `mood`. Did you mean `mode`?
config check --config policy.yaml | 2 | keepwhole: `policy.yaml`: `policy` is `atuo`; there is no such policy. Did you mean `auto`?
store copy nowhere other | 3 | keepwhole: There is no record in `nowhere`: give the folder that `record.db` is in.
store backup /none/a/b | 4 | keepwhole: `/none/a/b` could not be written (No such file or directory). Nothing was changed. Name a file in a folder that you may write to.
store restore missing.backup | 3 | keepwhole: `missing.backup` cannot be opened (No such file or directory). Check the path.
store restore notes.txt | 2 | keepwhole: This is not a backup of a record; make one with `keepwhole store backup FILE`.
wrap | 2 | keepwhole: Say what to run: `keepwhole wrap claude`, or `keepwhole wrap -- CMD…` for any other agent.
wrap cluade | 127 | keepwhole: `cluade` is not installed, or not on the PATH. Did you mean `claude`?
wrap --mode of claude | 2 | keepwhole wrap: `--mode`: `of` is not one of its values. Did you mean `off`?
proxy --port 99999 | 2 | keepwhole: `--port 99999` is not a port. Give one between 1 and 65535, or 0 for any that is free.
proxy --host 0.0.0.0 | 2 | keepwhole: `0.0.0.0` can be reached from other machines. If that is what you want, add `--public`.
proxy --upstream openai | 2 | keepwhole: `--upstream openai` is not NAME=URL, such as openai=https://api.openai.com.
rolling-context onn | 2 | keepwhole rolling-context: `SWITCH`: `onn` is not one of its values. Did you mean `on`?
completion tcsh | 2 | keepwhole completion: `SHELL`: `tcsh` is not one of its values; give bash, zsh or fish. See `keepwhole completion --help`.
doctor extra | 2 | keepwhole doctor: one argument too many: `extra`. See `keepwhole doctor --help`.
serve --sampel | 2 | keepwhole serve: there is no option `--sampel`. Did you mean `--sample`?
report --since x | 2 | keepwhole report: `--since`: give a number, not `x`. See `keepwhole report --help`.
"""  # noqa: E501
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
    }
    for name, text in files.items():
        (made / name).write_text(text)
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


def test_the_table_has_at_least_sixty_rows_and_no_message_advises_what_failed() -> None:
    assert len(TABLE) >= 60
    circular = [typed for typed, _, message in TABLE if f"`keepwhole {typed}`" in message]
    assert circular == []


def test_a_variable_that_nothing_reads_is_reported_and_the_command_goes_on(cli: Cli) -> None:
    cli.environ["KEEPWHOLE_MOOD"] = "on"
    done = cli("config", "show")
    assert done.returncode == 0
    assert b"`KEEPWHOLE_MOOD` is not a setting and is ignored. Did you mean `KEEPWHOLE_MODE`?" in done.stderr
    assert unknown_variables({"KEEPWHOLE_HOME": "x", "KEEPWHOLE_PROXY_TOKEN": "y"}) == []


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
