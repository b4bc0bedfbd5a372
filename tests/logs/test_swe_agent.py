"""Trajectories of SWE-agent."""

import json
from pathlib import Path
from typing import Any

from tests.logs.log_files import read, shape, the_run, written

SETTINGS = json.dumps({"agent": {"model": {"name": "model-x"}}})


def trajectory(path: Path, history: list[dict[str, Any]], steps: list[dict[str, Any]] | None = None) -> Path:
    document = {
        "environment": "main",
        "trajectory": steps or [],
        "history": history,
        "info": {"exit_status": "submitted"},
    }
    return written(path, [json.dumps({**document, "replay_config": SETTINGS}, indent=2)])


def test_calls_of_tools_are_read(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    history = [
        {"role": "system", "content": "You are", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": [{"type": "text", "text": "solve"}], "message_type": "observation"},
        {"role": "assistant", "content": "hm", "action": "ls", "tool_calls": [call], "message_type": "action"},
        {"role": "tool", "content": [{"type": "text", "text": "a.py"}], "tool_call_ids": ["c1"]},
    ]
    run = the_run(trajectory(tmp_path / "django__django-1.traj", history))
    assert shape(run) == [
        ("system", "You are", [], []),
        ("user", "solve", [], []),
        ("assistant", "hm", ["c1"], []),
        ("tool", "", [], ["a.py"]),
    ]
    assert (run.source, run.id, run.task) == ("swe-agent", "django__django-1", "django__django-1")
    assert run.meta["model"] == "model-x"


def test_text_actions_become_calls_and_demonstrations_are_told_by_the_user(tmp_path: Path) -> None:
    history = [
        {"role": "assistant", "content": "shown", "action": "ls", "is_demo": True},
        {"role": "user", "content": "solve"},
        {"role": "assistant", "content": "DISCUSSION\nopen it", "thought": "open it", "action": "open a.py 3\n"},
        {"role": "user", "content": "[File: a.py]", "message_type": "observation"},
        {"role": "assistant", "content": "run it", "action": "python a.py"},
        {"role": "user", "content": "ok"},
    ]
    run = the_run(trajectory(tmp_path / "t.traj", history))
    assert [row[0] for row in shape(run)] == ["user", "user", "assistant", "tool", "assistant", "tool"]
    calls = [(call.tool, call.arguments) for message in run.messages for call in message.calls]
    assert calls == [("open", '{"command": "open a.py 3"}'), ("bash", '{"command": "python a.py"}')]


def test_a_trajectory_without_a_history_is_told_by_its_steps(tmp_path: Path) -> None:
    steps = [{"action": "ls", "observation": "a.py", "response": "look"}, {"action": "", "response": "done"}]
    run = the_run(trajectory(tmp_path / "t.traj", [], steps))
    assert [row[1] or row[3] for row in shape(run)] == ["look", ["a.py"], "done"]


def test_a_document_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = trajectory(tmp_path / "t.traj", [{"role": "user", "content": "solve"}])
    path.write_text(path.read_text()[:-9])
    runs, (unread,) = read(path)
    assert runs == []
    assert unread.path == path


def test_a_trajectory_in_which_nothing_happened_is_counted(tmp_path: Path) -> None:
    _, (unread,) = read(trajectory(tmp_path / "t.traj", []))
    assert unread.why == "not a trajectory"
