"""JSON that somebody broke off: how far it is whole, so that it can be cut by its structure all the same.

Owns: finding the last place up to which the text is JSON but for closing brackets, and the cut of such a text.
Must not know: budgets of results, who broke it off.

    {"total": 90, "hits": [{"id": 1, "at": "Oslo"}, {"id": 2, "at": "Ber\n[output truncated]
                                                   ^ whole up to here, `]}` would close it

The text up to there is cut as JSON, as if it were closed; the brackets themselves are not shown, because they are not
in the text. What comes behind is what its harness said, and is shown as it is: all of it, or its end.
"""

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from keepwhole.canonical.json_members import NotJson
from keepwhole.canonical.lazy_pattern import lazy_pattern
from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment, length
from keepwhole.truncation.notice import omitted

_STRING = r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"'
_KEY = rf"{_STRING}\s*+:\s*+"
_PLAIN = rf"(?:{_STRING}|-?+\d[\d.eE+-]*+|true|false|null)\s*+"


def _inside(key: str, end: str) -> re.Pattern[str]:
    """Values with a comma behind each, then what opens the next value, or the last value and what closes."""
    values = rf"\s*+(?>(?:{key}{_PLAIN}(,)\s*+)*)"
    return lazy_pattern(rf"{values}(?>(?:{key}([\[{{])|(?>(?:{key}{_PLAIN})?)({end}))?)", re.S)


_INSIDE = {"}": _inside(_KEY, "}"), "]": _inside("", r"\]")}
_BEHIND = re.compile(r"\s*+([}\],])")
_CLOSES = {"{": "}", "[": "]"}
_DEEPEST = 200
"""Brackets in brackets above which a text is no data that somebody wants cut as such."""
_REST = 0.25
"""Share of the room that goes to what comes behind."""
_LEAST = 0.5
"""Share of the beginning of a text that is whole at least."""


class WholePart(NamedTuple):
    """The part of a broken text that is whole."""

    stop: int
    closing: str
    """The brackets that are open there, closed."""


def whole_part(text: str) -> WholePart | None:
    """Return up to where a text is JSON but for closing brackets; None where it does not begin as JSON, or is nested
    deeper than any data.

    >>> whole_part('{"hits": [{"id": 1}, {"id": 2, "at": "Ber')
    WholePart(stop=29, closing='}]}')
    """
    begin = len(text) - len(text.lstrip())
    if text[begin : begin + 1] not in _CLOSES:
        return None
    opened = [_CLOSES[text[begin]]]
    at = stop = begin + 1
    while opened and (found := _INSIDE[opened[-1]].match(text, at)) is not None:
        comma, bracket, close = (found.end(group) for group in (1, 2, 3))
        at = stop = max(stop, comma - 1, bracket, close)
        if bracket > 0:
            if len(opened) == _DEEPEST:
                return None
            opened.append(_CLOSES[text[bracket - 1]])
            continue
        if close < 0:
            break
        opened.pop()
        while opened and (behind := _BEHIND.match(text, at)) is not None and behind[1] in (",", opened[-1]):
            at = behind.end()
            if behind[1] == ",":
                stop = behind.start(1)
                break
            opened.pop()
            stop = at
        else:
            break
    return WholePart(stop, "".join(reversed(opened)))


def begins_json(text: str) -> bool:
    """Return whether a text, or its beginning, is JSON that is broken off: most of it is whole."""
    part = whole_part(text)
    if part is None or part.stop < _LEAST * len(text):
        return False
    try:
        json.loads(text[: part.stop] + part.closing)
    except (ValueError, RecursionError):
        return False
    return True


def cut_broken(text: str, budget: int, cut_json: Callable[[str, int], Cut | None]) -> Cut | None:
    """Return the cut of a text that is broken off; `cut_json` cuts JSON within a budget. `NotJson` for other texts."""
    part = whole_part(text)
    if part is None or part.stop < _LEAST * len(text) or (part.stop == len(text) and not part.closing):
        raise NotJson
    behind = _end_of(text, part.stop, int(budget * _REST))
    room = budget - length(behind)
    for brackets in (len(part.closing), 0):  # those that a gap hides were not shown, so they leave no room
        cut = cut_json(text[: part.stop] + part.closing, room + brackets)
        if cut is None:
            return None
        pieces = _before(cut, part.stop)
        if length(pieces) <= room:
            return Cut((*pieces, *behind))
    return None


def _before(cut: Cut, stop: int) -> list[Piece]:
    """The pieces of a cut up to `stop`."""
    found: list[Piece] = []
    for piece in cut.pieces:
        if isinstance(piece, Inserted):
            found.append(piece)
        elif piece.start < stop:
            found.append(Segment(piece.part, piece.start, min(piece.stop, stop)))
    return found


def _end_of(text: str, start: int, budget: int) -> list[Piece]:
    """What is shown of the text from `start` on: all of it, or its last lines."""
    if start == len(text):
        return []
    if len(text) - start <= budget:
        return [Segment("kept", start, len(text))]
    line = text.find("\n", len(text) - max(0, budget - len(omitted(len(text), len(text)))))
    begin = line + 1 if line >= 0 else len(text)
    words = omitted(text.count("\n", start, begin), begin - start)
    return [Inserted(words), Segment("gap", start, begin), Segment("kept", begin, len(text))]
