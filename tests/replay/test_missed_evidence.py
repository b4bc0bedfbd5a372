"""What an agent reads back around a string: lines, or characters where the lines are very long."""

import pytest

from keepwhole.replay.missed_evidence import lines_around, text_around

LINES = [f"line {number}\n" for number in range(20)]
TEXT = "".join(LINES)


@pytest.mark.parametrize(
    ("number", "first", "stop"), [(0, 0, 4), (2, 0, 6), (3, 0, 7), (4, 1, 8), (10, 7, 14), (19, 16, 20)]
)
def test_three_lines_on_either_side_come_with_a_line(number: int, first: int, stop: int) -> None:
    at = sum(map(len, LINES[:number]))
    start, end = lines_around(TEXT, at + 1, at + 3)
    assert TEXT[start:end] == "".join(LINES[first:stop])


def test_each_line_is_read_back_once_in_the_order_of_the_text() -> None:
    assert text_around(TEXT, ["line 12", "line 10", "line 2", "nothing"]) == "".join([*LINES[:6], *LINES[7:16]])
    assert text_around(TEXT, []) == ""
    assert text_around(TEXT, ["ine 3"]) == ""


def test_of_more_than_four_thousand_characters_sixty_four_on_either_side_are_read_back() -> None:
    for size, is_whole in ((4_000, True), (4_001, False)):
        text = "a" * 1_000 + " id-7 " + "b" * (size - 1_006)
        found = text_around(text, ["id-7"])
        assert found == (text if is_whole else "a" * 63 + " id-7 " + "b" * 63)
