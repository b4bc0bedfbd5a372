"""The database of opencode."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.logs.log_files import (
    USUAL,
    opencode_database,
    opencode_session,
    read,
    shape,
    text,
    the_run,
    told,
    tool_part,
    written,
)


def test_calls_and_results_are_told_apart_and_reasoning_is_left_out(tmp_path: Path) -> None:
    run = the_run(opencode_database(tmp_path / "opencode.db", {"ses_1": opencode_session()}))
    assert told(run) == USUAL
    assert (run.source, run.id, run.task) == ("opencode", "ses_1", "mark-prompt")
    assert (run.meta["model"], run.meta["project"]) == ("m1", "/w")
    assert run.times[0] == 1_900_000_000


def test_every_session_is_a_run_and_a_sub_agent_names_its_parent(tmp_path: Path) -> None:
    path = opencode_database(tmp_path / "o.db", {"one": opencode_session(), "two<one": opencode_session(), "empty": []})
    runs, unread = read(path)
    assert [(run.id, run.meta.get("parent")) for run in runs] == [("one", None), ("two<one", "one")]
    assert unread == []


def test_rows_that_are_still_in_the_log_of_the_database_are_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE project (id)")
    opencode_database(path, {"ses_1": opencode_session()})
    assert path.with_name("opencode.db-wal").stat().st_size > 0
    assert told(the_run(path)) == USUAL
    writer.close()


def test_reading_makes_no_file_beside_a_database_that_nobody_has_open(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    sqlite3.connect(path).execute("PRAGMA journal_mode = WAL").connection.close()
    opencode_database(path, {"ses_1": opencode_session()})
    the_run(path)
    assert [one.name for one in tmp_path.iterdir()] == ["opencode.db"]


def test_errors_cut_outputs_and_images_keep_what_is_known_of_them(tmp_path: Path) -> None:
    parts = [
        tool_part("c1", "", status="error", error="it failed"),
        tool_part(
            "c2", "tail", metadata={"truncated": True, "outputPath": "/gone/tool_1"}, attachments=[{"url": "data:"}]
        ),
        tool_part("c3", "", status="running"),
    ]
    written(tmp_path / "tool-output" / "tool_1", ["head and tail"])
    run = the_run(opencode_database(tmp_path / "opencode.db", {"s": [({"role": "assistant"}, parts)]}))
    assert [len(message.calls) for message in run.messages] == [3, 0, 0]
    results = [one for message in run.messages for one in message.returned]
    assert [(one.call_id, one.text, one.is_error) for one in results] == [
        ("c1", "it failed", True),
        ("c2", "head and tail\n", False),
    ]
    assert run.meta["restored_full_output"] == ["c2"]
    assert run.messages[2].other > 0


def test_a_summary_is_said_by_the_user(tmp_path: Path) -> None:
    messages = [
        ({"role": "user"}, [{"type": "compaction", "auto": True}]),
        ({"role": "assistant", "summary": True}, [text("what was done")]),
    ]
    run = the_run(opencode_database(tmp_path / "o.db", {"s": messages}))
    assert shape(run) == [("user", "what was done", [], [])]
    assert run.meta["compactions"] == 1


def test_broken_rows_are_counted_and_the_others_are_given(tmp_path: Path) -> None:
    messages = [*opencode_session(), ({"role": "assistant"}, ["{oh", "[]", text("still here")])]
    runs, unread = read(opencode_database(tmp_path / "o.db", {"s": messages}))
    assert shape(runs[0])[-1][1] == "still here"
    assert {one.why: one.count for one in unread} == {"not JSON": 1, "not a part of opencode": 1}


def test_another_database_and_a_damaged_one_are_named(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    good = opencode_database(tmp_path / "o.db", {"s": opencode_session()}).read_bytes()
    (tmp_path / "damaged.db").write_bytes(good[:100] + b"\xff" * 4_000 + good[4_100:])
    for name in ("other.db", "damaged.db"):
        runs, (unread,) = read(tmp_path / name)
        assert runs == []
        assert unread.why.startswith("not a database of opencode")


def test_an_exported_session_is_read(tmp_path: Path) -> None:
    messages = [{"info": info, "parts": parts} for info, parts in opencode_session()]
    exported = {"info": {"id": "ses_1", "directory": "/w"}, "messages": messages}
    path = written(tmp_path / "exported.json", [json.dumps(exported, indent=2)])
    assert told(the_run(path)) == USUAL


@pytest.mark.parametrize(
    ("mime", "is_image"), [("text/plain", False), ("application/x-directory", False), ("image/png", True)]
)
def test_a_file_of_the_user_is_an_image_unless_its_text_is_repeated(mime: str, is_image: bool, tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "file", "mime": mime, "url": "data:"}]
    run = the_run(opencode_database(tmp_path / "opencode.db", {"s": [({"role": "user"}, parts)]}))
    assert (run.messages[0].other > 0) is is_image
