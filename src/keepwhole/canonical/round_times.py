"""How long a request took, phase by phase, in whole milliseconds that add up.

Owns: the phases, and that their sum is the total. Must not know: who reads the clock.

    arrives     work begins    is sent       first byte     last byte
       ├── queue ───┼── own ──────┼── first ─────┼── stream ─────┤
       └────────────────────── total ────────────────────────────┘
"""

from itertools import pairwise
from typing import NamedTuple


class RoundTimes(NamedTuple):
    """The phases of one request in milliseconds. A hidden round begins where the answer before it ended."""

    queue: int = 0
    """Until the request was read and Keepwhole began to work on it."""
    own: int = 0
    """Keepwhole's own work until the request was sent."""
    first: int = 0
    """From sending it to the first byte of the answer."""
    stream: int = 0
    """From the first byte to the last."""

    @property
    def total(self) -> int:
        """All phases together."""
        return sum(self)


def times_between(*moments: float) -> RoundTimes:
    """The times between five moments in seconds; rounded together, so that the phases add up to the rounded total.

    >>> times_between(0.0, 0.0004, 0.0008, 0.0012, 0.0016), times_between(0.0, 0.0004, 0.0008, 0.0012, 0.0016).total
    (RoundTimes(queue=0, own=1, first=0, stream=1), 2)
    """
    start, *rest = moments
    marks = [0, *(max(0, round((moment - start) * 1000)) for moment in rest)]
    return RoundTimes(*(max(0, later - earlier) for earlier, later in pairwise(marks)))
