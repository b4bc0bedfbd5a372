"""Noise in a view: color codes, overwritten progress, the rest of very long lines; and more text in their place."""

import pytest

from keepwhole.truncation.cut import Cut, Inserted, Segment, Source, TextSource, nothing, render, whole
from keepwhole.truncation.head_tail import head_tail
from keepwhole.truncation.noise import tidied, without_noise
from keepwhole.truncation.notice import omitted
from keepwhole.truncation.strategy import StrategyOptions

OPTIONS = StrategyOptions()


def quiet(text: str, line_cap: int = 2_000) -> str:
    source = TextSource(text)
    cut = tidied(whole(len(text)), source, line_cap)
    assert cut.covers(len(text))
    return render(cut, source)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m\n", "red\n"),
        ("a\x1b[1m\x1b[4mb\x1b[0m", "ab"),
        ("\x1b[0m", ""),
        ("1%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("x\n1%\r50%\r100%", "x\n100%"),
        ("1%\r2%\r\ndone\n", "2%\r\ndone\n"),
        ("1%\r2%\r\n3%\r4%\r\n", "2%\r\n4%\r\n"),
        ("a\n1%\r2%\nb\n3%\r4%\nc\n", "a\n2%\nb\n4%\nc\n"),
        ("1%\r\x1b[32m2%\x1b[0m\nok\n", "2%\nok\n"),
        ("\x1b[32m1%\r2%\x1b[0m\nok\n", "2%\nok\n"),
    ],
)
def test_colors_and_overwritten_frames_are_left_out(text: str, shown: str) -> None:
    assert quiet(text) == shown


@pytest.mark.parametrize(
    "text", ["plain\n", "a\r\nb\r\n", "last\r\n\r\n", "1%\r", "1%\r\nx", "a\rb\rc", "", "end\x1b", "x\n\r\n"]
)
def test_text_without_noise_is_the_same_cut(text: str) -> None:
    cut = whole(len(text))
    assert tidied(cut, TextSource(text), 2_000) is cut


def test_only_kept_parts_are_tidied_and_the_notices_around_them_stay() -> None:
    text = "\x1b[1mone\n\x1b[2mtwo\nthree\n"
    cut = Cut(
        (Segment("kept", 0, 8), Inserted("…\n"), Segment("gap", 8, 16), Segment("kept", 16, 22)), "above ", " end"
    )
    found = tidied(cut, TextSource(text), 2_000)
    assert found.pieces == (
        Segment("elided", 0, 4),
        Segment("kept", 4, 8),
        Inserted("…\n"),
        Segment("gap", 8, 16),
        Segment("kept", 16, 22),
    )
    assert (found.above, found.below) == ("above ", " end")
    assert render(found, TextSource(text)) == "above one\n…\nthree\n end"


def long_lines(*sizes: int, line_cap: int = 10, end: str = "\n") -> str:
    return quiet(end.join("abcdefghijklmnopqrstuvwxyz"[:size] for size in sizes) + end, line_cap)


def test_the_rest_of_a_line_over_the_cap_is_left_out_with_its_count() -> None:
    assert long_lines(3, 12, 3) == f"abc\nabcdefghij{omitted(0, 2)}\nabc\n"
    assert long_lines(3, 10, 3) == "abc\nabcdefghij\nabc\n"
    assert long_lines(11, 3, 26) == f"abcdefghij{omitted(0, 1)}\nabc\nabcdefghij{omitted(0, 16)}\n"
    assert long_lines(3, 12, 3, end="\r") == f"abc\rabcdefghij{omitted(0, 2)}\rabc\r"
    assert quiet(f"\na\n{'c' * 12}\nd\n", 10) == f"\na\n{'c' * 10}{omitted(0, 2)}\nd\n"
    assert quiet("a\nb\n" + "c" * 12, 10) == f"a\nb\n{'c' * 10}{omitted(0, 2)}"


def test_a_long_line_stays_where_no_other_lines_need_its_room() -> None:
    assert long_lines(12, 3) == "abcdefghijkl\nabc\n"
    assert long_lines(12, 3, 1) != "abcdefghijkl\nabc\na\n"


