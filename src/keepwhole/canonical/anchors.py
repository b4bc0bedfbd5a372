"""Where in a text a pattern is looked for: around rare words, and never in too much of the text at once.

    text      ....... truncated ...... truncated .................. omitted ..
    stretches    |---------------------------------|          |-------------|

Invariants: every anchor is in a stretch, with `before` characters in front of it and `after` behind; no two stretches
touch; finding them takes time that grows with the length of the text and no faster.

A search that finds nothing is one call, and while it runs no other thread does. So long texts are searched in windows:
`matches_within` for patterns of bounded length, `matches_from` for patterns that begin with one sign.
"""

import re
from collections.abc import Iterator, Sequence
from typing import AnyStr

_WINDOW = 16_384


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


def matches_within(
    pattern: re.Pattern[AnyStr], text: AnyStr, start: int, stop: int, longest: int
) -> Iterator[re.Match[AnyStr]]:
    """The matches between two places, as `finditer` finds them, of a pattern that looks at most so far ahead."""
    at = start
    while at < stop:
        edge = after = at + _WINDOW
        for match in pattern.finditer(text, at, min(stop, edge + longest)):
            if match.start() >= edge:
                break
            yield match
            after = max(edge, match.end())
        at = after


def matches_from(pattern: re.Pattern[str], text: str, sign: str, ahead: int = 1) -> Iterator[re.Match[str]]:
    """The matches of a pattern that begins with a sign, ends before the next one and looks `ahead` from there on.

    >>> [match.start() for match in matches_from(re.compile(r"\\n(?=\\S)"), "a\\n b\\nc", "\\n")]
    [4]
    """
    at = text.find(sign)
    while at >= 0:
        edge = text.find(sign, at + _WINDOW)
        for match in pattern.finditer(text, at, edge + ahead if edge >= 0 else len(text)):
            if match.start() >= edge >= 0:
                break
            yield match
        at = edge
