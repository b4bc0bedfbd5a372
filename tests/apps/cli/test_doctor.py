"""`doctor` refuses what every other command refuses, and never says of one session that it is damaged and whole."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import keepwhole
from keepwhole import SqliteStore
from keepwhole.apps.cli.main import main
from keepwhole.store.sqlite import record_folder
from tests.build import numbered_lines


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def damaged(home: Path) -> Path:
    """A record of two sessions; the large body of the first is damaged."""
    for name, lines in (("broken", 9_000), ("whole", 1)):
        with keepwhole.session(name, store=SqliteStore(str(home))) as session:
            session.keep("t", {}, numbered_lines(lines))
    (body,) = [file for file in (home / "blobs").rglob("*") if file.is_file()]
    body.chmod(0o600)
    body.write_bytes(b"X" + body.read_bytes()[1:])
    return home


def test_files_that_others_can_read_are_named_with_the_command_that_closes_them(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with keepwhole.session("s", store=SqliteStore(str(home))) as session:
        session.keep("t", {}, "x")
    (home / "record.db").chmod(0o644)
    assert main(["doctor"]) == 1
    (command,) = re.findall(r"others can read record\.db; run `(.+)`", capsys.readouterr().out)
    subprocess.run(shlex.split(command), check=True)
    assert main(["doctor"]) == 0


@pytest.mark.parametrize("command", ["doctor", "sessions list", "status"])
def test_a_folder_of_another_user_is_refused_by_every_command(
    command: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir(mode=0o700)
    monkeypatch.setattr(record_folder.os, "geteuid", lambda: os.getuid() + 1)
    assert main(command.split()) != 0
    said = "".join(capsys.readouterr())
    assert f"`{home}` belongs to another user. Set `KEEPWHOLE_HOME` to a folder of your own." in said
    assert "there is no record" not in said


def test_doctor_counts_the_sessions_that_are_whole(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--full"]) == 1
    said = capsys.readouterr().out
    assert "✗ session broken" in said
    assert "• verified every byte of 2 sessions: 1 is damaged, 1 is whole" in said
    assert "✓ verified" not in said


@pytest.mark.parametrize("command", [["doctor", "--full"], ["sessions", "verify", "broken"]], ids="-".join)
def test_a_list_of_damage_does_not_advise_to_ask_for_the_list(
    command: list[str], damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 1
    said = capsys.readouterr().out
    assert "sessions verify" not in said
    assert "Other results are not affected. Run the tool again, or restore a backup: `keepwhole store restore`." in said


def test_what_several_checks_find_is_printed_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with keepwhole.session("one", store=SqliteStore(str(home))) as session:
        session.keep("t", {}, "x")
    (home / "record.db").write_bytes(b"")
    assert main(["doctor"]) == 1
    printed = [line for line in capsys.readouterr().out.splitlines() if "missing or empty" in line]
    assert len(printed) == 1
