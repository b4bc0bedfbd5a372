"""Ranges as people and models write them."""

import pytest

from keepwhole.errors import UsageError
from keepwhole.recall.ranges import CharRange, LineRange, number_of, parse_chars, parse_lines, range_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100-200", LineRange(100, 200)),
        ("100", LineRange(100, 100)),
        ("100-", LineRange(100, None)),
        ("1,000-2,000", LineRange(1_000, 2_000)),
        ("1,234,567", LineRange(1_234_567, 1_234_567)),
        ("5–7", LineRange(5, 7)),
        (" 5 - 7 ", LineRange(5, 7)),
    ],
)
def test_lines_are_counted_from_one_and_both_ends_are_included(text: str, expected: LineRange) -> None:
    assert parse_lines(text) == expected


@pytest.mark.parametrize("text", ["", "0", "0-5", "5-4", "-5", "a-b", "1-2-3", "1.5", "5,10", "1,0000"])
def test_what_is_no_range_of_lines_is_refused_with_how_to_write_one(text: str) -> None:
    with pytest.raises(UsageError, match="not a range of lines") as refused:
        parse_lines(text)
    assert "the first and the last" in refused.value.for_model


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-5000", CharRange(0, 5_000)),
        ("10-10", CharRange(10, 0)),
        ("7", CharRange(7, None)),
        ("1,000-", CharRange(1_000, None)),
        ("5–7", CharRange(5, 2)),
    ],
)
def test_characters_are_counted_from_zero_and_the_end_is_not_included(text: str, expected: CharRange) -> None:
    assert parse_chars(text) == expected


@pytest.mark.parametrize("text", ["", "-5", "5-4", "a-b", "1.5-2", "5,10"])
def test_what_is_no_range_of_characters_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="0-5000"):
        parse_chars(text)


def test_a_long_wrong_range_is_not_repeated_at_length() -> None:
    with pytest.raises(UsageError) as refused:
        parse_lines("x" * 10_000)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("arguments", [{}, {"id": "art_1"}, {"lines": None}, {"start_line": None, "length": ""}])
def test_no_range_is_the_whole(arguments: dict[str, object]) -> None:
    assert range_of(arguments) is None


def test_lines_go_before_characters() -> None:
    assert range_of({"lines": "1-2", "start_char": 5}) == LineRange(1, 2)
    assert range_of({"start_line": 3, "start_char": 5}) == LineRange(3, None)


def test_a_whole_number_with_a_decimal_point_is_a_whole_number() -> None:
    assert number_of({"start_line": 5.0}, "start_line") == 5
    assert number_of({"length": 1e308}, "length") == number_of({"length": "9" * 300}, "length")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 5.5, True, [5], {"a": 5}, "5 lines"])
def test_an_argument_that_is_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="must be a whole number"):
        number_of({"length": value}, "length")
