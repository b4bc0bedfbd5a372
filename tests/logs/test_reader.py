"""From files to runs: what is recognised, what is named, where logs are looked for."""

import gzip
import json
import os
from pathlib import Path

import pytest

from keepwhole.errors import UsageError
from keepwhole.logs.lines import UnreadPart
from keepwhole.logs.locations import find_log_locations
from keepwhole.logs.reader import UNKNOWN_LOG, find_logs, read_runs
from tests.logs.log_files import (
    USUAL,
    anthropic_messages,
    chat_messages,
    claude_code,
    codex,
    gemini_cli,
    opencode_database,
    opencode_session,
    read,
    response_items,
    the_run,
    told,
    written,
)

RECORD = {"source": "s", "id": "1", "messages": chat_messages(), "meta": {"task_id": "t"}}
LOGS = {
    "claude-code": claude_code(),
    "codex": codex(),
    "gemini-cli": gemini_cli(),
    "openai-chat": [{"model": "m", "messages": chat_messages()}],
    "openai-responses": [{"model": "m", "input": response_items()}],
    "anthropic": [{"model": "m", "messages": anthropic_messages()}],
    "s": [RECORD],
}
every_log = pytest.mark.parametrize("source", LOGS)


@every_log
def test_a_format_is_known_by_what_is_in_it_packed_or_not_whatever_its_name(source: str, tmp_path: Path) -> None:
    path = written(tmp_path / "log.txt", LOGS[source])
    (tmp_path / "packed").write_bytes(gzip.compress(path.read_bytes()))
    for log in (path, tmp_path / "packed"):
        run = the_run(log)
        assert (run.source, told(run)) == (source, USUAL)


@every_log
def test_broken_lines_before_the_first_good_one_do_not_hide_the_format(source: str, tmp_path: Path) -> None:
    runs, unread = read(written(tmp_path / "log", ['{"type":', "\x00\x00", *LOGS[source], '{"cut']))
    assert [told(run) for run in runs] == [USUAL]
    assert [(one.why, one.count, one.first_line) for one in unread] == [("not JSON", 3, 1)]


