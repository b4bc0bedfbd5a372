"""Nobody is told that nothing was found before everything was looked at."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from keepwhole.apps.search_progress import Looked, index_all


class Passages(NamedTuple):
    indexed_to: int
    is_all: bool


class Row(NamedTuple):
    seq: int


class Index:
    """A record of nine results whose index gets on by these steps."""

    def __init__(self, *steps: tuple[int, bool]) -> None:
        self._steps: Iterator[tuple[int, bool]] = iter(steps)

    def passages(self, session: str, until: float) -> Passages:
        return Passages(*next(self._steps))

    def rows(self, session: str, kind: str, light: bool) -> list[Row]:
        return [Row(seq) for seq in range(1, 10)]


def reports(*steps: tuple[int, bool]) -> list[Looked]:
    index: Any = Index(*steps)
    told: list[Looked] = []
    index_all(index, "s", told.append)
    return told


def test_while_an_index_is_written_it_is_told_how_far_it_is() -> None:
    assert reports((0, False), (2, False), (5, False), (9, True)) == [Looked(0, 9), Looked(2, 9), Looked(5, 9)]
    assert reports((9, True)) == []


def test_an_index_that_cannot_be_written_any_further_is_not_waited_for() -> None:
    assert reports((4, False), (4, False)) == [Looked(4, 9)]


def test_it_is_said_whether_a_search_is_through() -> None:
    assert Looked(3, 1_200).words_while(is_all=True) == "Searched 3 of 1,200 results"
    assert Looked(3, 1_200).words_while(is_all=False) == "Searched 3 of 1,200 results so far"
