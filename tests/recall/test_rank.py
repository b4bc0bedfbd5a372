"""Which passages share most with a question: what an index is asked for, and how what it says is weighed."""

from collections.abc import Sequence

import pytest

from keepwhole.recall.rank import CAPPED, Ranked, rank_postings
from keepwhole.recall.scorer import Term, idf
from keepwhole.store.word_index import WordIndex

SIZE = 10_000


class AskedIndex(WordIndex):
    """An index that remembers what it was asked for."""

    def __init__(self, **numbers: Sequence[int]) -> None:
        super().__init__()
        for number in sorted({number for held in numbers.values() for number in held}):
            self.add(number, [word for word, held in numbers.items() if number in held])
        self.asked: list[tuple[list[list[str]], int, int]] = []

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        self.asked.append(([list(group) for group in groups], most, above))
        return super().newest(groups, most, above)

    @property
    def together(self) -> list[list[str]]:
        """The words that were asked for together."""
        return [[" or ".join(group) for group in groups] for groups, _, _ in self.asked if len(groups) > 1]


def ranked(index: AskedIndex, most: int = 64, each: int = 1, **weights: float) -> Ranked:
    return rank_postings(index, SIZE, {word: Term(weight, (word,)) for word, weight in weights.items()}, most, each)


def numbers(found: Ranked) -> list[int]:
    return [number for number, _ in found.scores]


def test_of_a_long_question_the_twenty_four_terms_that_weigh_most_are_looked_up() -> None:
    index = AskedIndex(w1=[1])
    ranked(index, **{f"w{number}": float(number) for number in range(30)})
    assert [groups[0][0] for groups, _, _ in index.asked] == [f"w{number}" for number in range(29, 5, -1)]
    assert {most for _, most, _ in index.asked} == {CAPPED + 1}


@pytest.mark.parametrize(("held", "known"), [(256, 256), (257, 257), (300, 257)])
def test_a_list_is_read_up_to_one_more_than_the_newest_256(held: int, known: int) -> None:
    index = AskedIndex(word=range(1, held + 1))
    found = ranked(index, most=1_000, word=1.0)
    assert sorted(numbers(found)) == list(range(held - known + 1, held + 1))


def test_a_rare_term_is_worth_its_weight_times_its_rarity_and_newer_passages_a_little_more() -> None:
    found = ranked(AskedIndex(inv=[7, 907], upstream=[907]), inv=3.0, upstream=1.0)
    rare, rarer = idf(SIZE, 2), idf(SIZE, 1)
    assert found.rarity == {"inv": rare, "upstream": rarer}
    assert found.scores == [(907, pytest.approx((3 * rare + rarer) * 1.15)), (7, pytest.approx(3 * rare))]


def test_only_as_many_passages_as_wanted_are_returned_the_best_first() -> None:
    index = AskedIndex(one=range(1, 101), two=range(1, 51))
    assert numbers(ranked(index, most=3, one=1.0, two=1.0)) == [50, 49, 48]
    assert len(ranked(index, one=1.0).scores) == 64


def test_how_many_passages_a_common_term_has_is_estimated_from_how_far_back_the_newest_reach() -> None:
    found = ranked(AskedIndex(often=range(0, 6_001, 3)), often=1.0)
    newest, oldest = 6_000, 6_000 - 256 * 3
    assert found.rarity["often"] == idf(SIZE, int(257 * newest / (newest - oldest)))


def test_a_common_term_is_looked_up_beside_rare_ones_unless_it_is_worth_next_to_nothing() -> None:
    held = {"often": range(1, 2_001), "rare": [7], "rarer": [5]}
    index = AskedIndex(**held)
    found = ranked(index, often=1.0, rare=1.0, rarer=1.0)
    assert index.together == [["often", "rare or rarer"]]
    with_often = dict(found.scores)[7]
    index = AskedIndex(**held)
    alone = dict(ranked(index, often=0.1, rare=1.0, rarer=1.0).scores)[7]
    assert index.together == []
    assert with_often > alone + 1