def test_colors_do_not_count_for_the_length_of_a_line() -> None:
    red = "\x1b[31m"
    assert quiet(f"a\nb\n{red}{'c' * 10}{red}\nd\n", 10) == f"a\nb\n{'c' * 10}\nd\n"
    assert quiet(f"a\nb\n{red}{'c' * 12}\n{red}{'d' * 11}\n", 10) == (
        f"a\nb\n{'c' * 10}{omitted(0, 2)}\n{'d' * 10}{omitted(0, 1)}\n"
    )
    assert quiet(f"{red}\n{'c' * 12}\nd\n", 10) == f"\n{'c' * 10}{omitted(0, 2)}\nd\n"


def test_a_grapheme_at_the_cap_is_not_split() -> None:
    text = "a\nb\n" + "c" * 9 + "e\u0301\u0302" + "f" * 5 + "\n"
    assert quiet(text, 10) == f"a\nb\n{'c' * 9}{omitted(0, 8)}\n"


def first(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """A strategy that keeps the beginning."""
    stop = min(budget, source.chars)
    return Cut(
        tuple(one for one in (Segment("kept", 0, stop), Segment("gap", stop, source.chars)) if one.stop > one.start)
    )


def test_the_room_of_noise_goes_to_more_text() -> None:
    source = TextSource("\x1b[31mx\x1b[0m" * 1_000)
    shown = render(without_noise(first, source, 200, OPTIONS), source)
    assert set(shown) == {"x"}
    assert 170 < len(shown) <= 200
    assert render(first(source, 200, OPTIONS), source).count("x") == 20


def test_a_view_without_noise_is_the_strategys_own() -> None:
    cut = first(source := TextSource("x" * 1_000), 100, OPTIONS)
    assert without_noise(lambda *_: cut, source, 100, OPTIONS) is cut
    empty = nothing(1_000)
    assert without_noise(lambda *_: empty, source, 100, OPTIONS) is empty


def test_a_text_that_is_all_shown_is_asked_for_once() -> None:
    asked: list[int] = []

    def strategy(source: Source, budget: int, options: StrategyOptions) -> Cut:
        asked.append(budget)
        return first(source, budget, options)

    source = TextSource("\x1b[31mx\x1b[0m" * 10)
    assert render(without_noise(strategy, source, 100, OPTIONS), source) == "x" * 10
    assert asked == [100]
    asked.clear()
    source = TextSource("\x1b[31mx\x1b[0m" * 1_000)
    without_noise(strategy, source, 100, OPTIONS)
    assert asked[0] == 100
    assert 2 <= len(asked) <= 4
    assert asked[1] == 100 * 8


def test_a_strategy_is_never_given_more_than_sixty_four_times_its_budget() -> None:
    asked: list[int] = []

    def strategy(source: Source, budget: int, options: StrategyOptions) -> Cut:
        asked.append(budget)
        return Cut((Segment("kept", 0, 4), Segment("gap", 4, source.chars)))

    source = TextSource("\x1b[1m" + "x" * 100_000)
    without_noise(strategy, source, 100, OPTIONS)
    assert asked == [100, 800, 6_400, 6_400]


def test_a_view_that_fills_its_budget_exactly_is_taken() -> None:
    source = TextSource("\x1b[1m" + "x" * 96)
    for budget, shown in ((96, "x" * 96), (95, "\x1b[1m" + "x" * 96)):
        cut = without_noise(lambda source, *_: whole(source.chars), source, budget, OPTIONS)
        assert render(cut, source) == shown


def test_a_view_that_is_longer_than_its_budget_after_all_is_not_taken() -> None:
    source = TextSource("a\nb\n" + "c" * 3_000 + "\nd\n")

    def strategy(source: Source, budget: int, options: StrategyOptions) -> Cut:
        return whole(source.chars)

    assert without_noise(strategy, source, 100, OPTIONS) == whole(source.chars)
    text = TextSource("\x1b[1mred\n" * 400)
    for budget in (90, 200, 777):
        shown = render(without_noise(head_tail, text, budget, OPTIONS), text)
        assert len(shown) <= budget
        assert "\x1b" not in shown
