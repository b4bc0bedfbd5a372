"""Outputs that a client truncated are read from the files that it saved, and nothing else is."""

import json
import os
from pathlib import Path

import pytest

from keepwhole.logs.saved_outputs import SavedOutputs


@pytest.fixture
def outputs(tmp_path: Path) -> SavedOutputs:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{folder}.txt").write_text(f"whole {folder}")
    (tmp_path / "secret.txt").write_text("secret")
    return SavedOutputs(tmp_path / "first", tmp_path / "gone", tmp_path / "second")


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("first.txt", "whole first"),
        ("/home/somebody/else/second.txt", "whole second"),
        ("C:\\Users\\me\\second.txt", "whole second"),
        ("../secret.txt", None),
        ("", None),
        ("..", None),
        ("a\0b", None),
        (None, None),
        (5, None),
    ],
)
def test_a_file_is_known_by_its_name_alone(outputs: SavedOutputs, named: object, text: str | None) -> None:
    assert outputs.read_saved(named) == text


def test_what_was_restored_and_what_was_not_is_noted_by_call(outputs: SavedOutputs) -> None:
    assert outputs.restore("c1", "cut", "first.txt") == "whole first"
    assert outputs.restore("c2", "cut", "third.txt") == "cut"
    outputs.note("c3", True)
    assert outputs.as_meta() == {
        "restored_full_output": ["c1", "c3"],
        "legacy_truncated": ["c2"],
        "unread_outputs": [],
    }


def test_no_link_is_followed_and_a_folder_of_that_name_is_told(outputs: SavedOutputs, tmp_path: Path) -> None:
    os.symlink(tmp_path / "secret.txt", tmp_path / "first" / "link.txt")
    assert outputs.read_saved("link.txt") is None
    assert outputs.as_meta()["unread_outputs"] == []
    (tmp_path / "first" / "folder.txt").mkdir()
    assert outputs.read_saved("folder.txt") is None
    assert len(outputs.as_meta()["unread_outputs"]) == 1


@pytest.mark.parametrize(
    ("saved", "text"),
    [
        (json.dumps([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]), "one\ntwo"),
        ('{"rows": [1, 2]}', '{"rows": [1, 2]}'),
        ("[1, 2", "[1, 2"),
        ("", ""),
    ],
)
def test_of_a_file_with_content_blocks_the_texts_are_read(
    outputs: SavedOutputs, tmp_path: Path, saved: str, text: str
) -> None:
    for name, wanted in (("blocks.json", text), ("blocks.txt", saved)):
        (tmp_path / "second" / name).write_text(saved)
        assert outputs.read_saved(name) == wanted
