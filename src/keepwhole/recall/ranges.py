"""The range of lines or characters that a call asks for, as people and models write it."""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.notice import LONGEST_RANGE

_AROUND = 10
"""Lines before and after a match that a printed call reads, if they are not too long together."""
_FAR = 10**15
"""Larger numbers are cut to this one: no text is longer, and a model may write any number of digits."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
"""The comma in 12,000, as messages print it; `5,10` is no number, and is not read as 510."""


class LineRange(Value):
    """The lines `first` to `last`, counted from 1, both included."""

    first: int
    last: int | None = None


class CharRange(Value):
    """`length` characters from `start`, counted from 0; to the end where no length is given."""

    start: int
    length: int | None = None


class TailRange(Value):
    """The last `lines` lines."""

    lines: int


Range: TypeAlias = LineRange | CharRange | TailRange


def parse_lines(text: str) -> LineRange:
    """`"100-200"`, `"100-"` or `"100"`.

    >>> parse_lines("100-200")
    LineRange(first=100, last=200)
    """
    first, dash, last = _THOUSANDS.sub("", text).replace("–", "-").partition("-")
    try:
        begin = min(_FAR, int(first))
        end = begin if not dash else min(_FAR, int(last)) if last.strip() else None
    except ValueError:
        begin = end = 0
    if begin < 1 or (end is not None and end < begin):
        message = f'"{text[:40]}" is not a range of lines. Give the first and the last, counted from 1, and a dash.'
        raise UsageError(message, message)
    return LineRange(begin, end)


def parse_chars(text: str) -> CharRange:
    """`"0-5000"`: from the first up to, not including, the second; counted from 0."""
    first, _, last = _THOUSANDS.sub("", text).replace("–", "-").partition("-")
    try:
        start = int(first)
        length = int(last) - start if last.strip() else None
    except ValueError:
        start, length = -1, None
    if start < 0 or (length is not None and length < 0):
        message = f'"{text[:40]}" is not a range of characters. Give it as chars="0-5000", counted from 0.'
        raise UsageError(message, message)
    return CharRange(start, length)


def range_of(arguments: Mapping[str, Any]) -> Range | None:
    """The range that a call's arguments ask for; None for the whole text."""
    lines = arguments.get("lines")
    if lines is not None:
        return parse_lines(str(lines))
    first, last = number_of(arguments, "start_line"), number_of(arguments, "end_line")
    if first is not None or last is not None:
        return parse_lines(f"{first or 1}-{'' if last is None else last}")
    start, length = number_of(arguments, "start_char"), number_of(arguments, "length")
    if start is None and length is None:
        return _tail(arguments)
    if (start or 0) < 0 or (length is not None and length < 1):
        message = "start_char counts from 0 and length is at least 1. Give both as whole numbers."
        raise UsageError(message, message)
    return CharRange(start or 0, length)


def _tail(arguments: Mapping[str, Any]) -> TailRange | None:
    count = number_of(arguments, "from_end")
    if count is None:
        return None
    if count < 1:
        message = "from_end is how many of the last lines to read, at least 1."
        raise UsageError(message, message)
    return TailRange(count)


def lines_near(reader: BodyReader, first: int, last: int) -> tuple[int, int]:
    """The lines `first` to `last` and some on either side, together no longer than a printed range may be."""
    most, around = max(last, reader.lines), _AROUND
    while around:
        low, high = max(1, first - around), min(most, last + around)
        start, stop = reader.line_span(low, high)
        if stop - start <= LONGEST_RANGE:
            return low, high
        around //= 2
    return first, last


def number_of(arguments: Mapping[str, Any], key: str) -> int | None:
    """The whole number that a call gives, as a number or as text; None where it gives none."""
    value = arguments.get(key)
    if value is None or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(max(-_FAR, min(_FAR, value)))  # JSON does not tell 5.0 from 5
    try:
        return max(-_FAR, min(_FAR, int(str(value).replace(",", ""))))
    except ValueError:
        message = f"{key} must be a whole number, not {str(value)[:40]!r}."
        raise UsageError(message, message) from None
