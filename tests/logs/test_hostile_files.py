"""Whatever lies in a folder of logs: reading it ends, within bounded memory, and says what it left out and why."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from keepwhole.logs import folders, lines
from keepwhole.logs.locations import find_log_locations
from keepwhole.logs.reader import find_logs, read_runs
from keepwhole.logs.run import Run
from tests.apps.cli.cli import Cli
from tests.logs.log_files import read, written
from tests.logs.test_claude_code import persisted
from tests.replay.logs import record

MB = 1_048_576


def reasons(path: Path) -> list[str]:
    return [one.why for log in find_logs([path]) for one in read_runs(log) if not isinstance(one, Run)]


def runs(path: Path) -> list[str]:
    return [one.id for log in find_logs([path]) for one in read_runs(log) if isinstance(one, Run)]


def line(number: int) -> bytes:
    return json.dumps(record(number)).encode() + b"\n"


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_a_line_over_the_limit_is_counted_and_the_others_are_read(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 100_000)
    monkeypatch.setattr(lines, "_CHUNK", 4_096)
    data = line(1) + b'{"x": "' + os.urandom(100_000).hex().encode() + b'"}\n' + line(2)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    found, (unread,) = read(tmp_path / name)
    assert [run.id for run in found] == [record(1)["id"], record(2)["id"]]
    assert (unread.why, unread.count, unread.first_line) == (lines.TOO_LONG, 1, 2)


BOMBS = {"one line": lambda: b"0" * (100 * MB), "one run many times": lambda: line(1) * (40 * MB // len(line(1)))}


def _peak(cli: Cli, command: str) -> int:
    """The most memory that a command uses, in KB; asked by a small process, since a fork counts its parent's."""
    asking = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], capture_output=True, check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    words = [sys.executable, "-c", asking, sys.executable, "-m", "keepwhole", command, "logs", "--json"]
    return int(subprocess.run(words, env=cli.environ, cwd=cli.folder, capture_output=True, check=True).stdout)


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize("command", ["import", "replay"])
def test_a_bomb_is_named_and_unpacked_only_in_part(tmp_path: Path, bomb: object, command: str) -> None:
    cli = Cli(tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "bomb.jsonl.gz").write_bytes(gzip.compress(bomb(), 9))  # type: ignore[operator]
    (tmp_path / "logs" / "good.jsonl").write_bytes(line(7))
    done = cli(command, "logs", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert "more than 100 times its size" in json.dumps(report)
    assert "bomb.jsonl.gz" in json.dumps(report)
    assert _peak(cli, command) < 600_000


def test_a_log_that_packs_well_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(line(1) * 2_000, 9))
    found, unread = read(tmp_path / "x.jsonl.gz")
    assert (len(found), unread) == (2_000, [])


def test_pipes_devices_and_broken_links_are_named_not_waited_for(tmp_path: Path) -> None:
    written(tmp_path / "good.jsonl", [record(1)])
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nothing")
    assert runs(tmp_path) == [record(1)["id"]]
    assert sorted(reasons(tmp_path)) == [
        "the file cannot be read (No such file or directory)",
        "the file cannot be read (it is no regular file)",
        "the file cannot be read (it is no regular file)",
    ]


def test_a_pipe_does_not_stop_a_command(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    written(tmp_path / "good.jsonl", [record(1)])
    assert "no regular file" in cli.json("import", str(tmp_path))["unread"][0]["why"]


@pytest.mark.parametrize("target", ["/", "/proc", ".."])
def test_links_to_folders_elsewhere_are_named_not_followed(tmp_path: Path, target: str) -> None:
    written(tmp_path / "logs" / "good.jsonl", [record(1)])
    (tmp_path / "logs" / "link").symlink_to(target)
    assert runs(tmp_path / "logs") == [record(1)["id"]]
    assert reasons(tmp_path / "logs") == ["a link to a folder elsewhere is not followed: name that folder"]


def test_a_folder_that_is_named_may_be_a_link(tmp_path: Path) -> None:
    written(tmp_path / "real" / "deep" / "good.jsonl", [record(1)])
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert runs(tmp_path / "link") == [record(1)["id"]]


def test_very_deep_folders_end_the_search_with_a_reason(tmp_path: Path) -> None:
    logs = tmp_path / ".codex" / "sessions"
    written(logs / "good.jsonl", [record(1)])
    here = os.open(logs, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert runs(logs) == [record(1)["id"]]
    assert reasons(logs) == [f"it is a directory; those more than {folders.DEEPEST} levels deep are not searched"]
    (place,) = find_log_locations(tmp_path, {}, tmp_path / "nothing")
    assert logs / "good.jsonl" in place.files
    subprocess.run(["rm", "-rf", str(logs)], check=True)


def test_a_huge_saved_output_is_named_and_its_result_stays_as_the_log_has_it(tmp_path: Path) -> None:
    log = persisted(Path("/elsewhere/S/tool-results/b1.txt"), persistedOutputSize=99_999)
    path = written(tmp_path / "S.jsonl", log.lines)
    written(tmp_path / "S" / "tool-results" / "b1.txt", [])
    os.truncate(tmp_path / "S" / "tool-results" / "b1.txt", 3_000_000_000)
    (run,), (unread,) = read(path)
    assert run.meta["legacy_truncated"]
    assert "an output saved beside it: it has more than" in unread.why


def test_a_saved_output_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = written(tmp_path / "S.jsonl", persisted(Path("/elsewhere/S/tool-results/b1.txt")).lines)
    (tmp_path / "S" / "tool-results").mkdir(parents=True)
    os.mkfifo(tmp_path / "S" / "tool-results" / "b1.txt")
    _, (unread,) = read(path)
    assert "no regular file" in unread.why


def test_a_database_whose_tables_are_endless_views_is_named(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "opencode.db")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i"
    database.execute(
        f"CREATE VIEW session AS {endless} AS id, 1 AS parent_id, 1 AS directory, 1 AS time_created FROM n"
    )
    database.close()
    _, (unread,) = read(tmp_path / "opencode.db")
    assert "views" in unread.why


def test_a_sparse_log_is_read_in_bounded_memory(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(line(1))
    os.truncate(tmp_path / "x.jsonl", 300 * MB)
    found, (unread,) = read(tmp_path / "x.jsonl")
    assert ([run.id for run in found], unread.why) == ([record(1)["id"]], lines.TOO_LONG)
