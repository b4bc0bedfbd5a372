"""Who used the product under its earlier name is told how to take everything along."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from keepwhole.apps.earlier_name import steps_to_move
from tests.apps.cli.cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A command line without `KEEPWHOLE_HOME`, in a project below the user's home folder."""
    cli = Cli(tmp_path)
    del cli.environ["KEEPWHOLE_HOME"]
    cli.folder = tmp_path / "work" / "project"
    cli.folder.mkdir(parents=True)
    return cli


def notes(cli: Cli) -> list[str]:
    return [found["what"] for found in cli.json("doctor") if found["grade"] == "note" and "SQLite" not in found["what"]]


def old_record(cli: Cli, folder: Path) -> None:
    """A record with one result where the earlier name had it."""
    cli.environ["KEEPWHOLE_HOME"] = str(folder)
    assert cli("keep", "--tool", "t", "--session", "old", input=b"kept under the earlier name").returncode == 0
    del cli.environ["KEEPWHOLE_HOME"]


def commands_in(sentences: list[str]) -> list[str]:
    return [sentence.split("`")[1] for sentence in sentences if "`mv " in sentence or "`export " in sentence]


def run_all(cli: Cli, commands: list[str]) -> None:
    for command in commands:
        subprocess.run(["sh", "-c", command], env=cli.environ, cwd=cli.folder, check=True)


def test_a_record_in_the_old_home_folder_is_moved_by_the_command_that_doctor_prints(cli: Cli, tmp_path: Path) -> None:
    old_record(cli, tmp_path / ".holdfast")
    commands = commands_in(notes(cli))
    assert commands == ["mv ~/.holdfast ~/.keepwhole"]
    run_all(cli, commands)
    assert [session["session"] for session in cli.json("sessions", "list")] == ["old"]
    assert cli("doctor", "--full").returncode == 0
    assert not commands_in(notes(cli))


def test_a_home_folder_that_is_there_already_takes_the_content_of_the_old_one(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / ".keepwhole").mkdir()
    old_record(cli, tmp_path / ".holdfast")
    run_all(cli, commands_in(notes(cli)))
    assert cli.json("sessions", "list")[0]["session"] == "old"


def test_the_record_of_a_project_is_moved_within_the_project(cli: Cli) -> None:
    old_record(cli, cli.folder.parent / ".holdfast")
    run_all(cli, commands_in(notes(cli)))
    assert (cli.folder.parent / ".keepwhole" / "record.db").exists()
    assert cli("trust", "--yes").returncode == 0
    assert cli.json("sessions", "list")[0]["session"] == "old"


def test_settings_and_variables_of_the_earlier_name_are_named(cli: Cli, tmp_path: Path) -> None:
    old_record(cli, tmp_path / ".holdfast")
    (tmp_path / ".holdfast" / "holdfast.yaml").write_text("mode: shadow\n")
    cli.environ["HOLDFAST_INLINE_LIMIT"] = "500"
    found = notes(cli)
    assert any("rename it to `KEEPWHOLE_INLINE_LIMIT`" in note for note in found)
    run_all(cli, commands_in(found))
    assert cli.json("config", "show")["mode"] == "shadow"


def test_the_settings_of_a_project_are_renamed_where_they_are(cli: Cli) -> None:
    (cli.folder / "holdfast.yaml").write_text("mode: shadow\n")
    run_all(cli, commands_in(notes(cli)))
    assert cli("trust", "--yes").returncode == 0
    assert cli.json("config", "show")["mode"] == "shadow"


def test_a_record_that_a_variable_names_stays_where_it_is(tmp_path: Path) -> None:
    first, *_ = steps_to_move(str(tmp_path / "none"), {"HOLDFAST_HOME": str(tmp_path)}, str(tmp_path))
    assert f"`export KEEPWHOLE_HOME={tmp_path}`" in first


def test_a_record_of_the_new_name_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    old_record(cli, tmp_path / ".holdfast")
    shutil.copytree(tmp_path / ".holdfast", tmp_path / ".keepwhole")
    assert not commands_in(notes(cli))


def test_a_path_with_spaces_is_one_word(tmp_path: Path) -> None:
    folder = tmp_path / "two words"
    (folder / ".holdfast").mkdir(parents=True)
    (command,) = commands_in(list(steps_to_move(str(tmp_path / "none"), {}, str(folder))))
    subprocess.run(["sh", "-c", command], check=True)
    assert os.listdir(folder) == [".keepwhole"]
