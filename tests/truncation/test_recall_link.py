"""Every call that a notice prints can be run as it is, by whatever reads the result back."""

import os
import subprocess
from pathlib import Path

import pytest

from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.recall_link import Reader, RecallLink

TEXT = TextSource("äb\ncd\nef\n")
TOOL = RecallLink("art_1_x")
COMMAND = RecallLink("art_1_x", reader="keepwhole")


def of_file(reader: Reader, name: str = "/r/it's.txt") -> RecallLink:
    return RecallLink("art_1_x", name, reader, "/r/a b.json")


@pytest.mark.parametrize(
    ("link", "whole", "lines"),
    [
        (TOOL, 'get_artifact(id="art_1_x")', 'get_artifact(id="art_1_x", lines="3-12")'),
        (COMMAND, "`keepwhole artifacts show art_1_x`", "`keepwhole artifacts show art_1_x --lines 3-12`"),
        (of_file("Read"), 'Read(file_path="/r/it\'s.txt")', 'Read(file_path="/r/it\'s.txt", offset=3, limit=10)'),
        (of_file("read"), 'read(filePath="/r/it\'s.txt")', 'read(filePath="/r/it\'s.txt", offset=3, limit=10)'),
        (of_file("read_file", "/é"), 'read_file(path="/é")', 'read_file(path="/é", offset=3, limit=10)'),
        (of_file("sed", "/r.txt"), "cat /r.txt", "sed -n '3,12p' /r.txt"),
        (of_file("sed", "/a b.png"), "'/a b.png'", "sed -n '3,12p' '/a b.png'"),
    ],
)
def test_all_of_a_result_and_some_lines_are_read_by_one_call(link: RecallLink, whole: str, lines: str) -> None:
    assert link.whole() == whole
    assert link.lines(3, 12) == lines


@pytest.mark.parametrize(
    ("link", "call"),
    [
        (TOOL, 'get_artifact(id="art_1_x", start_char=1, length=4)'),
        (COMMAND, "`keepwhole artifacts show art_1_x --chars 1-5`"),
        (of_file("Read", "/f"), "tail -c +3 /f | head -c 4"),
        (of_file("sed", "/a b"), "tail -c +3 '/a b' | head -c 4"),
    ],
)
def test_characters_are_read_of_files_as_bytes(link: RecallLink, call: str) -> None:
    assert link.chars(1, 5, TEXT) == call


def test_reading_goes_on_from_a_line_or_a_character() -> None:
    assert TOOL.onward(first_line=94) == 'get_artifact(id="art_1_x", lines="94-")'
    assert TOOL.onward(start=7) == 'get_artifact(id="art_1_x", start_char=7)'


def test_a_text_is_searched_by_what_can_search() -> None:
    assert TOOL.pattern('a"b', 3) == 'get_artifact(id="art_1_x", pattern="a\\"b")'
    assert COMMAND.pattern("x") == of_file("Read").pattern("x") == ""
    shell = of_file("sed", "/f")
    assert shell.pattern("-v x") == "grep -nF -- '-v x' /f"
    assert shell.pattern("x", 1) == "grep -nF -C 1 -- x /f"
    assert shell.pattern("x", 2, in_long_lines=True) == "grep -oE '.{0,150}x.{0,400}' /f"


def test_a_search_in_long_lines_takes_every_sign_literally(tmp_path: Path) -> None:
    texts = ["a.b", "[x]", "$1^", "(a|b)*", "c{2}", "1+1?", "back\\slash", "it's"]
    file = tmp_path / "f.txt"
    lines = "".join(f"{'y' * 200}{text}{'z' * 500}\n" for text in texts)
    file.write_text(lines + "aXb x 1 ab cc 11 backslash its\n")
    calls = [of_file("sed", str(file)).pattern(text, in_long_lines=True) for text in texts]
    quick = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run("\n".join(calls), shell=True, capture_output=True, text=True, check=True, env=quick)
    assert done.stdout.splitlines() == [f"{'y' * 150}{text}{'z' * 400}" for text in texts]


@pytest.mark.parametrize(
    ("link", "call"),
    [
        (TOOL, 'get_artifact(id="art_1_x", part="arguments")'),
        (COMMAND, "`keepwhole artifacts show art_1_x --part arguments`"),
        (of_file("Read"), "cat '/r/a b.json'"),
        (of_file("sed"), "cat '/r/a b.json'"),
    ],
)
def test_what_the_call_was_given_is_read_as_well(link: RecallLink, call: str) -> None:
    assert link.arguments() == call


@pytest.mark.parametrize("link", [TOOL, COMMAND, of_file("Read", "/f"), of_file("read"), of_file("sed")])
@pytest.mark.parametrize("chars", [9, 10, 2_345])
def test_no_call_for_a_text_is_longer_than_the_longest(link: RecallLink, chars: int) -> None:
    text = TextSource("\U0001f600" * (chars - 1) + "\n")
    longest = len(link.longest(chars))
    assert len(link.lines(1, chars)) <= longest
    assert len(link.lines(chars, chars)) <= longest
    assert len(link.chars(0, chars, text)) <= longest
    assert len(link.chars(chars - 1, chars, text)) <= longest
    assert longest <= len(link.lines(chars, chars)) + 40


def test_the_longest_call_is_no_longer_than_it_has_to_be() -> None:
    assert TOOL.longest(50) == 'get_artifact(id="art_1_x", start_char=50, length=50)'
    assert COMMAND.longest(50) == "`keepwhole artifacts show art_1_x --chars 50-50`"
    assert of_file("Read", "/f").longest(60) == 'Read(file_path="/f", offset=60, limit=61)'
    assert of_file("sed", "/f").longest(60) == "tail -c +240 /f | head -c 240"
