"""The command that shows the next part of a result, advice in a shell's words, and ranges behind the end."""

import pytest

from keepwhole.apps.cli.advice import without_own_advice
from keepwhole.apps.cli.recall_command import RecallCommand, check_range, in_options
from keepwhole.errors import NotFound
from keepwhole.recall.ranges import CharRange, LineRange, parse_chars, parse_lines
from tests.build import in_memory

RESTORE = "Restore a backup with `keepwhole store restore`, or move the folder away to begin a new record."


@pytest.mark.parametrize(
    ("given", "more", "command"),
    [
        ({}, {}, "keepwhole artifacts show art_1"),
        ({}, {"lines": "3-9"}, "keepwhole artifacts show art_1 --lines 3-9"),
        ({}, {"start_char": 5, "length": 10}, "keepwhole artifacts show art_1 --chars 5-15"),
        ({}, {"start_char": 5}, "keepwhole artifacts show art_1 --chars 5-"),
        ({}, {"start_char": 0, "length": 0}, "keepwhole artifacts show art_1 --chars 0-0"),
        ({}, {"length": 10}, "keepwhole artifacts show art_1"),
        ({"regex": True}, {"pattern": "a b"}, "keepwhole artifacts show art_1 --regex --pattern 'a b'"),
        ({"part": "arguments"}, {"from_end": 3}, "keepwhole artifacts show art_1 --part arguments --from-end 3"),
        ({"lines": "1-2"}, {"lines": "3-"}, "keepwhole artifacts show art_1 --lines 3-"),
    ],
)
def test_the_next_part_is_shown_by_a_command_that_a_shell_runs(
    given: dict[str, object], more: dict[str, object], command: str
) -> None:
    call = RecallCommand("art_1", "keepwhole artifacts show").with_arguments(**given)
    assert call.text(**more) == command


def test_words_for_a_model_become_options() -> None:
    assert in_options('Use chars="0-5000", leave regex out, or give a pattern.') == (
        "Use `--chars 0-5000`, leave `--regex` out, or give `--pattern`."
    )
    assert in_options("Nothing of it.") == "Nothing of it."


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (LineRange(3, 9), None),
        (LineRange(4, 9), "There is no line 4: the result has 3. Ask for `--lines 1-3`."),
        (LineRange(1_000, 1_000), "There is no line 1,000: the result has 3. Ask for `--lines 1-3`."),
        (parse_chars("15-20"), None),
        (parse_chars("16-20"), "There is no character 16: the result has 15. Ask for `--chars 0-15`."),
        (parse_lines("1-2"), None),
        (None, None),
    ],
)
def test_a_range_behind_the_end_is_answered_with_what_there_is(
    asked: LineRange | CharRange | None, words: str | None
) -> None:
    session = in_memory()
    with session.open(session.keep("t", {}, "one\ntwo\nthree!!").trace_id) as reader:
        if words is None:
            check_range(reader, asked)
            return
        with pytest.raises(NotFound) as caught:
            check_range(reader, asked)
    assert str(caught.value) == words


def test_an_empty_result_has_a_first_line() -> None:
    session = in_memory()
    with session.open(session.keep("t", {}, "").trace_id) as reader:
        check_range(reader, LineRange(1, 1))
        with pytest.raises(NotFound, match=r"There is no line 2: the result has 0\."):
            check_range(reader, LineRange(2, 2))


@pytest.mark.parametrize(
    ("message", "words", "shown"),
    [
        ("Bad. Run `keepwhole doctor`.", ["doctor"], f"Bad. {RESTORE}"),
        ("Bad. See `keepwhole doctor`.", ["doctor", "--full"], f"Bad. {RESTORE}"),
        ("Bad. Check the folder with `keepwhole doctor`.", ["doctor"], f"Bad. {RESTORE}"),
        ("Bad. Run `keepwhole doctor`.", ["sessions", "list"], "Bad. Run `keepwhole doctor`."),
        ("Bad. Run `keepwhole sessions verify`.", ["sessions", "verify", "x"], f"Bad. {RESTORE}"),
        ("Bad. Run `keepwhole sessions verify`.", ["sessions"], "Bad. Run `keepwhole sessions verify`."),
        ("Bad. Run `keepwhole doctor`.", [], "Bad. Run `keepwhole doctor`."),
    ],
)
def test_a_command_that_failed_is_not_advised(message: str, words: list[str], shown: str) -> None:
    assert without_own_advice(message, words) == shown
