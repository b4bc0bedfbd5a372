"""The three thresholds are spelled out, explained, and where they say they are."""

import pytest

from keepwhole.errors import ConfigError, UsageError
from keepwhole.models.thresholds import Thresholds


@pytest.mark.parametrize(
    ("tokens", "level"),
    [(0, "normal"), (149_999, "normal"), (150_000, "warn"), (180_000, "compact"), (190_000, "hard"), (250_000, "hard")],
)
def test_a_level_begins_exactly_at_its_share(tokens: int, level: str) -> None:
    assert Thresholds().level(tokens, 200_000) == level


def test_the_indicator_has_the_three_labelled_lines_whatever_the_level() -> None:
    for tokens in (0, 199_000):
        shown = Thresholds().indicator(tokens, 200_000)
        assert [line.label for line in shown.lines] == ["Warning at 75 %", "Compaction at 90 %", "Hard limit at 95 %"]
        assert [line.tokens for line in shown.lines] == [150_000, 180_000, 190_000]
        assert [line.reached for line in shown.lines] == [bool(tokens)] * 3
        for line in shown.lines:
            assert line.explanation.endswith(".")
            assert ". " not in line.explanation


def test_the_indicator_says_how_full_the_window_is() -> None:
    shown = Thresholds().indicator(50_000, 200_000)
    assert (shown.tokens, shown.window, shown.share, shown.level) == (50_000, 200_000, 0.25, "normal")


def test_own_thresholds_are_spelled_as_they_are() -> None:
    lines = Thresholds(warn=0.29, compact=0.5, hard=0.555).indicator(1, 1_000).lines
    assert [line.label.split(" at ")[1] for line in lines] == ["29 %", "50 %", "55.5 %"]


@pytest.mark.parametrize("share", [75, 0, -0.1, 1.01, "0.5", True, None, float("nan")])
def test_a_share_that_cannot_be_is_refused_with_an_example(share: object) -> None:
    with pytest.raises(ConfigError, match=r"`thresholds.warn`.*Write 0.75 for 75 %"):
        Thresholds(warn=share)  # type: ignore[arg-type]


def test_thresholds_that_do_not_rise_are_refused_in_their_order() -> None:
    with pytest.raises(ConfigError, match="must rise"):
        Thresholds(warn=0.95, compact=0.9)


@pytest.mark.parametrize(("tokens", "window"), [(1, 0), (-1, 10), (1, -5)])
def test_numbers_that_cannot_be_are_refused(tokens: int, window: int) -> None:
    with pytest.raises(UsageError, match="window"):
        Thresholds().level(tokens, window)
