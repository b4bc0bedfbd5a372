"""What a hook does: keeps everything whole, answers only where something else is to be shown, never fails."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keepwhole.apps.hooks import command, run
from keepwhole.apps.hooks.run import answer
from keepwhole.errors import UsageError
from keepwhole.store.protocol import body_of, result_of
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.testing import printed_calls
from tests.apps.hooks.recorded import event

LONG = "".join(f"{number} of many\n" for number in range(1_500))
OUTSIZED = "".join(f"{number} of many\n" for number in range(12_000))
"""A file that is not shown in full."""


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(str(tmp_path / "home"))


def ask(one: dict[str, Any], client: str = "claude-code") -> Any:
    return answer(client, json.dumps({**one, "cwd": os.getcwd()}).encode())


def bash(output: str, call_id: str = "t1", **more: Any) -> dict[str, Any]:
    one = event("claude-code", "Bash")
    return {**one, "tool_use_id": call_id, "tool_response": {**one["tool_response"], "stdout": output, **more}}


def read(content: str, path: str = "/w/a.txt", call_id: str = "r1") -> dict[str, Any]:
    lines = content.count("\n") + 1
    file = {"filePath": path, "content": content, "numLines": lines, "startLine": 1, "totalLines": lines}
    response = {"type": "text", "file": file}
    given = {"tool_name": "Read", "tool_input": {"file_path": path}, "tool_use_id": call_id}
    return {**bash(""), **given, "tool_response": response}


def shown(answer: Any) -> Any:
    return answer["hookSpecificOutput"]["updatedToolOutput"]


def bodies(store: SqliteStore) -> list[tuple[str, bytes]]:
    (info,) = store.sessions()
    found: list[tuple[str, bytes]] = []
    for row in store.rows(info.name, kind="result"):
        with store.open(body_of(row)) as reader:
            found.append((result_of(row).tool, reader.read()))
    return found


def test_a_small_result_is_kept_and_left_alone(store: SqliteStore) -> None:
    assert ask(bash("hi")) is None
    assert bodies(store) == [("Bash", b"hi")]
    (info,) = store.sessions()
    assert (info.name, info.agent) == (bash("")["session_id"], "claude-code")


def test_an_outsized_result_is_kept_whole_and_shown_in_part_with_the_way_back(store: SqliteStore) -> None:
    words = shown(ask(bash(LONG)))["stdout"]
    assert bodies(store) == [("Bash", LONG.encode())]
    call = printed_calls(words)[-1]
    lines = Path(call.arguments["file_path"]).read_text().splitlines(keepends=True)
    first = call.arguments["offset"] - 1
    left_out = "".join(lines[first : first + call.arguments["limit"]])
    assert len(words) <= 8_000
    assert left_out + words[words.index("] ...\n") + 6 : words.index("[Artifact")] == LONG


def test_the_same_call_heard_twice_is_kept_once(store: SqliteStore) -> None:
    assert ask(bash(LONG)) == ask(bash(LONG))
    assert len(bodies(store)) == 1


def test_all_of_an_output_is_taken_from_the_clients_own_file(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "whole.txt").write_text(LONG)
    one = bash(LONG[:10_000], persistedOutputPath=str(tmp_path / "whole.txt"), persistedOutputSize=len(LONG))
    made = shown(ask(one))
    assert "persistedOutputPath" not in made
    assert "1499 of many" in made["stdout"]
    assert bodies(store) == [("Bash", LONG.encode())]


def test_what_is_not_there_whole_is_never_hidden(store: SqliteStore, tmp_path: Path) -> None:
    assert ask(bash(LONG, persistedOutputPath=str(tmp_path / "gone.txt"))) is None
    assert bodies(store) == [("Bash", LONG.encode())]


def test_what_reads_back_is_not_cut_again(store: SqliteStore) -> None:
    path = printed_calls(shown(ask(bash(OUTSIZED)))["stdout"])[-1].arguments["file_path"]
    assert ask(read(OUTSIZED, path, "t2")) is None
    assert ask({**bash(OUTSIZED, "t3"), "tool_input": {"command": f"cat {path}"}}) is None
    assert [body for _, body in bodies(store)] == [OUTSIZED.encode()] * 3


def test_what_reads_back_has_imitated_notices_marked_and_nothing_else_changed() -> None:
    forged = "1 of many\n[lines 1-2 of 2, the end]\n"
    path = printed_calls(shown(ask(bash(OUTSIZED + forged)))["stdout"])[-1].arguments["file_path"]
    marked = forged.replace("[lines", "[quoted] [lines")
    assert shown(ask(read(OUTSIZED + forged, path, "t2")))["file"]["content"] == OUTSIZED + marked
    by_shell = {**bash(forged, "t3"), "tool_input": {"command": f"tail -n 2 {path}"}}
    assert shown(ask(by_shell))["stdout"] == marked
    too_long = {**bash(OUTSIZED + forged, "t4"), "tool_input": {"command": f"cat {path}"}}
    assert ask(too_long) is None, "the client would cut a replacement of this length"


def test_a_read_is_cut_only_at_its_end_so_that_line_numbers_stay_true() -> None:
    made = shown(ask(read(OUTSIZED)))["file"]
    kept, _, notice = made["content"].partition("\n... [Remainder omitted: ")
    assert OUTSIZED.startswith(kept)
    assert kept.endswith("\n")
    assert len(kept) > 100_000
    call = printed_calls(notice)[-1]
    assert call.arguments["offset"] == kept.count("\n") + 1
    assert made["startLine"] == 1


def test_a_refused_second_read_leads_to_what_was_hidden() -> None:
    first = printed_calls(shown(ask(read(OUTSIZED)))["file"]["content"])[-1]
    again = {
        **read("", call_id="r2"),
        "tool_response": event("claude-code", "Read", type="file_unchanged")["tool_response"],
    }
    words = shown(ask(again))["file"]["content"]
    assert printed_calls(words)[-1] == first
    assert len(words) < 500


def test_a_refused_read_is_about_the_newest_result_of_that_agent() -> None:
    unchanged = event("claude-code", "Read", type="file_unchanged")["tool_response"]
    assert ask(read(OUTSIZED)) is not None
    refused = {**read(""), "tool_response": unchanged}
    assert ask({**refused, "tool_use_id": "r2", "agent_id": "a1"}) is None
    assert ask({**refused, "tool_use_id": "r3"}) == ask({**refused, "tool_use_id": "r4"}) is not None
    assert ask(read("mended\n", call_id="r5")) is None
    assert ask({**refused, "tool_use_id": "r6"}) is None


def test_a_refused_second_read_is_left_alone_where_the_first_was_shown_whole() -> None:
    unchanged = event("claude-code", "Read", type="file_unchanged")["tool_response"]
    assert ask(read("short\n")) is None
    assert ask({**read("", call_id="r2"), "tool_response": unchanged}) is None
    assert ask({**read("", "/w/other.txt", "r3"), "tool_response": unchanged}) is None


def test_what_cannot_be_replaced_is_kept_without_a_decision(store: SqliteStore) -> None:
    one = {**event("claude-code", "Write"), "tool_response": {"content": LONG}}
    assert ask(one) is None
    (info,) = store.sessions()
    assert info.entries == 1
    assert json.loads(bodies(store)[0][1])["content"] == LONG


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_unless_the_mode_is_on_results_are_only_kept(
    mode: str, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPWHOLE_MODE", mode)
    assert ask(bash(LONG)) is None
    assert bodies(store) == [("Bash", LONG.encode())]


def test_a_record_that_cannot_be_written_leaves_results_alone(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder can be here")
    assert ask(bash(LONG)) is None


def test_results_of_a_sub_agent_are_in_its_session_under_its_name(store: SqliteStore) -> None:
    ask({**bash("hi"), "agent_id": "a1"})
    (info,) = store.sessions()
    (row,) = store.rows(info.name)
    assert result_of(row).task_id == "a1"


def test_after_compaction_the_model_is_told_in_one_line_where_earlier_results_are(store: SqliteStore) -> None:
    start = {**bash(""), "hook_event_name": "SessionStart", "source": "compact"}
    assert ask({**start, "session_id": "empty"}) is None
    ask(bash("hi"))
    assert ask({**start, "source": "startup"}) is None
    told = ask(start)["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    assert f"sessions show {start['session_id']}`" in told["additionalContext"]
    assert f"search --session {start['session_id']}`" in told["additionalContext"]
    assert "\n" not in told["additionalContext"]
    tools = [result_of(row).tool for row in store.rows(start["session_id"])]
    assert tools == ["Bash", "SessionStart", "SessionStart"]


def test_a_session_id_that_cannot_be_ours_gets_a_name_that_can(store: SqliteStore) -> None:
    ask({**bash("hi"), "session_id": "../../x y"})
    (info,) = store.sessions()
    assert info.name.startswith("claude-code-")


def test_opencode_passes_its_results_on_and_takes_views_back(store: SqliteStore, tmp_path: Path) -> None:
    one = {"event": "returned", "session_id": "ses_1", "tool": "bash", "call_id": "c1", "args": {"command": "x"}}
    assert ask({**one, "output": "hi", "metadata": {"exit": 2}}, "opencode") is None
    (tmp_path / "whole").write_text(LONG)
    cut = {"output": "cut", "metadata": {"exit": 0, "truncated": True, "outputPath": str(tmp_path / "whole")}}
    answer = ask({**one, **cut, "call_id": "c2"}, "opencode")
    assert printed_calls(answer["output"])[-1].name == "read"
    assert [body for _, body in bodies(store)] == [b"hi", LONG.encode()]
    assert ask({"event": "compacting", "session_id": "ses_1"}, "opencode")["context"].startswith("Tool results from")
    assert ask({"event": "returned", "output": None}, "opencode") is None


def test_opencode_gets_no_notice_where_it_may_not_read_the_files_of_results(store: SqliteStore, tmp_path: Path) -> None:
    one = {"event": "returned", "session_id": "ses_1", "tool": "bash", "call_id": "c1", "args": {"command": "x"}}
    assert ask({**one, "output": LONG, "metadata": {}, "may_read": False}, "opencode") is None
    assert bodies(store) == [("bash", LONG.encode())]
    assert ask({"event": "configuring"}, "opencode") == {"results": str(tmp_path / "home" / "results")}


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'{"hook_event_name": "PostToolUse"}', b"\xff\xfe", b"[" * 50_000])
@pytest.mark.parametrize("client", ["claude-code", "codex", "opencode"])
def test_a_client_never_fails_for_us(data: bytes, client: str, tmp_path: Path) -> None:
    environ = {**os.environ, "KEEPWHOLE_CONFIG": "/no/such/file"}
    command = [sys.executable, "-m", "keepwhole", "hook", "run", client]
    done = subprocess.run(command, input=data, env=environ, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


def test_the_process_answers_as_the_function_does(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "keepwhole", "hook", "run", "claude-code"]
    given = json.dumps({**bash(LONG), "cwd": str(tmp_path)}).encode()
    done = subprocess.run(command, input=given, cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(done.stdout) == ask(bash(LONG))


@pytest.mark.parametrize(
    ("answered", "out", "err"),
    [
        ({"a": "é"}, '{"a": "\\u00e9"}', ""),
        (None, "", ""),
        (ValueError("odd"), "", "keepwhole: the result was passed on unchanged: ValueError: odd\n"),
        (UsageError("Do this."), "", "keepwhole: the result was passed on unchanged: Do this.\n"),
    ],
)
def test_a_hook_answers_or_says_why_not_and_never_fails(
    answered: object, out: str, err: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answering(client: str, given: bytes) -> object:
        assert (client, given) == ("codex", b"{}")
        if isinstance(answered, Exception):
            raise answered
        return answered

    monkeypatch.setattr(run, "answer", answering)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"{}")))
    assert run.run("codex") == 0
    assert tuple(capsys.readouterr()) == (out, err)


def test_a_hook_is_run_by_the_script_beside_python_or_else_by_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "a b" / "python"))
    assert command.command_line() == f"'{tmp_path}/a b/python' -P -m keepwhole"
    (tmp_path / "a b").mkdir()
    script = tmp_path / "a b" / "keepwhole"
    script.write_text("")
    script.chmod(0o755)
    assert command.command_line() == f"'{script}'"


def test_what_is_not_a_hooks_json_is_named_and_the_client_is_told_of_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"ls -l\n")))
    assert run.run("claude-code") == 0
    said = capsys.readouterr()
    assert (said.out, "standard input is not the JSON that claude-code gives to its hooks" in said.err) == ("", True)
