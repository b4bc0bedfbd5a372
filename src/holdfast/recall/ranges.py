"""Which part of an artifact is meant: lines or characters, as people and models write them."""

from collections.abc import Mapping
from typing import Any

from holdfast.canonical.value import Value
from holdfast.errors import UsageError


class Lines(Value):
    """Lines `first` to `last`, from 1, both included."""

    first: int
    last: int | None = None


class Chars(Value):
    """`length` characters from `start`, counted from 0; to the end where no length is given."""

    start: int
    length: int | None = None


def parse_lines(text: str) -> Lines:
    """`"100-200"`, `"100-"` or `"100"`.

    >>> parse_lines("100-200")
    Lines(first=100, last=200)
    """
    first, dash, last = text.replace(",", "").replace("–", "-").partition("-")
    try:
        begin = int(first)
        end = begin if not dash else int(last) if last.strip() else None
    except ValueError:
        begin = end = 0
    if begin < 1 or (end is not None and end < begin):
        message = f'"{text[:40]}" is no range of lines. Give it as lines="100-200", counted from 1.'
        raise UsageError(message, message)
    return Lines(begin, end)


def parse_chars(text: str) -> Chars:
    """`"0-5000"`: from the first up to, not including, the second; counted from 0."""
    first, _, last = text.replace(",", "").partition("-")
    try:
        start = int(first)
        length = int(last) - start if last.strip() else None
    except ValueError:
        start, length = -1, None
    if start < 0 or (length is not None and length < 0):
        message = f'"{text[:40]}" is no range of characters. Give it as "0-5000", counted from 0.'
        raise UsageError(message, message)
    return Chars(start, length)


def range_of(arguments: Mapping[str, Any]) -> Lines | Chars | None:
    """The range that a call's arguments ask for; None for the whole."""
    lines = arguments.get("lines")
    if lines is not None:
        return parse_lines(str(lines))
    first, last = _number(arguments, "start_line"), _number(arguments, "end_line")
    if first is not None or last is not None:
        return parse_lines(f"{first or 1}-{'' if last is None else last}")
    start, length = _number(arguments, "start_char"), _number(arguments, "length")
    if start is None and length is None:
        return None
    if (start or 0) < 0 or (length is not None and length < 1):
        message = "start_char counts from 0 and length is at least 1. Give both as whole numbers."
        raise UsageError(message, message)
    return Chars(start or 0, length)


def _number(arguments: Mapping[str, Any], key: str) -> int | None:
    value = arguments.get(key)
    if value is None or value == "":
        return None
    try:
        return int(str(value).replace(",", ""))
    except ValueError:
        message = f"{key} must be a whole number, not {str(value)[:40]!r}."
        raise UsageError(message, message) from None
