"""Logs of Gemini CLI."""

from pathlib import Path
from typing import Any

from tests.logs.log_files import USUAL, gemini_cli, read, shape, the_run, told, written


def test_a_later_line_replaces_an_earlier_one_and_a_result_that_is_told_twice_counts_once(tmp_path: Path) -> None:
    run = the_run(written(tmp_path / "session-1.jsonl", gemini_cli()))
    assert told(run) == USUAL
    assert (run.source, run.id, run.task, run.meta["model"]) == ("gemini-cli", "G", "mark-prompt", "gemini-x")
    assert len(run.times) == len(run.messages)


def test_the_document_of_earlier_versions_is_read_too(tmp_path: Path) -> None:
    head, _, *rest = gemini_cli()
    messages = [line for line in rest if "type" in line and "toolCalls" not in rest[max(rest.index(line) - 1, 0)]]
    calls = next(line for line in rest if "toolCalls" in line)
    messages = [calls if line["id"] == "2" else line for line in messages if line is not calls]
    path = written(tmp_path / "session-1.json", [{**head, "messages": messages}])
    assert told(the_run(path)) == USUAL


def test_what_was_rewound_is_left_out(tmp_path: Path) -> None:
    lines = [*gemini_cli(), {"$rewindTo": "2"}, {"id": "9", "type": "gemini", "content": "other answer"}]
    run = the_run(written(tmp_path / "s.jsonl", lines))
    assert [row[1] for row in shape(run)] == ["<session_context>x", "mark-prompt", "other answer"]


def test_outputs_that_were_masked_later_stay_as_they_were(tmp_path: Path) -> None:
    masked: dict[str, Any] = {"functionResponse": {"id": "g1", "name": "shell", "response": {"output": "<masked>"}}}
    lines = [*gemini_cli(), {"$set": {"messages": [{"id": "3", "type": "user", "content": [masked]}]}}]
    assert told(the_run(written(tmp_path / "s.jsonl", lines))) == USUAL


def test_an_error_is_one_and_a_large_output_is_found_beside_the_log(tmp_path: Path) -> None:
    words = "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: /gone/g1.txt\nbegin"
    responses = [{"output": words}, {"error": "no such tool"}]
    parts = [{"functionResponse": {"id": f"g{n}", "response": given}} for n, given in enumerate(responses, 1)]
    lines = [gemini_cli()[0], {"id": "1", "type": "user", "content": parts}]
    written(tmp_path / "p" / "tool-outputs" / "session-G" / "g1.txt", ["all of it"])
    run = the_run(written(tmp_path / "p" / "chats" / "s.jsonl", lines))
    assert [(one.text, one.is_error) for one in run.messages[0].returned] == [
        ("all of it\n", False),
        ("no such tool", True),
    ]
    assert run.meta["restored_full_output"] == ["g1"]


def test_lines_of_another_kind_are_counted(tmp_path: Path) -> None:
    runs, unread = read(written(tmp_path / "s.jsonl", [*gemini_cli(), '{"half', {"what": "ever"}, "[]"]))
    assert len(runs) == 1
    assert {one.why: one.count for one in unread} == {"not JSON": 1, "not a line of Gemini CLI": 2}
