"""When it pays to leave results out: carrying them costs at every request, leaving them out costs once.

Owns: the arithmetic alone. Must not know: which results may age, or what is shown instead.

A cached token is cheap to send again, an uncached one is not, and everything after a change is uncached. So a batch
begins at some result and takes everything behind that is worth leaving out; what it gains is what leaving each of them
out saves until the run is expected to end, less the price of sending the rest of what is behind once uncached. Of all
results at which it may begin, the one that gains most is taken. How long a run lasts nobody knows: the longer it has
been, the longer it is expected to go on, so a batch deep inside waits until the run has become long.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias


class Carried(NamedTuple):
    """A result that could be left out."""

    number: int
    frees: int
    """Tokens that leaving it out would save from now on."""
    saves: float
    """What that saves until the run is expected to end, as tokens that one request carries."""
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

    >>> old = [Carried(7, frees=900, saves=0, behind=1_000), Carried(3, frees=900, saves=18_000, behind=3_000)]
    >>> best_batch(old, price=11.5), best_batch(old, price=49)
    ([7, 3], [])
    """
    freed = 0
    saved = best = 0.0
    numbers: list[int] = []
    many = 0
    for number, frees, saves, behind in carried:
        numbers.append(number)
        freed += frees
        saved += saves
        gain = saved - price * (behind - freed)
        if gain > best and affords(behind, freed):
            best, many = gain, len(numbers)
    return numbers[:many]
