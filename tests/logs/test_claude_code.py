"""Logs of Claude Code."""

import json
from pathlib import Path

import pytest

from keepwhole.canonical.media import Media
from keepwhole.models.media_tokens import media_tokens
from tests.logs.log_files import USUAL, ClaudeCode, claude_code, read, shape, text, the_run, told, use, written


def test_lines_of_one_response_are_one_message_and_thinking_is_left_out(tmp_path: Path) -> None:
    run = the_run(written(tmp_path / "S.jsonl", claude_code()))
    assert told(run) == USUAL
    assert (run.source, run.id, run.task) == ("claude-code", "S", "mark-prompt")
    assert (run.meta["model"], run.meta["project"]) == ("claude-x", "/w")
    assert len(run.times) == len(run.messages)
    assert run.times[-1] - run.times[0] == 8


def test_a_line_that_comes_again_counts_once(tmp_path: Path) -> None:
    lines = claude_code()
    assert told(the_run(written(tmp_path / "S.jsonl", [*lines, *lines]))) == USUAL


def test_what_the_user_took_back_is_left_out(tmp_path: Path) -> None:
    log = ClaudeCode()
    start = log.user("begin")
    log.user("wrong way", parentUuid=start)
    log.assistant("m1", use("t1"))
    log.result("t1", "of the wrong way")
    log.user("right way", parentUuid=start)
    log.assistant("m2", text("good"))
    run = the_run(written(tmp_path / "S.jsonl", log.lines))
    assert [row[1] for row in shape(run)] == ["begin", "right way", "good"]


def test_a_first_prompt_that_was_written_anew_begins_another_run(tmp_path: Path) -> None:
    log = ClaudeCode()
    log.user("first try")
    log.assistant("m1", use("t1"))
    log.result("t1", "of the first try")
    log.user("second try", parentUuid=None)
    log.assistant("m2", text("good"))
    runs, _ = read(written(tmp_path / "S.jsonl", log.lines))
    assert [(run.id, len(run.messages)) for run in runs] == [("S", 3), ("S/#2", 2)]


def test_what_is_no_message_begins_nothing(tmp_path: Path) -> None:
    log = ClaudeCode()
    log.user("one")
    log.add(type="system", subtype="informational", parentUuid=None)
    log.assistant("m1", text("two"))
    run = the_run(written(tmp_path / "S.jsonl", log.lines))
    assert [row[1] for row in shape(run)] == ["one", "two"]


def test_a_lost_line_does_not_cut_the_run_in_two(tmp_path: Path) -> None:
    lines = claude_code()
    broken = '{"type":"assistant","uuid":"u4","mess'
    runs, unread = read(written(tmp_path / "S.jsonl", [*lines[:4], broken, *lines[5:]]))
    assert [row[1] for row in shape(runs[0])] == ["mark-prompt", "mark-said", "", "", "mark-answer"]
    assert [(one.why, one.count, one.first_line) for one in unread] == [("not JSON", 1, 5)]


def test_sub_agents_among_the_lines_are_runs_of_their_own(tmp_path: Path) -> None:
    log = ClaudeCode()
    call = log.user("main")
    log.user("side one", isSidechain=True, parentUuid=None)
    log.assistant("m1", text("side one says"), isSidechain=True)
    log.user("side two", isSidechain=True, parentUuid=call)
    log.assistant("m2", text("side two says"), isSidechain=True)
    log.assistant("m3", text("main says"), parentUuid=call)
    runs, _ = read(written(tmp_path / "S.jsonl", log.lines))
    assert [[row[1] for row in shape(run)] for run in runs] == [
        ["main", "main says"],
        ["side one", "side one says"],
        ["side two", "side two says"],
    ]
    assert [run.meta.get("parent") for run in runs] == [None, "S", "S"]
    assert len({run.id for run in runs}) == 3


def test_a_sub_agent_in_a_file_of_its_own_names_its_session(tmp_path: Path) -> None:
    log = ClaudeCode(isSidechain=True, agentId="a1")
    log.user("dig")
    log.assistant("m1", text("dug"))
    run = the_run(written(tmp_path / "S" / "subagents" / "agent-a1.jsonl", log.lines))
    assert (run.id, run.meta["parent"], run.meta["agent"]) == ("S/a1", "S", "a1")


