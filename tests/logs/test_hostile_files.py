"""Whatever lies in a folder of logs: reading it ends, within bounded memory, and says what it left out and why."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from keepwhole.logs import folders, lines, reader
from keepwhole.logs.locations import find_log_locations
from keepwhole.logs.reader import find_logs, read_runs
from keepwhole.logs.run import Run
from tests.apps.cli.cli import Cli
from tests.logs.log_files import read, written
from tests.logs.test_claude_code import persisted
from tests.long_run import one_in
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


LITTLE = 100_000
"""KB of memory, less than a bomb takes that is unpacked at once."""


def _peak(cli: Cli, *command: str) -> int:
    """The most memory that Python uses for this, in KB; asked by a small process, since a fork counts its parent's."""
    asking = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], capture_output=True, check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    words = [sys.executable, "-c", asking, sys.executable, *command]
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
    assert "more than 100 times larger decompressed" in json.dumps(report)
    assert "bomb.jsonl.gz" in json.dumps(report)
    assert _peak(cli, "-m", "keepwhole", command, "logs", "--json") < LITTLE


def test_a_bomb_that_is_unpacked_at_once_takes_more_memory(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(BOMBS["one line"]()))
    unpack = "import gzip, sys; gzip.open(sys.argv[1]).read()"
    assert _peak(Cli(tmp_path), "-c", unpack, str(bomb)) > LITTLE


def test_nothing_is_read_of_a_bomb_though_its_first_lines_are_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "ALWAYS_UNPACKED", MB)
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(line(1) + line(2) * (4 * MB // len(line(2))), 9))
    found, (unread,) = read(tmp_path / "bomb.jsonl.gz")
    assert found == []
    assert unread.why == "the file is more than 100 times larger decompressed"


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
        "the file cannot be read (it is not a regular file)",
        "the file cannot be read (it is not a regular file)",
    ]


def test_a_pipe_does_not_stop_a_command(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    written(tmp_path / "good.jsonl", [record(1)])
    assert "not a regular file" in cli.json("import", str(tmp_path))["unread"][0]["why"]


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
    assert reasons(logs) == [f"folders more than {folders.DEEPEST} levels deep are not searched"]
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
    assert "not a regular file" in unread.why


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


def _deep(path: Path) -> None:
    (path / "/".join("d" * 100)).mkdir(parents=True)


ODD: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a link to nowhere": lambda path: path.symlink_to("/nowhere/at/all"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to the folder above": lambda path: path.symlink_to(path.parent),
    "a deep folder": _deep,
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 40),
    "no text": lambda path: path.write_bytes(b"\xff\xfe" * 500),
    "half a line": lambda path: path.write_bytes(line(2)[:-40]),
    "deep JSON": lambda path: path.write_bytes(b"[" * 100_000),
    "a bomb": lambda path: path.write_bytes(gzip.compress(b"0" * (8 * MB), 9)),
    "a bomb in a bomb": lambda path: path.write_bytes(gzip.compress(gzip.compress(b"0" * (8 * MB), 9), 9)),
    "a packed file that breaks off": lambda path: path.write_bytes(gzip.compress(line(2) * 99)[:-20]),
}
NAMES = ("odd.jsonl", "odd.jsonl.gz", "odd.json", "odd.db", "odd")


def beside_good(tmp_path: Path, odd: str, name: str) -> None:
    """A folder with one good log, and something odd beside it: the good one is read, and the search ends."""
    written(tmp_path / "logs" / "good.jsonl", [record(1)])
    (tmp_path / "logs" / "below").mkdir()
    for folder in (tmp_path / "logs", tmp_path / "logs" / "below"):
        ODD[odd](folder / name)
    assert record(1)["id"] in runs(tmp_path / "logs")
    assert all(reasons(tmp_path / "logs"))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("odd", "name"), one_in(4, product(ODD, NAMES)))
def test_whatever_lies_beside_a_good_log_it_is_read(tmp_path: Path, odd: str, name: str) -> None:
    beside_good(tmp_path, odd, name)


def test_a_reader_that_gives_up_at_the_first_odd_file_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "find_logs", lambda paths: list(reader.find_logs(paths))[:1])
    with pytest.raises(AssertionError):
        beside_good(tmp_path, "noise", "an odd one.jsonl")
