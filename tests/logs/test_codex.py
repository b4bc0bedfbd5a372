"""Logs of Codex."""

import os
from pathlib import Path

from keepwhole import MemoryStore
from keepwhole.canonical.body import digest_of_bytes
from keepwhole.logs.run import Run
from keepwhole.policies.transcript import Transcript
from keepwhole.record.log_import import import_run
from keepwhole.store.protocol import result_of
from tests.logs.log_files import USUAL, codex, item, rollout, shape, the_run, told, written

META = ("session_meta", {"id": "T", "cwd": "/w"})
HEADER = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"


def test_items_of_one_response_are_one_message_and_events_are_passed_over(tmp_path: Path) -> None:
    run = the_run(written(tmp_path / "rollout-T.jsonl", codex()))
    assert told(run) == USUAL
    assert run.messages[0][:2] == ("system", "mark-told")
    assert (run.source, run.id, run.task) == ("codex", "T", "mark-prompt")
    assert (run.meta["model"], run.meta["project"]) == ("gpt-x", "/w")
    assert len(run.times) == len(run.messages)


def test_results_come_right_after_their_calls_whatever_was_said_between(tmp_path: Path) -> None:
    lines = rollout(
        META,
        item("local_shell_call", call_id="c1", action={"command": ["ls"]}),
        item("message", role="developer", content=[{"type": "input_text", "text": "a hook says"}]),
        item("message", role="user", content=[{"type": "input_text", "text": "wait"}]),
        item("function_call_output", call_id="c1", output="a.txt"),
    )
    run = the_run(written(tmp_path / "r.jsonl", lines))
    assert [(row[0], row[1] or row[3]) for row in shape(run)] == [
        ("assistant", []),
        ("tool", ["a.txt"]),
        ("system", "a hook says"),
        ("user", "wait"),
    ]
    assert run.messages[0].calls[0].tool == "local_shell"


def cut(printed: str) -> list[dict[str, object]]:
    event = {"type": "item_completed", "item": {"type": "CommandExecution", "id": "c1", "aggregated_output": printed}}
    return rollout(
        META,
        item("function_call", call_id="c1", name="exec_command", arguments="{}"),
        ("event_msg", event),
        item("function_call_output", call_id="c1", output=f"{HEADER}be…17224 tokens truncated…nd"),
    )


def test_a_cut_output_is_whole_again_where_an_event_has_more_of_it(tmp_path: Path) -> None:
    run = the_run(written(tmp_path / "r.jsonl", cut("the beginning, the middle and the end, which is all of it")))
    assert run.messages[-1].returned[0].text == "the beginning, the middle and the end, which is all of it"
    assert run.meta["restored_full_output"] == ["c1"]


def test_an_event_that_is_cut_too_is_taken_for_what_it_is(tmp_path: Path) -> None:
    run = the_run(written(tmp_path / "r.jsonl", cut("x" * 65_536)))
    assert run.messages[-1].returned[0].text == "x" * 65_536
    assert run.meta["legacy_truncated"] == ["c1"]


def test_a_result_is_imported_without_its_frame_and_not_again_where_it_was_imported_with_it(tmp_path: Path) -> None:
    call = item("function_call", call_id="c1", name="exec_command", arguments="{}")
    lines = rollout(
        META, call, item("function_call_output", call_id="c1", output=HEADER.replace("0\n", "3\n") + "word")
    )
    run = the_run(written(tmp_path / "r.jsonl", lines))
    framed = run.messages[-1].returned[0]
    came = framed._replace(text=framed.around(framed.text), before="", exit_code=None)
    earlier = run.replace(messages=(*run.messages[:-1], run.messages[-1]._replace(returned=(came,), other=0)))
    assert transcript_tokens(run) >= transcript_tokens(earlier)
    stores = MemoryStore(), MemoryStore()
    importing = [(stores[0], run), (stores[1], earlier), (stores[1], run)]
    added = [import_run(store, one, quota=1 << 20, now=0, random=os.urandom).added for store, one in importing]
    assert added == [1, 1, 0]
    (row,) = stores[0].rows("codex:T", kind="result")
    result = result_of(row)
    assert row.digest == digest_of_bytes(b"word")
    assert (result.exit_code, result.is_error, result.frame) == (3, True, (framed.before, ""))


def transcript_tokens(run: Run) -> int:
    transcript = Transcript()
    transcript.extend(run.messages)
    return transcript.tokens


def test_a_compaction_is_passed_and_its_summary_is_said_by_the_user(tmp_path: Path) -> None:
    lines = rollout(
        META,
        item("function_call", call_id="c1", name="exec_command", arguments="{}"),
        item("function_call_output", call_id="c1", output="old"),
        item("message", role="assistant", content=[{"type": "output_text", "text": "what was done"}]),
        ("compacted", {"message": "A summary:\nwhat was done", "replacement_history": []}),
        item("message", role="assistant", content=[{"type": "output_text", "text": "on"}]),
    )
    run = the_run(written(tmp_path / "r.jsonl", lines))
    assert [row[1] or row[3] for row in shape(run)] == [[], ["old"], "A summary:\nwhat was done", "on"]
    assert run.meta["compactions"] == 1


def test_a_fork_and_a_sub_agent_name_where_they_came_from(tmp_path: Path) -> None:
    said = item("message", role="user", content=[{"type": "input_text", "text": "go"}])
    begun = ("session_meta", {"id": "T2", "parent_thread_id": "T", "cwd": "/w"})
    run = the_run(written(tmp_path / "r.jsonl", rollout(begun, META, said)))
    assert (run.id, run.meta["parent"]) == ("T2", "T")


def test_a_log_that_ends_in_a_call_is_read_to_its_end(tmp_path: Path) -> None:
    lines = rollout(META, item("function_call", call_id="c1", name="exec_command", arguments="{}"))
    assert shape(the_run(written(tmp_path / "r.jsonl", lines))) == [("assistant", "", ["c1"], [])]


def test_of_several_texts_of_a_result_only_the_one_that_was_cut_is_made_whole(tmp_path: Path) -> None:
    lines = cut("the beginning, the middle and the end, which is all of it")
    whole = {"type": "input_text", "text": "short"}
    parts = [{"type": "input_text", "text": lines[-1]["payload"]["output"]}, whole]  # type: ignore[index]
    run = the_run(
        written(tmp_path / "r.jsonl", [*lines[:-1], *rollout(item("function_call_output", call_id="c1", output=parts))])
    )
    assert [one.text for one in run.messages[-1].returned][-1] == "short"
