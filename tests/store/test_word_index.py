"""Which numbers have which words: the newest first, of one word, of several, and of words that begin alike."""

from random import Random

import pytest

from keepwhole.store import word_index
from keepwhole.store.word_index import WordIndex


def index_of(**numbers: list[int]) -> WordIndex:
    index = WordIndex()
    for number in sorted({number for held in numbers.values() for number in held}):
        index.add(number, [word for word, held in numbers.items() if number in held])
    return index


def test_the_newest_numbers_of_a_word_come_first_and_only_as_many_as_wanted() -> None:
    index = index_of(a=[1, 2, 5, 9])
    assert [index.newest([["a"]], most) for most in (1, 3, 4, 9)] == [[9], [9, 5, 2], [9, 5, 2, 1], [9, 5, 2, 1]]
    assert [index.newest([["a"]], 9, above) for above in (0, 1, 2, 9)] == [[9, 5, 2, 1], [9, 5, 2], [9, 5], []]
    assert index.last == 9


def test_a_number_needs_a_word_of_every_group() -> None:
    index = index_of(a=[1, 2, 3, 4], b=[2, 4, 6], c=[3, 6])
    assert index.newest([["a"], ["b"]], 9) == [4, 2]
    assert index.newest([["a"], ["b", "c"]], 9) == [4, 3, 2]
    assert index.newest([["a", "c"], ["b"]], 2) == [6, 4]
    assert index.newest([["a"], ["nothing"]], 9) == index.newest([], 9) == index.newest([["nothing"]], 9) == []


def test_a_star_stands_for_every_word_that_begins_so() -> None:
    index = index_of(crane=[1, 4], cranes=[2], harbor=[3, 4])
    assert index.newest([["crane*"]], 9) == [4, 2, 1]
    assert index.newest([["crane*"], ["harbor"]], 9) == [4]
    assert index.newest([["crane"]], 9) == [4, 1]
    assert index.newest([["x*"]], 9) == []


@pytest.mark.parametrize("few", [1, 3, 10, 2_000])
def test_lists_of_any_length_are_intersected_alike(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "_FEW", few)
    chance = Random(7)
    held = {word: sorted(chance.sample(range(1, 500), 200)) for word in ("a", "b", "c")}
    index = index_of(**held)
    for above in (0, 100, 499):
        for most in (1, 5, 500):
            wanted = [n for n in range(499, above, -1) if n in held["a"] and (n in held["b"] or n in held["c"])]
            assert index.newest([["a"], ["b", "c"]], most, above) == wanted[:most]
