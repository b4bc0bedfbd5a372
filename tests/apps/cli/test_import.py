"""`keepwhole import`: logs of agents become sessions that can be searched and shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.apps.cli.cli import Cli
from tests.logs.log_files import written
from tests.logs.test_claude_code import persisted
from tests.replay.logs import record, write


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_past_runs_can_be_searched_and_shown(cli: Cli) -> None:
    write(cli.folder / "logs" / "runs.jsonl", [record(1), record(2)])
    done = cli("import", "logs")
    assert done.returncode == 0, done.stderr
    assert b"2 runs, 6 results added, 0 already in the record." in done.stdout
    sessions = [one["session"] for one in cli.json("import", "logs")["sessions"]]
    assert len(sessions) == 2
    session = next(name for name in sessions if "run-2" in name)
    found = cli.json("search", "--session", session, "W-0002-002")["units"]
    assert "W-0002-002" in found[0]["text"]
    shown = cli.json("show", found[0]["artifact_id"], "--session", session)
    assert shown["returned"].startswith("next is W-0002-00")
    assert (shown["tool"], shown["flags"]) == ("tool", [])
    assert "W-0002" in shown["arguments"]


def test_importing_twice_adds_nothing(cli: Cli) -> None:
    write(cli.folder / "runs.jsonl", [record(1), record(2)])
    first = cli.json("import", "runs.jsonl")
    again = cli.json("import", "runs.jsonl")
    assert (first["added"], again["added"], again["results"]) == (6, 0, 6)
    assert cli("sessions", "verify", "--all").returncode == 0


def test_a_run_that_went_on_adds_what_is_new(cli: Cli) -> None:
    write(cli.folder / "runs.jsonl", [record(1, steps=2)])
    cli.json("import", "runs.jsonl")
    write(cli.folder / "runs.jsonl", [record(1, steps=5)])
    assert cli.json("import", "runs.jsonl")["added"] == 3


def test_what_was_cut_before_is_marked_and_backfilled_once_the_whole_is_there(cli: Cli) -> None:
    log = persisted(Path("/elsewhere/S/tool-results/b1.txt"), persistedOutputSize=99_999)
    written(cli.folder / "S.jsonl", log.lines)
    first = cli.json("import", "S.jsonl")
    assert (first["truncated"], first["restored"]) == (1, 0)
    written(cli.folder / "S" / "tool-results" / "b1.txt", ["the beginning and the end"])
    second = cli.json("import", "S.jsonl")
    assert (second["added"], second["truncated"], second["restored"]) == (1, 0, 1)
    units = cli.json("search", "--session", second["sessions"][0]["session"], "beginning", "end")["units"]
    assert any("the beginning and the end" in unit["text"] for unit in units)


def test_the_flag_of_a_cut_result_is_shown(cli: Cli) -> None:
    messages = record(1, steps=1)["messages"]
    messages[-1]["content"] = "harbour lights\n... [4 lines / 900 chars omitted] ...\nmore"
    write(cli.folder / "runs.jsonl", [{"source": "a", "id": "b/c", "messages": messages}])
    report = cli.json("import", "runs.jsonl")
    assert report["truncated"] == 1
    session = report["sessions"][0]["session"]
    assert session.startswith("a:b-c-")
    found = cli.json("search", "--session", session, "harbour", "lights")["units"]
    assert "legacy_truncated" in cli.json("show", found[0]["artifact_id"])["flags"]


def test_times_of_the_log_are_kept(cli: Cli) -> None:
    log = persisted(Path("b1.txt"))
    written(cli.folder / "S.jsonl", log.lines)
    session = cli.json("import", "S.jsonl")["sessions"][0]["session"]
    found = cli.json("search", "--session", session, "beginning")["units"]
    shown = cli.json("show", found[0]["artifact_id"])
    assert shown["at"] == 1_893_456_002_000
    assert found[0]["artifact_id"].split("_")[1] == str(shown["at"] // 1000)


def test_logs_without_results_and_files_that_are_no_logs_are_reported(cli: Cli) -> None:
    (cli.folder / "x.jsonl").write_text("no log\n")
    done = cli("import", "x.jsonl")
    assert done.returncode == 1
    assert b"not read: x.jsonl" in done.stderr
    assert b"There are no tool results" in done.stdout
    assert cli("import", "nowhere").returncode == 2


def test_over_the_quota_the_rest_is_left_out_and_said(cli: Cli) -> None:
    write(cli.folder / "runs.jsonl", [record(1, steps=3, chars=3_000)])
    cli.environ["KEEPWHOLE_SESSION_QUOTA"] = "8000"
    report = cli.json("import", "runs.jsonl")
    assert (report["added"] + report["refused"], report["refused"] > 0) == (3, True)
    del cli.environ["KEEPWHOLE_SESSION_QUOTA"]
    assert cli.json("import", "runs.jsonl")["added"] == report["refused"]


ASK: dict[str, Any] = {"role": "user", "content": "go on"}
UNNAMED = {
    "null": {"role": "tool", "tool_call_id": None, "content": "mark-1"},
    "missing": {"role": "tool", "content": "mark-1"},
    "a number": {"role": "tool", "tool_call_id": 7, "content": "mark-1"},
    "of the old functions": {"role": "function", "name": "ls", "content": "mark-1"},
    "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": None, "content": "mark-1"}]},
}


@pytest.mark.parametrize("message", UNNAMED.values(), ids=UNNAMED)
def test_results_that_name_no_call_are_imported(cli: Cli, message: dict[str, Any]) -> None:
    write(cli.folder / "runs.jsonl", [{"source": "s", "id": "1", "messages": [ASK, message]}])
    assert cli.json("import", "runs.jsonl")["added"] == 1
    assert cli.json("import", "runs.jsonl")["added"] == 0
    (cli.folder / "requests.jsonl").write_text(json.dumps({"model": "m", "messages": [ASK, message]}))
    assert cli.json("import", "requests.jsonl")["added"] == 1


def run_of(*outputs: str, path: str = "x", call_id: str | None = None) -> dict[str, Any]:
    messages = [ASK]
    for number, output in enumerate(outputs):
        name = call_id if call_id is not None else f"c{number}"
        function = {"name": "read_file", "arguments": json.dumps({"path": path})}
        messages.append({"role": "assistant", "tool_calls": [{"id": name, "type": "function", "function": function}]})
        messages.append({"role": "tool", "tool_call_id": name, "content": output})
    return {"source": "agent", "id": "1", "messages": messages}


OTHERS = {
    "another text": run_of("four", "five"),
    "another call": run_of("one", "two", path="y"),
    "mostly another": run_of("one", "four", "five"),
    "without ids": run_of("four", call_id=""),
}


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_two_runs_of_one_source_and_id_are_two_sessions(cli: Cli, other: dict[str, Any], together: bool) -> None:
    first = run_of("one", "two", "three")
    if together:
        write(cli.folder / "runs.jsonl", [first, other])
        done = cli.json("import", "runs.jsonl")
    else:
        write(cli.folder / "a.jsonl", [first])
        write(cli.folder / "runs.jsonl", [other])
        cli.json("import", "a.jsonl")
        done = cli.json("import", "runs.jsonl")
    assert done["apart"] == 1
    assert done["sessions"][-1]["session"] == "agent:1-2"
    assert cli.json("import", "runs.jsonl")["added"] == 0


def test_a_run_that_went_on_stays_one_session(cli: Cli) -> None:
    for outputs in (("one",), ("one", "two"), ("one", "two", "three")):
        write(cli.folder / "runs.jsonl", [run_of(*outputs)])
        done = cli.json("import", "runs.jsonl")
        assert (done["added"], done["apart"]) == (1, 0)