def test_the_limit_below_which_a_common_term_is_not_looked_up_is_a_twentieth_of_the_best_rare_score() -> None:
    held = {"often": range(1, 2_001), "rare": [7]}
    common, rare = (ranked(AskedIndex(**held), often=1.0, rare=1.0).rarity[word] for word in ("often", "rare"))
    limit = 0.05 * rare / common
    for weight, is_asked in ((0.99 * limit, False), (1.01 * limit, True)):
        index = AskedIndex(**held)
        ranked(index, often=weight, rare=1.0)
        assert (index.together == [["often", "rare"]]) is is_asked


def test_common_terms_are_combined_where_together_they_are_worth_two_fifths_of_the_best_rare_score() -> None:
    held = {"often": range(1, 2_001), "usual": range(1, 2_001), "rare": [7]}
    common, rare = (ranked(AskedIndex(**held), often=1.0, usual=1.0, rare=1.0).rarity[one] for one in ("often", "rare"))
    limit = 0.4 * rare / (2 * common)
    for weight, is_asked in ((0.99 * limit, False), (1.01 * limit, True)):
        index = AskedIndex(**held)
        ranked(index, often=weight, usual=weight, rare=1.0)
        assert (["often", "usual"] in index.together) is is_asked


def test_the_five_rarest_common_terms_are_combined_all_together_first_then_four_by_four_up_to_eight_times() -> None:
    words = [f"w{number}" for number in range(6)]
    held = {word: range(at, 6_000 * 300 + at, 6_000 - at) for at, word in enumerate(words)}
    index = AskedIndex(**held)
    ranked(index, **dict.fromkeys(words, 1.0))
    assert [len(together) for together in index.together] == [5, 4, 4, 4, 4, 4, 3, 3]
    rarest = sorted(words, key=lambda word: -ranked(AskedIndex(**held), **dict.fromkeys(words, 1.0)).rarity[word])[:5]
    assert set(index.together[0]) == set(rarest)


def test_combining_ends_when_there_are_enough_passages_and_looks_back_a_bounded_way() -> None:
    index = AskedIndex(a=range(1, 300_001, 2), b=range(1, 300_001, 2), c=range(1, 300_001, 2))
    found = ranked(index, each=1, a=1.0, b=1.0, c=1.0)
    assert index.together == [["a", "b", "c"]]
    assert index.asked[-1][1:] == (64, 299_999 - 100_000)
    assert numbers(found)[0] == 299_999
    sparse = AskedIndex(a=range(1, 300_001, 2), b=range(2, 300_001, 2), c=range(1, 300_001, 2))
    ranked(sparse, a=1.0, b=1.0, c=1.0)
    assert sparse.together == [["a", "b", "c"], ["a", "b"], ["a", "c"]]


def test_a_question_whose_terms_the_index_does_not_have_finds_nothing() -> None:
    assert ranked(AskedIndex(a=[1]), b=1.0) == Ranked([], {})


def test_a_passage_with_several_common_terms_is_found_however_old_it_is() -> None:
    index = AskedIndex(a=[10, *range(1_001, 3_000, 2)], b=[10, *range(1_002, 3_000, 2)])
    scores = dict(ranked(index, most=2_000, a=1.0, b=1.0).scores)
    assert 10 in scores
    assert scores[10] > max(score for number, score in scores.items() if number != 10)


def test_a_passage_with_a_common_and_a_rare_term_counts_for_both_however_old_it_is() -> None:
    index = AskedIndex(often=range(1, 2_001), rare=[7, 1_990], rarer=[5])
    scores = dict(ranked(index, often=1.0, rare=1.0, rarer=1.0).scores)
    assert scores[7] == pytest.approx(idf(SIZE, 2) + ranked(index, often=1.0).rarity["often"], rel=0.01)
