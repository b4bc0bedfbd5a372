"""Whole lines from one side or both: one gap at most, as many from each side as is asked for."""

import pytest

from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.lines import lines
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