@every_log
def test_a_packed_file_that_is_cut_off_gives_what_came_before(source: str, tmp_path: Path) -> None:
    lines = [*LOGS[source], *({"noise": os.urandom(2_000).hex()} for _ in range(40))]
    packed = gzip.compress("".join(f"{json.dumps(line)}\n" for line in lines).encode())
    (tmp_path / "log.gz").write_bytes(packed[: len(packed) // 2])
    runs, unread = read(tmp_path / "log.gz")
    assert [told(run) for run in runs] == [USUAL]
    assert "the compressed file is cut off" in {one.why for one in unread}


def test_what_editors_and_other_systems_add_to_lines_is_no_trouble(tmp_path: Path) -> None:
    path = written(tmp_path / "log", LOGS["codex"])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert told(the_run(path)) == USUAL


def test_a_damaged_packed_file_is_named(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"x" * 10_000))
    packed[12:20] = b"\xff" * 8
    (tmp_path / "log.gz").write_bytes(packed)
    assert read(tmp_path / "log.gz") == ([], [UnreadPart(tmp_path / "log.gz", "the compressed file is damaged")])


@pytest.mark.parametrize("text", ["hello\n", '{"a": 1}\n', "[1, 2]", '{"a": 1', "5\n", '[{"a": 1}]\n', "\x00" * 40])
def test_a_file_of_no_known_format_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(text)
    assert read(tmp_path / "log") == ([], [UnreadPart(tmp_path / "log", UNKNOWN_LOG)])


def test_files_that_are_not_there_or_packed_otherwise_are_named_and_empty_ones_are_none(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfdxxxx")
    (tmp_path / "empty.jsonl").write_text("\n \n")
    assert "No such file" in read(tmp_path / "gone.jsonl")[1][0].why
    assert "zstd -d" in read(tmp_path / "r.jsonl.zst")[1][0].why
    assert read(tmp_path / "empty.jsonl") == ([], [])
    assert "folders" in read(tmp_path)[1][0].why


def test_a_file_of_many_runs_is_read_one_by_one(tmp_path: Path) -> None:
    path = written(tmp_path / "many.jsonl", [{**RECORD, "id": str(number)} for number in range(1_000)])
    found = read_runs(path)
    first = next(found)
    path.write_text("")
    assert not isinstance(first, UnreadPart)
    assert first.id == "0"


def test_a_record_that_lacks_something_is_counted_and_the_others_are_given(tmp_path: Path) -> None:
    lines = [RECORD, {"source": "s", "id": "2"}, {**RECORD, "meta": [1]}, {**RECORD, "id": "3", "meta": None}]
    runs, (unread,) = read(written(tmp_path / "r.jsonl", lines))
    assert [run.id for run in runs] == ["1", "3"]
    assert (unread.count, unread.first_line) == (2, 2)


def test_folders_are_searched_to_the_bottom_in_order_once_and_without_companions(tmp_path: Path) -> None:
    names = [
        "b/x.jsonl",
        "a/deep/y.jsonl.gz",
        "a/z.json",
        "c.traj",
        "o.db",
        "s/agent.meta.json",
        "s/tool-results/1.json",
    ]
    for name in [*names, "readme.txt", "o.db-wal"]:
        written(tmp_path / name, [])
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "again.jsonl").symlink_to(tmp_path / "b" / "x.jsonl")
    found = find_logs([tmp_path, tmp_path / "b" / "x.jsonl", tmp_path / "readme.txt"])
    assert len(found) == 6
    assert sorted(os.path.realpath(one) for one in found) == sorted(
        str(tmp_path / name) for name in [*names[:5], "readme.txt"]
    )
    assert found == find_logs([tmp_path, tmp_path / "b" / "x.jsonl", tmp_path / "readme.txt"])


def test_a_folder_without_logs_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no logs"):
        find_logs([tmp_path])


def test_the_usual_places_are_found_with_their_sizes(tmp_path: Path) -> None:
    log = written(tmp_path / ".claude" / "projects" / "-w" / "S.jsonl", claude_code())
    agent = written(tmp_path / ".claude" / "projects" / "-w" / "S" / "subagents" / "agent-1.jsonl", claude_code())
    written(tmp_path / ".claude" / "settings.json", [])
    written(tmp_path / ".codex" / "sessions" / "2030" / "01" / "01" / "rollout-1.jsonl", codex())
    written(tmp_path / ".gemini" / "tmp" / "p" / "chats" / "session-1.jsonl", gemini_cli())
    written(tmp_path / ".gemini" / "tmp" / "p" / "logs.json", [])
    opencode_database(tmp_path / ".local" / "share" / "opencode" / "opencode.db", {"s": opencode_session()})
    written(tmp_path / "work" / "trajectories" / "me" / "t.traj", [])
    places = find_log_locations(tmp_path, {}, tmp_path / "work")
    assert [(place.client, len(place.files)) for place in places] == [
        ("claude-code", 2),
        ("codex", 1),
        ("gemini-cli", 1),
        ("opencode", 1),
        ("swe-agent", 1),
    ]
    assert places[0].bytes == log.stat().st_size + agent.stat().st_size
    assert places[0].path == tmp_path / ".claude" / "projects"


def test_variables_move_the_places(tmp_path: Path) -> None:
    written(tmp_path / "cc" / "projects" / "-w" / "S.jsonl", [])
    written(tmp_path / "cx" / "archived_sessions" / "rollout-1.jsonl", [])
    written(tmp_path / "ge" / ".gemini" / "tmp" / "p" / "chats" / "session-1.json", [])
    written(tmp_path / "xdg" / "opencode" / "opencode.db", [])
    written(tmp_path / "swe" / "t.traj", [])
    variables = {"CLAUDE_CONFIG_DIR": "cc", "CODEX_HOME": "cx", "GEMINI_CLI_HOME": "ge", "XDG_DATA_HOME": "xdg"}
    environ = {name: str(tmp_path / folder) for name, folder in variables.items()}
    environ["SWE_AGENT_TRAJECTORY_DIR"] = str(tmp_path / "swe")
    places = find_log_locations(tmp_path / "home", environ, tmp_path)
    assert [place.client for place in places] == ["claude-code", "codex", "gemini-cli", "opencode", "swe-agent"]
    assert find_log_locations(tmp_path / "home", {}, tmp_path) == []
