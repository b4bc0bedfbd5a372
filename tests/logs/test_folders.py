"""Files are found below a folder in order, down to the deepest level; what is not searched is named."""

import os
from pathlib import Path

import pytest

from keepwhole.logs import folders
from keepwhole.logs.folders import files_below, why_not_searched


def below(root: Path, skipped: frozenset[str] = frozenset()) -> list[str]:
    return [str(path.relative_to(root)) for path in files_below(root, lambda name: name.endswith(".log"), skipped)]


def test_wanted_files_come_in_order_and_skipped_folders_do_not(tmp_path: Path) -> None:
    for name in ("b.log", "a/2.log", "a/1.log", "a/1.txt", "c/d/3.log", "node_modules/4.log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    assert below(tmp_path, frozenset({"node_modules"})) == ["a/1.log", "a/2.log", "b.log", "c/d/3.log"]
    assert below(tmp_path)[-1] == "node_modules/4.log"


def test_the_deepest_level_is_searched_and_the_next_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "DEEPEST", 2)
    deep = tmp_path / "1" / "2" / "3"
    deep.mkdir(parents=True)
    for folder in (tmp_path, *deep.parents[:2], deep):
        (folder / "x.log").write_text("x")
    assert below(tmp_path) == ["1/2/3", "1/2/x.log", "1/x.log", "x.log"]
    assert "more than 2 levels deep" in why_not_searched(deep)
    monkeypatch.undo()
    assert folders.DEEPEST == 100
    assert "1/2/3/x.log" in below(tmp_path)


def test_links_are_followed_to_files_but_not_to_folders_elsewhere(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside / "own", outside):
        folder.mkdir(parents=True)
        (folder / "x.log").write_text("x")
    os.symlink(outside, inside / "elsewhere")
    os.symlink(inside / "own", inside / "twice")
    os.symlink(outside / "x.log", inside / "y.log")
    assert below(inside) == ["elsewhere", "own/x.log", "y.log"]
    assert "not followed" in why_not_searched(inside / "elsewhere")


def test_a_folder_is_not_searched_for_one_of_three_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert why_not_searched(link) == "a link to a folder elsewhere is not followed: name that folder"
    assert why_not_searched(tmp_path) == "folders more than 100 levels deep are not searched"
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (tmp_path, os.R_OK | os.X_OK))
    assert why_not_searched(tmp_path) == "the folder cannot be read (Permission denied)"
