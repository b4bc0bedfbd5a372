"""A settings file is read as it is written, and one that cannot be says why."""

from pathlib import Path

import pytest

from keepwhole.errors import ConfigError
from keepwhole.settings_file import read_tree


def read(tmp_path: Path, text: str | bytes) -> object:
    path = tmp_path / "keepwhole.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_tree(str(path))


def problem(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    return str(caught.value).replace(str(tmp_path / "keepwhole.yaml"), "FILE")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", None),
        ("# nothing\n", None),
        ("a: 1\nb: [x, 2.5, true, null]\n", {"a": 1, "b": ["x", 2.5, True, None]}),
        ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: {b: 1}\nc: {b: 2}\n", {"a": {"b": 1}, "c": {"b": 2}}),
        ("just words", "just words"),
    ],
)
def test_a_file_is_read_as_mappings_lists_and_values(tmp_path: Path, text: str, tree: object) -> None:
    assert read(tmp_path, text) == tree


def test_a_file_may_have_a_megabyte(tmp_path: Path) -> None:
    assert "is not UTF-8 text" in problem(tmp_path, b"\xff" * (1 << 20))  # it is read
    assert problem(tmp_path, b"\xff" * ((1 << 20) + 1)) == "`FILE` is larger than a settings file can be. Check it."


def test_a_file_that_is_not_there_or_not_utf_8_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read \(No such file or directory\)\. Check the file's permis"):
        read_tree(str(tmp_path / "none.yaml"))
    assert problem(tmp_path, b"a: " + b"x" * 1_000 + b"\xff") == (
        "`FILE` is not UTF-8 text (byte 1,003). Save it as UTF-8."
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: [1, 2\n", "line 3: expected ',' or ']', but got '<stream end>'"),
        ("a: 1\n---\nb: 2\n", "line 2: but found another document"),
        ("a: 2024-02-30\n", "day is out of range for month"),
        ("a: !!timestamp x\n", "'NoneType' object has no attribute 'groupdict'"),
        ("a: 1\nb: &x [*x]\n", "it has more than 10,000 values, aliases followed"),
    ],
)
def test_what_is_not_yaml_is_told_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    assert problem(tmp_path, text) == f"`FILE` is not YAML ({words}). Fix that line."


def test_a_file_may_have_ten_thousand_values(tmp_path: Path) -> None:
    assert read(tmp_path, f"a: [{'1,' * 9_996}1]") == {"a": [1] * 9_997}  # a mapping, a key and a list are three more


def test_a_file_has_at_most_ten_thousand_values_with_what_aliases_repeat(tmp_path: Path) -> None:
    # A mapping, two keys, two lists, 99 values of the first one and, for each alias in the second, that list again.
    lines = f"a: &x [{'1,' * 98}1]\nb: [{'*x,' * 98}{'2,' * 95}2]\n"
    assert read(tmp_path, lines) == {"a": [1] * 99, "b": [[1] * 99] * 98 + [2] * 96}
    assert "it has more than 10,000 values" in problem(tmp_path, lines.replace("2]", "2, 2]"))


def test_a_number_has_at_most_sixty_four_digits(tmp_path: Path) -> None:
    assert read(tmp_path, f"a: {'7' * 64}") == {"a": int("7" * 64)}
    assert problem(tmp_path, f"b: 1\na: {'7' * 65}") == (
        "`FILE` is not YAML (line 2: the number is too long). Fix that line."
    )
    assert "the number is too long" in problem(tmp_path, f"a: 0.{'7' * 63}")
    assert read(tmp_path, f"a: '{'7' * 65}'") == {"a": "7" * 65}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "`a` is given twice, in lines 1 and 3"),
        ("a:\n  b: 1\n  c: 2\n  b: 1\n", "`a.b` is given twice, in lines 2 and 4"),
        ("x: {a: {b: 1, b: 2}}\n", "`x.a.b` is given twice, in lines 1 and 1"),
        ("a: 1\na: 2\na: 3\n", "`a` is given twice, in lines 1 and 2"),
    ],
)
def test_a_key_that_is_given_twice_is_told_with_its_lines(tmp_path: Path, text: str, words: str) -> None:
    assert problem(tmp_path, text) == f"`FILE`: {words}. Leave one out."
