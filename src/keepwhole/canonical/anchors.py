"""Stretches of a text around rare words, so that a costly pattern is looked for there and nowhere else.

    text      ....... truncated ...... truncated .................. omitted ..
    stretches    |---------------------------------|          |-------------|

Invariants: every anchor is in a stretch, with `before` characters in front of it and `after` behind; no two stretches
touch; finding them takes time that grows with the length of the text and no faster.
"""

from collections.abc import Iterator, Sequence
from typing import AnyStr


def stretches_around(text: AnyStr, anchors: Sequence[AnyStr], before: int, after: int) -> Iterator[tuple[int, int]]:
    """The stretches around all anchors, those that touch joined, in order.

    >>> list(stretches_around("a cut and a cut, then nothing", ["cut"], 2, 5))
    [(0, 7), (10, 17)]
    """
    start, stop = 0, -1
    for at in sorted(at for anchor in anchors for at in _places_of(text, anchor, before)):
        if at - before > stop:
            if stop >= 0:
                yield start, stop
            start = max(0, at - before)
        stop = at + after
    if stop >= 0:
        yield start, stop


def _places_of(text: AnyStr, anchor: AnyStr, within: int) -> Iterator[int]:
    """Where an anchor is; of several within one stretch only the last is needed."""
    at = text.find(anchor)
    while at >= 0:
        yield at
        near = text.rfind(anchor, at + 1, at + within)
        at = near if near >= 0 else text.find(anchor, at + 1)
