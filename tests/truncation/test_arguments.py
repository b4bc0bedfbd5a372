"""Long values in the arguments of a call, and their view: a beginning and how much is hidden."""

import json

import pytest

from keepwhole.canonical.arguments import are_equal
from keepwhole.truncation.arguments import (
    LONG,
    cut_arguments,
    cut_values,
    has_mark,
    hidden_text,
    is_cut_of,
    long_arguments,
    mark,
)

TEXT = "".join(f"line {number} of a file\n" for number in range(100))
ARGUMENTS = json.dumps({"path": "a.txt", "content": TEXT})
CUTS = long_arguments(ARGUMENTS)


def test_values_from_800_characters_on_are_cut() -> None:
    assert LONG == 800
    assert [len(long_arguments(json.dumps({"a": "x" * size}))) for size in (10, 799, 800, 801)] == [0, 0, 1, 1]
    assert [len(long_arguments("x" * size)) for size in (799, 800)] == [0, 1]


def test_arguments_with_a_mark_in_them_are_left_alone() -> None:
    assert long_arguments(json.dumps({"a": TEXT, "b": mark(5)})) == ()
    assert long_arguments(json.dumps({"a": TEXT, "b": mark(5)}, ensure_ascii=False)) == ()
    assert [has_mark(words) for words in (mark(12), json.dumps(mark(12)), "this view hides them]")] == [
        True,
        True,
        False,
    ]


def test_the_view_has_whole_lines_up_to_200_characters_and_says_how_many_are_hidden() -> None:
    shown = json.loads(cut_arguments(ARGUMENTS, CUTS))
    beginning, _, rest = shown["content"].partition("[…")
    assert TEXT.startswith(beginning)
    assert beginning.endswith("\n")
    assert 150 < len(beginning) <= 200
    assert rest.startswith(f"{len(TEXT) - len(beginning):,} more characters")
    assert shown["path"] == "a.txt"
    assert hidden_text(ARGUMENTS, CUTS) == TEXT[len(beginning) :]
    assert cut_values(ARGUMENTS, CUTS) == [(("content",), shown["content"])]


@pytest.mark.parametrize(("line", "shown"), [(99, 200), (100, 101), (150, 151), (199, 200), (200, 200)])
def test_a_line_end_between_100_and_200_characters_ends_the_beginning(line: int, shown: int) -> None:
    (cut,) = long_arguments(json.dumps({"a": "x" * line + "\n" + "y" * 900}))
    assert (cut.shown, cut.chars) == (shown, line + 901)


def test_a_view_is_known_by_its_arguments_and_by_nothing_else() -> None:
    shown = cut_arguments(ARGUMENTS, CUTS)
    assert is_cut_of(shown, ARGUMENTS)
    assert is_cut_of(json.dumps(json.loads(shown), indent=1), ARGUMENTS), "however it is spelled"
    assert not is_cut_of(ARGUMENTS, ARGUMENTS), "nothing is cut"
    assert not is_cut_of(json.dumps({**json.loads(shown), "more": "x"}), ARGUMENTS)
    assert not is_cut_of(shown.replace("a.txt", "b.txt"), ARGUMENTS)
    assert not is_cut_of(shown, json.dumps({"path": "a.txt", "content": TEXT + "more"}))


@pytest.mark.parametrize(
    ("one", "other", "equal"), [("{", "{", True), ("{", "[", False), ('{"a":1}', '{"a": 1}', True), ("1", "{", False)]
)
def test_arguments_that_are_no_json_are_equal_as_texts(one: str, other: str, equal: bool) -> None:
    assert are_equal(one, other) is equal
