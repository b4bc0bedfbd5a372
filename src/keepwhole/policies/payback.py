"""When it pays to leave old results out: carrying them costs at every request, leaving them out costs once.

Owns: the arithmetic alone. Must not know: which results may age, or what is shown instead.

A cached token is cheap to send again, an uncached one is not, and everything after a change is uncached. How long
a run will last is unknown. So the rule is that of the ski rental problem: rent until the rents add up to the price.
A batch is made once carrying its results, since they became old, has cost as much as sending the rest uncached
would cost. So at most twice the least possible cost is paid, however long the run lasts.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias


class Carried(NamedTuple):
    """A result that could be left out."""

    number: int
    frees: int
    """Tokens that leaving it out would save from now on."""
    overdue: float
    """Requests that have carried it since it became old; a negative number counts as 0."""
    behind: int
    """Tokens that are sent anew if it is left out, its own included."""


Numbers: TypeAlias = tuple[int, int, float, int]
"""The fields of `Carried` as a plain tuple, which is faster where there are thousands."""


Affords: TypeAlias = Callable[[int, int], bool]
"""Whether a batch may be made that sends so many tokens anew, those that it frees included, and frees so many."""


def _anything(behind: int, freed: int) -> bool:
    return True


def best_batch(carried: Iterable[Carried | Numbers], price: float, affords: Affords = _anything) -> list[int]:
    """Return the numbers of the batch that saves most: the newest results, up to some result; none if nothing saves.

    `price` is the cost of sending a token uncached, as a number of requests that carry it.

    >>> old = [Carried(7, frees=900, overdue=0, behind=1_000), Carried(3, frees=900, overdue=20, behind=3_000)]
    >>> best_batch(old, price=11.5), best_batch(old, price=49)
    ([7, 3], [])
    """
    freed = 0
    spent = best = 0.0
    numbers: list[int] = []
    many = 0
    for number, frees, overdue, behind in carried:
        numbers.append(number)
        freed += frees
        spent += frees * overdue if overdue > 0 else 0
        gain = spent - price * (behind - freed)
        if gain > best and affords(behind, freed):
            best, many = gain, len(numbers)
    return numbers[:many]
