"""`WordIndex`: which numbers have which words, in memory.

Each word has a list of the numbers that have it, in ascending order: numbers are added in that order only.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

_FEW = 2_000
"""Up to this many numbers are looked up one by one; longer lists are intersected as sets."""


class WordIndex:
    """A list of numbers for each word."""

    def __init__(self) -> None:
        self._lists: dict[str, array[int]] = {}
        self.last = 0

    def add(self, number: int, words: Iterable[str]) -> None:
        """Add `number`, larger than all before, under these words."""
        lists = self._lists
        for word in words:
            found = lists.get(word)
            if found is None:
                lists[word] = array("q", (number,))
            else:
                found.append(number)
        self.last = number

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """Return the newest `most` numbers above `above` that have a word of every group, newest first.

        A word that ends in `*` stands for every word that begins so.
        """
        listed = [[held for word in group for held in self._lists_of(word)] for group in groups]
        if not listed or not all(listed):
            return []
        listed.sort(key=lambda lists: sum(len(held) - bisect_right(held, above) for held in lists))
        if len(listed) == 1 and len(listed[0]) == 1:
            (held,) = listed[0]
            return held[max(bisect_right(held, above), len(held) - most) :].tolist()[::-1]
        return self._together(listed, most, above)

    def _lists_of(self, word: str) -> "list[array[int]]":
        if word.endswith("*"):
            start = word[:-1]
            return [held for known, held in self._lists.items() if known.startswith(start)]
        return [held] if (held := self._lists.get(word)) else []

    def _together(self, listed: "list[list[array[int]]]", most: int, above: int) -> list[int]:
        """Intersect the groups over the newest numbers first, since common words meet soon, then over ever more."""
        reach = _FEW
        while True:
            low = max(above, self.last - reach)
            found = _any_of(listed[0], low)
            for lists in listed[1:]:
                found = _also_in(found, lists, low)
            if len(found) >= most or low == above:
                return sorted(found, reverse=True)[:most]
            reach *= 8


def _any_of(lists: "Sequence[array[int]]", above: int) -> set[int]:
    found: set[int] = set()
    return found.union(*(held[bisect_right(held, above) :] for held in lists))


def _also_in(numbers: set[int], lists: "Sequence[array[int]]", above: int) -> set[int]:
    if len(numbers) > _FEW:
        return numbers & _any_of(lists, above)
    return {number for number in numbers if any(_holds(held, number) for held in lists)}


def _holds(held: "array[int]", number: int) -> bool:
    at = bisect_left(held, number)
    return at < len(held) and held[at] == number
