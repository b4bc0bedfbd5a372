"""`keepwhole replay`: what policies would have done to recorded runs."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from keepwhole import config
from keepwhole.apps.cli import replay
from keepwhole.apps.cli.main import main
from keepwhole.replay.contenders import DEFAULT_CONTENDERS
from keepwhole.replay.samples.files import write_samples
from tests.apps.cli.cli import Cli
from tests.replay.logs import record, write

HOSTILE = "\x1b[2J\x1b]0;owned\x07"


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output of the command for the made-up sessions."""
    cli = Cli(tmp_path_factory.mktemp("sampled"))
    cli.environ["COLUMNS"] = "100"
    done = cli("replay", "--sample", "--missed")
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_totals_come_first_with_the_share_of_results_by_tool(sampled: str) -> None:
    assert sampled.startswith("Read 4 runs in 4 files")
    head = sampled.partition("Replayed all 4 runs")[0]
    assert "% of them tool results" in head
    assert "search_bookings" in head
    assert "never used again" in " ".join(head.split())


def test_there_is_a_row_a_policy_and_one_in_plain_words(sampled: str) -> None:
    table, legend, sources, words, *_ = sampled.partition("─\n")[2].split("\n\n")
    for rows in (table, sources.partition("─\n")[2]):
        assert [line.split()[0] for line in rows.splitlines()] == ["everything", *DEFAULT_CONTENDERS]
    assert legend.startswith("All-in cost:")
    assert [line.split()[0] for line in words.splitlines()] == list(DEFAULT_CONTENDERS)
    assert "the best possible without hiding anything" in " ".join(sampled.split())


def test_what_auto_hid_is_counted_listed_and_comes_back(sampled: str) -> None:
    said = " ".join(sampled.split())
    counted = (
        r"auto would have hidden (\d+) of \d+ things that the agent used later; one call brings back all of them\."
    )
    found = re.search(counted, said)
    assert found is not None
    assert 0 < int(found[1]) == len(re.findall(r"  (?:aged|arrival|step) +.*  yes$", sampled, re.M))


def test_the_settings_to_copy_are_settings(sampled: str, tmp_path: Path) -> None:
    block = sampled.partition("Copy into keepwhole.yaml:\n\n")[2].partition("\n\n")[0]
    (tmp_path / "keepwhole.yaml").write_text("\n".join(line.strip() for line in block.splitlines()))
    assert config.load(str(tmp_path / "keepwhole.yaml"), environ={}).policy == "auto"
    assert yaml.safe_load(block)["preset"] in ("careful", "lean")


def test_the_output_in_the_documentation_is_what_is_printed(sampled: str) -> None:
    page = Path(__file__).parents[3] / "docs/howto/replay.md"
    assert f"```text\n{sampled.rstrip()}\n```" in page.read_text(encoding="utf-8")


def test_what_a_file_gets_does_not_depend_on_how_fast_logs_are_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(replay, "_EARLY", -1)
    assert main(["replay", "--sample", "--policy", "truncation", "--jobs", "1"]) == 0
    assert capsys.readouterr().out.startswith("Read 4 runs in 4 files")


def test_missing_logs_are_reported_with_what_to_do(cli: Cli) -> None:
    done = cli("replay")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"keepwhole replay PATH" in done.stderr
    assert b"--sample" in done.stderr


def test_the_logs_of_clients_are_found_and_read_without_a_terminal(cli: Cli) -> None:
    write_samples(cli.folder)
    done = cli("replay", "--policy", "truncation")
    said = done.stdout.decode()
    assert done.returncode == 0
    assert f"claude-code  {cli.folder}/.claude/projects" in said
    assert "Read 3 runs in 3 files" in said


def test_at_a_terminal_it_asks_first(cli: Cli) -> None:
    write(cli.folder / ".claude/projects/here/log.jsonl", [record(1)])
    assert b"Replay these?" in (said := cli.on_a_terminal("replay", typed=b"n\n"))
    assert b"Read 1 run" not in said
    assert b"Read 1 run" not in cli.on_a_terminal("replay", typed=b"\x04"), "the end of input is no yes"
    assert b"Read 1 run" in cli.on_a_terminal("replay", "--policy", "auto", typed=b"\n")


def test_programs_get_one_line_of_json(cli: Cli) -> None:
    write(cli.folder / "log.jsonl", map(record, range(3)))
    found = cli.json("replay", "log.jsonl", "--policy", "auto", "clairvoyant", "--window", "128k")
    assert (found["version"], found["window"], found["totals"]["runs"]) == (1, 128_000, 3)
    assert [row["name"] for row in found["policies"]] == ["everything", "auto", "clairvoyant"]


def test_sending_everything_is_compared_once(cli: Cli) -> None:
    write(cli.folder / "log.jsonl", [record(1)])
    rows = cli.json("replay", "log.jsonl", "--policy", "everything", "auto", "everything")["policies"]
    assert [row["name"] for row in rows] == ["everything", "auto"]


