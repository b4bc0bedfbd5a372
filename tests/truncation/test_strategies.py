"""Every strategy keeps verbatim text within a budget; those for plain text count what they leave out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.errors import UnknownStrategy
from keepwhole.truncation import element
from keepwhole.truncation.cut import Cut, Inserted, Source, TextSource, render
from keepwhole.truncation.head import head
from keepwhole.truncation.head_tail import head_tail
from keepwhole.truncation.strategy import STRATEGIES, StrategyOptions, strategy_named
from tests.build import numbered_lines

ATOMS = ("word ", "\n", "\r\n", "é", "😀", "e\u0301", "🇨🇭", "\ud800", "x" * 30)
texts = st.binary(max_size=200).map(lambda raw: "".join(ATOMS[byte % len(ATOMS)] for byte in raw)) | st.integers(
    0, 3_000
).map(lambda size: "x" * size)
budgets = st.integers(0, 400)
ratios = st.sampled_from((0.0, 0.25, 0.6, 1.0))
names = st.sampled_from(sorted(STRATEGIES))
plain_names = st.sampled_from(("head", "tail", "head_tail"))


def cut_by(name: str, text: str, budget: int, ratio: float = 0.6) -> tuple[Cut, str]:
    source = TextSource(text)
    cut = strategy_named(name)(source, budget, StrategyOptions(head_ratio=ratio))
    return cut, render(cut, source)


def kept_chars(cut: Cut) -> int:
    return sum(segment.stop - segment.start for segment in cut.kept)


@given(names, texts, budgets, ratios)
def test_a_cut_covers_the_whole_original(name: str, text: str, budget: int, ratio: float) -> None:
    assert cut_by(name, text, budget, ratio)[0].covers(len(text))


@given(names, texts, budgets, ratios)
def test_a_cut_text_is_never_longer_than_its_budget(name: str, text: str, budget: int, ratio: float) -> None:
    cut, shown = cut_by(name, text, budget, ratio)
    assert len(shown) <= budget or not kept_chars(cut)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
@pytest.mark.parametrize("text", ["x" * 50, "a\n" * 40, "a,b\n1,2\n3,4\n", '{"a": [1, 2]}', "<a><b/></a>"], ids=repr)
def test_a_text_as_long_as_its_budget_is_not_cut(name: str, text: str) -> None:
    cut, shown = cut_by(name, text, len(text))
    assert not cut.gaps
    assert shown == text


@given(names, texts, budgets)
def test_a_text_within_its_budget_is_not_cut(name: str, text: str, extra: int) -> None:
    cut, _ = cut_by(name, text, len(text) + extra)
    assert not cut.gaps
    assert not [piece for piece in cut.pieces if isinstance(piece, Inserted)]


@given(plain_names, texts, budgets)
def test_the_notice_counts_the_characters_and_lines_that_are_left_out(name: str, text: str, budget: int) -> None:
    cut, shown = cut_by(name, text, budget)
    if not cut.gaps:
        return
    words = [piece.text for piece in cut.pieces if isinstance(piece, Inserted)]
    (gap,) = cut.gaps
    missing = text[gap.start : gap.stop]
    (found,) = re.findall(r"([\d,]+) lines? / ([\d,]+) chars", "".join(words))
    assert int(found[1].replace(",", "")) == len(missing)
    lines = int(found[0].replace(",", ""))
    assert missing.count("\n") <= lines <= missing.count("\n") + 1
    assert "".join(words) in shown


def test_head_keeps_the_beginning_and_says_what_remains() -> None:
    text = numbered_lines(100)
    source = TextSource(text)
    shown = render(head(source, 500, StrategyOptions()), source)
    kept, _, notice = shown.partition("\n... ")
    assert text.startswith(kept)
    assert re.fullmatch(r"\[Remainder omitted: \d+ lines / [\d,]+ chars\] \.\.\.", notice)
    assert len(kept) > 350


def test_head_tail_keeps_both_ends_with_the_marker_between_them() -> None:
    text = numbered_lines(1_000)
    source = TextSource(text)
    shown = render(head_tail(source, 2_000, StrategyOptions()), source)
    first, last = re.split(r"\n\.\.\. \[[\d,]+ lines / [\d,]+ chars omitted\] \.\.\.\n", shown)
    assert text.startswith(first)
    assert text.endswith(last)
    assert first
    assert last


@pytest.mark.parametrize(("ratio", "least", "most"), [(0.6, 0.55, 0.65), (0.25, 0.2, 0.3), (0.9, 0.85, 0.95)])
def test_head_tail_divides_the_room_by_its_ratio(ratio: float, least: float, most: float) -> None:
    source = TextSource(numbered_lines(5_000))
    cut = head_tail(source, 4_000, StrategyOptions(head_ratio=ratio))
    sizes = [segment.stop - segment.start for segment in cut.kept]
    assert least <= sizes[0] / sum(sizes) <= most


def test_most_of_the_budget_is_used() -> None:
    for name in ("head", "tail", "head_tail"):
        for text in (numbered_lines(5_000), "x" * 100_000):
            assert len(cut_by(name, text, 4_000)[1]) > 3_900


def test_lines_stay_whole_where_they_can() -> None:
    cut, _ = cut_by("head_tail", numbered_lines(5_000), 4_000)
    text = numbered_lines(5_000)
    for segment in cut.kept:
        assert segment.start == 0 or text[segment.start - 1] == "\n"
        assert text[segment.stop - 1] == "\n"


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_where_not_even_the_notice_fits_nothing_is_kept(name: str) -> None:
    for budget in range(40):
        assert kept_chars(cut_by(name, "x" * 1_000, budget)[0]) == 0


def test_an_unknown_strategy_is_refused_with_the_names_of_those_there_are() -> None:
    with pytest.raises(UnknownStrategy, match="`head`, `head_tail`"):
        strategy_named("middle")


def test_a_strategy_of_ones_own_is_one_more_entry_in_the_table() -> None:
    def nothing(source: Source, budget: int, options: StrategyOptions) -> Cut:
        return Cut(())

    assert strategy_named("nothing", {**STRATEGIES, "nothing": nothing}).function is nothing


def test_a_text_too_large_for_its_elements_is_cut_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element, "_LARGEST", 20_000)
    small, large = ('["' + '", "'.join(["item"] * count) + '"]' for count in (2_000, 4_000))
    by_element, at_both_ends = (cut_by("element", text, 500)[1] for text in (small, large))
    assert "items omitted" in by_element
    assert at_both_ends == cut_by("head_tail", large, 500)[1]
