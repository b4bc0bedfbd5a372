"""Strange files, other programs and kills: settings are never lost, and no hook waits."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps import client_file
from keepwhole.apps.hooks import install as installing
from keepwhole.apps.hooks.install import Target, install, uninstall
from keepwhole.apps.hooks.run import answer
from keepwhole.errors import UsageError
from tests.apps.cli.cli import Cli

OTHER = '{"theme": "dark"}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / ".claude").mkdir()
    return tmp_path / ".claude" / "settings.json"


@pytest.fixture
def to(path: Path) -> Target:
    return Target("claude-code", "user", str(path))


def edit_meanwhile(monkeypatch: pytest.MonkeyPatch, path: Path, edits: list[str]) -> None:
    """Another program that edits the file each time a new one has been written beside it."""
    synced = client_file.sync

    def sync(fd: int) -> None:
        synced(fd)
        if edits:
            path.write_text(edits.pop(0))

    monkeypatch.setattr(client_file, "sync", sync)


@pytest.mark.parametrize("before", [None, OTHER])
def test_an_edit_of_another_program_is_not_lost(
    to: Target, path: Path, before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is not None:
        path.write_text(before)
    edit_meanwhile(monkeypatch, path, ['{"theme": "light"}', '{"theme": "blue"}'])
    assert install(to)
    assert "hook run claude-code" in path.read_text()
    assert uninstall(to)
    assert path.read_text() == '{"theme": "blue"}'


def test_a_file_that_never_rests_is_left_to_its_writer(to: Target, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(OTHER)
    edit_meanwhile(monkeypatch, path, [f'{{"n": {n}}}' for n in range(20)])
    with pytest.raises(UsageError, match="another program"):
        install(to)
    assert "keepwhole" not in path.read_text()
    assert [one.name for one in path.parent.iterdir()] == ["settings.json"]


def refused(to: Target, match: str) -> None:
    for act in (install, uninstall):
        with pytest.raises(UsageError, match=match):
            act(to)


def test_a_pipe_is_refused_and_not_waited_for(to: Target, path: Path) -> None:
    os.mkfifo(path)
    refused(to, "not a regular file")


def test_a_huge_file_is_refused(to: Target, path: Path) -> None:
    path.write_text(OTHER)
    os.truncate(path, 3_000_000_000)
    refused(to, "bytes")


def test_a_hard_link_is_not_broken(to: Target, path: Path, tmp_path: Path) -> None:
    path.write_text(OTHER)
    os.link(path, tmp_path / "other-name")
    with pytest.raises(UsageError, match="hard links"):
        install(to)
    assert path.read_text() == OTHER
    assert path.stat().st_nlink == 2


@pytest.mark.parametrize("target", ["nowhere/settings.json", "settings.json"])
def test_a_link_that_leads_nowhere_makes_no_folders(to: Target, path: Path, tmp_path: Path, target: str) -> None:
    path.symlink_to(tmp_path / target if "/" in target else target)
    refused(to, "does not exist")
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_is_a_link_to_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".claude").symlink_to(tmp_path / "nowhere")
    refused(Target("claude-code", "user", str(tmp_path / ".claude" / "settings.json")), "does not exist")
    assert not (tmp_path / "nowhere").exists()


def leave_unfinished(path: Path) -> list[str]:
    """Kill an installation just before the new file takes its place."""
    script = (
        "import os, signal, sys; from keepwhole.apps import client_file; from keepwhole.apps.hooks.install import *\n"
        "client_file._refuse_changed = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "install(Target('claude-code', 'user', sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return [one.name for one in path.parent.iterdir() if one.name != path.name]


def test_what_a_killed_installation_leaves_is_removed_by_the_next(to: Target, path: Path) -> None:
    path.write_text(OTHER)
    assert len(leave_unfinished(path)) == 1
    assert path.read_text() == OTHER
    assert install(to)
    assert [one.name for one in path.parent.iterdir()] == ["settings.json"]


def test_what_a_killed_installation_leaves_is_named_by_the_doctor(path: Path, tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli("keep", input=b"x")
    path.write_text(OTHER)
    assert len(leave_unfinished(path)) == 1
    assert b"unfinished" in cli("doctor").stdout
    assert len([*path.parent.iterdir()]) == 2


def test_other_files_beside_it_and_one_that_is_being_written_stay(to: Target, path: Path) -> None:
    names = [
        "settings.json.bak",
        "settings.json.0123456789abcdeg",
        "settings.json.0123456789abcdef0",
        "x.0123456789abcdef",
    ]
    for name in names:
        (path.parent / name).write_text("mine")
    busy = path.parent / "settings.json.0123456789abcdef"
    busy.write_text("half")
    with busy.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        install(to)
        assert {one.name for one in path.parent.iterdir()} == {*names, busy.name, path.name}
    uninstall(to)
    assert {one.name for one in path.parent.iterdir()} == set(names)


def test_two_installations_at_once_are_one(to: Target, path: Path) -> None:
    path.write_text(OTHER)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            install(to)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(error, UsageError) for error in errors), errors
    assert installing.installed(to)
    uninstall(to)
    assert path.read_text() == OTHER


def event(file: str) -> bytes:
    response = {"stdout": "the beginning", "stderr": "", "persistedOutputPath": file}
    fields = {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t1"}
    return json.dumps({**fields, "tool_input": {"command": "make"}, "tool_response": response}).encode()


def sparse(path: Path) -> str:
    path.write_text("x")
    os.truncate(path, 3_000_000_000)
    return str(path)


def pipe(path: Path) -> str:
    os.mkfifo(path)
    return str(path)


FILES: dict[str, Callable[[Path], str]] = {
    "a device": lambda _: "/dev/zero",
    "a pipe": pipe,
    "a folder": lambda path: str(path.parent),
    "a huge file": sparse,
    "a name with NUL": lambda _: "a\0b",
}


@pytest.mark.parametrize("made", FILES.values(), ids=FILES)
def test_an_output_that_is_no_file_of_a_bounded_size_is_not_waited_for(made: Any, tmp_path: Path) -> None:
    assert answer("claude-code", event(made(tmp_path / "saved"))) is None


@pytest.mark.parametrize("made", FILES.values(), ids=FILES)
def test_a_transcript_that_is_no_file_is_not_waited_for(made: Any, tmp_path: Path) -> None:
    fields = {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t1"}
    fields |= {"tool_response": "out", "transcript_path": made(tmp_path / "saved")}
    assert answer("codex", json.dumps(fields).encode()) is None