def test_one_run_is_not_called_all_and_unknown_dollars_have_no_column(cli: Cli) -> None:
    write(cli.folder / "log.jsonl", [record(1)])
    said = cli.said("replay", "log.jsonl", "--policy", "auto")
    assert "Replayed 1 run at" in said
    assert "dollars" not in said


def test_short_runs_are_said_to_have_nothing_to_save(cli: Cli) -> None:
    write(cli.folder / "log.jsonl", map(record, range(3)))
    said = cli.said("replay", "log.jsonl")
    assert "auto             saves nothing on runs this short" in said
    assert "nothing to set" in " ".join(said.split())


def test_a_settings_file_is_a_policy_whatever_the_environment_says(cli: Cli) -> None:
    write(cli.folder / "log.jsonl", [record(1, 4, 9_000)])
    (cli.folder / "mine.yaml").write_text("policy: truncation\ntools:\n  truncation:\n    inline_limit: 500\n")
    cli.environ["KEEPWHOLE_POLICY"] = "retention"
    rows = cli.json("replay", "log.jsonl", "--policy", "truncation", "--policy", "mine.yaml")["policies"]
    assert [row["name"] for row in rows] == ["everything", "truncation", "mine.yaml"]
    assert rows[2]["tokens"] < rows[1]["tokens"]
    assert "inline_limit: 500" in rows[2]["settings"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--policy", "nobodys"], b"auto-lean"),
        (["--provider", "nobody"], b"anthropic"),
        (["--window", "wide"], b"128k"),
        (["--policy", "auto", "."], b"logs before `--policy`"),
        (["missing.jsonl"], b"missing.jsonl"),
    ],
)
def test_an_impossible_value_is_refused_with_the_possible_ones(cli: Cli, words: list[str], named: bytes) -> None:
    done = cli("replay", "--sample", *words) if words[0].startswith("-") else cli("replay", *words)
    assert done.returncode == 2
    assert named in done.stderr


def test_the_report_is_one_page(cli: Cli) -> None:
    write(cli.folder / "log.jsonl", map(record, range(3)))
    done = cli("replay", "log.jsonl", "--policy", "auto", "--report", "out.html")
    assert b"out.html" in done.stderr
    assert "<html" in (cli.folder / "out.html").read_text()


@pytest.mark.parametrize("path", ["no/such/out.html", "."])
def test_a_report_that_cannot_be_written_is_refused_before_the_work(cli: Cli, path: str) -> None:
    write(cli.folder / "log.jsonl", [record(1)])
    done = cli("replay", "log.jsonl", "--report", path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert path.encode() in done.stderr


def test_a_log_cannot_act_on_the_terminal(cli: Cli) -> None:
    run = record(1, source=HOSTILE)
    run["messages"][1]["tool_calls"][0]["function"]["name"] = HOSTILE
    write(cli.folder / f"log{HOSTILE[:4]}.jsonl", [run, {"source": HOSTILE}])
    received = cli.on_a_terminal("replay", ".", "--policy", "auto", "--missed")
    assert b"\\x1b[2J" in received
    assert b"\x1b[2J" not in received
    assert b"\x07" not in received


def test_what_cannot_be_read_is_named_and_the_rest_is_replayed(cli: Cli) -> None:
    write(cli.folder / "good.jsonl", map(record, range(3)))
    (cli.folder / "bad.jsonl").write_text("{oh no\n")
    done = cli("replay", ".", "--policy", "auto")
    assert done.returncode == 0
    assert b"bad.jsonl" in done.stderr
    assert b"Replayed all 3 runs" in done.stdout


def test_logs_without_runs_are_no_success(cli: Cli) -> None:
    (cli.folder / "bad.jsonl").write_text("{oh no\n")
    assert cli("replay", "bad.jsonl").returncode == 1


def test_nothing_is_wider_than_the_terminal(cli: Cli) -> None:
    write(cli.folder / "log.jsonl", map(record, range(3)))
    for columns in (60, 44):
        cli.environ["COLUMNS"] = str(columns)
        said = cli.said("replay", "log.jsonl")
        assert max(map(len, said.splitlines())) <= columns
    assert "cost (95 %)" in said


def test_ctrl_c_stops_at_once_with_what_is_known(cli: Cli) -> None:
    write(cli.folder / "log.jsonl", (record(number, 60, 6_000) for number in range(60)))
    command = [sys.executable, "-m", "keepwhole", "replay", "log.jsonl", "--all"]
    process = subprocess.Popen(
        command, env=cli.environ | {"PYTHONUNBUFFERED": "1"}, cwd=cli.folder, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    line = b""
    while b"tokens in" not in line:
        line = process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Stopped." in told
    assert b"Traceback" not in told
