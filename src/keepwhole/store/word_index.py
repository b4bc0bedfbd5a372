"""`WordIndex`: which numbers have which words, in memory. What is added later has a larger number."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

_FEW = 2_000
"""Up to so many numbers are looked up one by one; more are held against each other at once."""


class WordIndex:
    """Posting lists by word."""

    def __init__(self) -> None:
        self._lists: dict[str, array[int]] = {}
        self.last = 0

    def add(self, number: int, words: Iterable[str]) -> None:
        """Let `number`, larger than all before, have these words."""
        lists = self._lists
        for word in words:
            found = lists.get(word)
            if found is None:
                lists[word] = array("q", (number,))
            else:
                found.append(number)
        self.last = number

    def newest(self, groups: Sequence[Sequence[str]], most: int, above: int = 0) -> list[int]:
        """The newest numbers above one that have a word of every group, at most so many, the newest first."""
        listed = [[held for word in group if (held := self._lists.get(word))] for group in groups]
        if not listed or not all(listed):
            return []
        listed.sort(key=lambda lists: sum(len(held) - bisect_right(held, above) for held in lists))
        if len(listed) == 1 and len(listed[0]) == 1:
            (held,) = listed[0]
            return held[max(bisect_right(held, above), len(held) - most) :].tolist()[::-1]
        return self._together(listed, most, above)

    def _together(self, listed: "list[list[array[int]]]", most: int, above: int) -> list[int]:
        """What has a word of every group: the newest first, since common words stand together soon."""
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
