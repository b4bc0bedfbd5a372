"""Whole lines from one side or both: one gap at most, as many from each side as is asked for."""

from itertools import pairwise

import pytest

from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.lines import after_ends, line_bounds, lines, split_after
from keepwhole.truncation.strategy import StrategyOptions

TEXT = "".join(f"line {number:02d}\n" for number in range(20))


def _kept(side: str, most: int, head_ratio: float = 0.5) -> list[int]:
    """Return the numbers of the lines that are kept."""
    options = StrategyOptions(side=side, max_lines=most, head_ratio=head_ratio)
    cut = lines(TextSource(TEXT), 10_000, options)
    shown = "".join(TEXT[segment.start : segment.stop] for segment in cut.segments if segment.part == "kept")
    return [int(line[5:]) for line in shown.splitlines()]


@pytest.mark.parametrize(
    ("side", "most", "kept"),
    [
        ("head", 3, [0, 1, 2]),
        ("tail", 3, [17, 18, 19]),
        ("both", 6, [0, 1, 2, 17, 18, 19]),
        ("both", 19, [*range(10), *range(11, 20)]),
        ("both", 20, [*range(20)]),
    ],
)
def test_lines_are_kept_from_the_side_that_is_asked_for(side: str, most: int, kept: list[int]) -> None:
    assert _kept(side, most) == kept


def test_the_ratio_says_how_many_are_of_the_head() -> None:
    assert _kept("both", 8, head_ratio=0.75) == [0, 1, 2, 3, 4, 5, 18, 19]
    assert _kept("both", 8, head_ratio=0.25) == [0, 1, 14, 15, 16, 17, 18, 19]


@pytest.mark.parametrize(
    ("text", "places"),
    [("", []), ("a", []), ("a\n", [12]), ("a\nbc\n\nd", [12, 15, 16]), ("a\x0cb\nc\u2028d\n", [14, 18])],
)
def test_lines_end_with_the_ends_of_their_text_alone(text: str, places: list[int]) -> None:
    assert after_ends(text, "\n", 10) == places
    assert list(line_bounds(text, "\n", 10)) == list(dict.fromkeys([10, *places, 10 + len(text)]))


LONG = "one two. three four\nfive six\nseven"
"""Lines of 20, 9 and 5 characters."""


@pytest.mark.parametrize(
    ("longest", "parts"),
    [
        (20, ["one two. three four\n", "five six\n", "seven"]),
        (19, ["one two. ", "three four\n", "five six\n", "seven"]),
        (9, ["one two. ", "three ", "four\n", "five six\n", "seven"]),
        (8, ["one ", "two. ", "three ", "four\n", "five ", "six\n", "seven"]),
    ],
)
def test_what_is_too_long_is_split_after_the_best_end_that_fits(longest: int, parts: list[str]) -> None:
    bounds = split_after(LONG, line_bounds(LONG, "\n"), longest, (". ",), (" ",))
    assert [LONG[start:stop] for start, stop in pairwise(bounds)] == parts
