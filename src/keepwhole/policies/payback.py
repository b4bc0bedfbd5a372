"""When it pays to leave old results out: carrying them costs at every request, leaving them out costs once.

Owns: the arithmetic alone. Must not know: which results may age, or what is shown instead.

A cached token is cheap to send again and dear to send anew, and whatever lies behind a change is sent anew. How long
a run will last nobody knows. So the rule is that of the skier who does not know whether to buy: rent until the rents
add up to the price. A batch is made when carrying what it leaves out has cost, since that grew old, what sending the
rest anew would cost; then at most twice the least possible was paid, whatever comes.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias


class Carried(NamedTuple):
    """A result that could be left out."""

    number: int
    frees: int
    """Tokens that leaving it out would save from now on."""
    overdue: float
    """Requests that have carried it since it grew old; none where that is not above 0."""
    behind: int
    """Tokens that are sent from its message on."""


Numbers: TypeAlias = tuple[int, int, float, int]
"""The same without names, where there are thousands."""


def best_batch(carried: Iterable[Carried | Numbers], price: float) -> list[int]:
    """The numbers of the batch that pays best: all from some place on, given newest first; none if nothing pays.

    `price` is what sending a token anew costs, counted in requests that carry it.

    >>> old = [Carried(7, frees=900, overdue=0, behind=1_000), Carried(3, frees=900, overdue=20, behind=3_000)]
    >>> paying(old, price=11.5), paying(old, price=49)
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
        if gain > best:
            best, many = gain, len(numbers)
    return numbers[:many]
