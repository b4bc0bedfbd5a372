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
    """What that saves with every request, less what it is worth to show it, in tokens."""


Numbers: TypeAlias = tuple[int, int, float]
"""The fields of `Carried` as a plain tuple, which is faster where there are thousands."""


Affords: TypeAlias = Callable[[int, int], bool]
"""Whether a batch may be made that sends so many tokens anew, those that it frees included, and frees so many."""


def _anything(behind: int, freed: int) -> bool:
    return True


def best_batch(
    carried: Iterable[Carried | Numbers],
    behind_of: Callable[[int], int],
    price: float,
    ahead: float,
    affords: Affords = _anything,
) -> list[int]:
    """Return the numbers of the batch that gains most: the newest results, up to some result; none if nothing gains.

    `behind_of` returns the tokens that are sent anew if a result is left out, its own included: never fewer for an
    older one. It is asked only where a batch could gain. `price` is the cost of sending a token uncached, as a number
    of requests that carry it, `ahead` the number of requests to come.

    >>> old = [Carried(7, frees=900, saves=0), Carried(3, frees=900, saves=900)]
    >>> behind = {7: 1_000, 3: 3_000}
    >>> best_batch(old, behind.__getitem__, price=11.5, ahead=20), best_batch(old, behind.__getitem__, 49, 20)
    ([7, 3], [])
    """
    behind = freed = 0
    saved = best = 0.0
    numbers: list[int] = []
    many = 0
    for number, frees, saves in carried:
        numbers.append(number)
        freed += frees
        saved += ahead * saves
        if saved - price * (behind - freed) > best:
            behind = max(behind, behind_of(number))
            gain = saved - price * (behind - freed)
            if gain > best and affords(behind, freed):
                best, many = gain, len(numbers)
    return numbers[:many]