def test_a_compaction_is_passed_and_its_summary_is_said_by_the_user(tmp_path: Path) -> None:
    log = ClaudeCode()
    last = log.user("before")
    log.add(type="system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=last)
    log.user("This session is being continued", isCompactSummary=True)
    log.assistant("m1", text("after"))
    run = the_run(written(tmp_path / "S.jsonl", log.lines))
    assert [row[1] for row in shape(run)] == ["before", "This session is being continued", "after"]
    assert run.meta["compactions"] == 1


def persisted(path: Path, **kept: object) -> ClaudeCode:
    log = ClaudeCode()
    log.user("go")
    log.assistant("m1", use("t1"))
    frame = "<persisted-output>\nOutput too large (33.1KB). Full output saved to: {}\n\nPreview (first 2KB):\n{}\n"
    log.result("t1", frame.format(path, "the beginning"), toolUseResult={"stdout": "the beginning and", **kept})
    return log


def test_a_large_output_is_whole_again_where_its_file_is_still_there(tmp_path: Path) -> None:
    saved = tmp_path / "S" / "tool-results" / "b1.txt"
    written(saved, ["the beginning and the end"])
    run = the_run(written(tmp_path / "S.jsonl", persisted(Path("/elsewhere/S/tool-results/b1.txt")).lines))
    assert run.messages[-1].returned[0].text == "the beginning and the end\n"
    assert run.meta["restored_full_output"] == ["t1"]


def test_no_file_is_read_that_is_not_beside_the_log(tmp_path: Path) -> None:
    secret = written(tmp_path / "secret.txt", ["secret"])
    log = persisted(Path("../../secret.txt"), persistedOutputPath=str(secret), persistedOutputSize=99_999)
    run = the_run(written(tmp_path / "logs" / "S.jsonl", log.lines))
    assert "secret" not in run.messages[-1].returned[0].text.replace("secret.txt", "")
    assert run.meta["legacy_truncated"] == ["t1"]


def test_an_image_is_counted_and_what_the_program_says_for_the_model_is_not(tmp_path: Path) -> None:
    log = ClaudeCode()
    log.user([{"type": "image", "source": {"type": "base64", "data": "AAAA"}}])
    message = {"role": "assistant", "model": "<synthetic>", "content": [text("API Error")]}
    log.add(type="assistant", isApiErrorMessage=True, message=message)
    run = the_run(written(tmp_path / "S.jsonl", log.lines))
    unmeasured = media_tokens(Media("image/unknown", 3, b""))
    assert [(one.role, one.other) for one in run.messages] == [("user", unmeasured)]


def test_half_a_character_is_no_broken_line(tmp_path: Path) -> None:
    log = ClaudeCode()
    log.user("cut \ud83d here")
    log.assistant("m1", text("whole \U0001f600"))
    run = the_run(written(tmp_path / "S.jsonl", log.lines))
    assert [row[1] for row in shape(run)] == ["cut \ufffd here", "whole \U0001f600"]


def test_the_printed_stream_of_a_headless_run_is_read_too(tmp_path: Path) -> None:
    says = {"id": "m1", "role": "assistant", "model": "claude-x", "content": [use("t1")]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "out"}]}
    lines = [
        {"type": "system", "subtype": "init", "session_id": "S", "uuid": "a"},
        {"type": "assistant", "message": says, "session_id": "S", "uuid": "b", "parent_tool_use_id": None},
        {"type": "user", "message": result, "session_id": "S", "uuid": "c", "parent_tool_use_id": None},
        {"type": "result", "subtype": "success", "session_id": "S", "uuid": "d"},
    ]
    run = the_run(written(tmp_path / "stream.jsonl", lines))
    assert run.id == "S"
    assert shape(run) == [("assistant", "", ["t1"], []), ("tool", "", [], ["out"])]


def test_a_session_in_which_nothing_was_said_is_no_run_and_no_trouble(tmp_path: Path) -> None:
    lines = [{"type": "summary", "summary": "x", "leafUuid": "u"}, {"type": "mode", "mode": "normal", "sessionId": "S"}]
    assert read(written(tmp_path / "S.jsonl", lines)) == ([], [])


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('[{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]', "one\ntwo"),
        ('[{"type": "text"', '[{"type": "text"'),
        ('{"no": "content"}', '{"no": "content"}'),
    ],
)
def test_a_saved_output_that_is_json_is_read_as_the_texts_in_it(tmp_path: Path, content: str, found: str) -> None:
    saved = tmp_path / "S" / "tool-results" / "b1.json"
    saved.parent.mkdir(parents=True)
    saved.write_text(content)
    run = the_run(written(tmp_path / "S.jsonl", persisted(Path("/elsewhere/S/tool-results/b1.json")).lines))
    assert run.messages[-1].returned[0].text == found
    (tmp_path / "S.jsonl").unlink()
    saved.rename(saved.with_suffix(".txt"))
    run = the_run(written(tmp_path / "S.jsonl", persisted(Path("/elsewhere/S/tool-results/b1.txt")).lines))
    assert run.messages[-1].returned[0].text == content


def test_of_several_results_only_those_that_were_cut_are_looked_for(tmp_path: Path) -> None:
    log = persisted(Path("/elsewhere/S/tool-results/b1.txt"))
    message = log.lines[-1]["message"]
    message["content"].append({"type": "tool_result", "tool_use_id": "t2", "content": "short"})
    written(tmp_path / "S" / "tool-results" / "b1.txt", ["all of it"])
    run = the_run(written(tmp_path / "S.jsonl", log.lines))
    texts = [one.text for message in run.messages for one in message.returned]
    assert texts == ["all of it\n", "short"]
    assert run.meta["restored_full_output"] == ["t1"]


def test_what_the_program_notes_of_a_cut_result_may_be_unreadable(tmp_path: Path) -> None:
    log = persisted(Path("/elsewhere/S/tool-results/b1.txt"))
    log.lines[-1]["toolUseResult"] = "MARK"
    last = json.dumps(log.lines[-1]).replace('"MARK"', '{"stdout": "longer than that preview " , "size": 1e999}')
    run = the_run(written(tmp_path / "S.jsonl", [*log.lines[:-1], last]))
    assert "Preview (first 2KB)" in run.messages[-1].returned[0].text
    assert run.meta["legacy_truncated"] == ["t1"]
