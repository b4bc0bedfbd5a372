"""Where the members of a JSON container lie in its text, without building what is inside them.

Owns: finding spans. Accepts what Python's own `json` accepts, NaN and repeated keys included.
Must not know: budgets, what is kept.

Large arrays are split by `msgspec`, which skips over elements at memory speed; everything else by the scanner of
the standard library.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, overload

_SPACE = re.compile(r"[ \t\n\r]*")
_BIG = 20_000
_scan: Any = json.JSONDecoder(parse_int=str, parse_float=str).scan_once  # type: ignore[attr-defined]


class Member:
    """One element of a list, one key and value of an object, or one child element; a value begins at `value`."""

    __slots__ = ("start", "stop", "value")

    def __init__(self, start: int, value: int, stop: int) -> None:
        self.start, self.value, self.stop = start, value, stop


class NotJson(Exception):
    """The text is not JSON, or too deep to look into."""


def root_span(text: str) -> tuple[int, int]:
    """The span of the one value a text holds; `NotJson` unless that is an array or an object."""
    start = _skip(text, 0)
    if text[start : start + 1] not in ("[", "{"):
        raise NotJson
    stop = len(text.rstrip(" \t\n\r"))
    if text[stop - 1] not in "]}":
        raise NotJson
    return start, stop


def members(text: str, start: int, stop: int) -> Sequence[Member]:
    """The members of the container at `start`, which ends at `stop`."""
    if text[start] == "[" and stop - start > _BIG:
        fast = _split_array(text, start, stop)
        if fast is not None:
            return fast
    try:
        found, end = _walk(text, start)
    except (ValueError, StopIteration, IndexError, RecursionError):
        raise NotJson from None
    if end != stop:
        raise NotJson
    return found


def _walk(text: str, start: int) -> tuple[list[Member], int]:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    at = _skip(text, start + 1)
    found: list[Member] = []
    if text[at] == closing:
        return found, at + 1
    while True:
        value = at
        if is_object:
            if text[at] != '"':
                raise ValueError
            _, at = _scan(text, at)
            at = _skip(text, at)
            if text[at] != ":":
                raise ValueError
            at = _skip(text, at + 1)
        begin, value = value, at
        _, at = _scan(text, at)
        found.append(Member(begin, value, at))
        at = _skip(text, at)
        if text[at] == closing:
            return found, at + 1
        if text[at] != ",":
            raise ValueError
        at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] > " ":
        return at
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _split_array(text: str, start: int, stop: int) -> "Sequence[Member] | None":
    """The elements of a large array; None where msgspec is stricter than we are."""
    import msgspec

    try:
        raw: list[Any] = msgspec.json.decode(text[start:stop].encode(), type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return _LongArray(text, start, stop, raw) if raw else None


class _LongArray(Sequence[Member]):
    """Elements whose places are worked out when asked for, from whichever end is nearer."""

    def __init__(self, text: str, start: int, stop: int, raw: list[Any]) -> None:
        self._text, self._raw = text, raw
        self._ascii = text.isascii()
        self._front: list[Member] = []
        self._back: list[Member] = []
        self._start, self._stop = start, stop

    def __len__(self) -> int:
        """How many elements there are."""
        return len(self._raw)

    @overload
    def __getitem__(self, at: int) -> Member: ...
    @overload
    def __getitem__(self, at: slice) -> list[Member]: ...
    def __getitem__(self, at: int | slice) -> Member | list[Member]:
        """Element `at`."""
        size = len(self._raw)
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(size))]
        if at < 0:
            at += size
        if not 0 <= at < size:
            raise IndexError(at)
        if at <= size // 2:
            while len(self._front) <= at:
                self._extend_front()
            return self._front[at]
        while len(self._back) < size - at:
            self._extend_back()
        return self._back[size - at - 1]

    def length(self, at: int) -> int:
        """Characters of element `at`, without working out its place."""
        raw = bytes(self._raw[at])
        return len(raw) if self._ascii else len(raw.decode("utf-8", "surrogateescape"))

    def _extend_front(self) -> None:
        number = len(self._front)
        before = _skip(self._text, self._front[-1].stop) if number else self._start
        at = _skip(self._text, before + 1)
        self._front.append(Member(at, at, at + self.length(number)))

    def _extend_back(self) -> None:
        number = len(self._back)
        after = _skip_back(self._text, self._back[-1].start) if number else self._stop
        stop = _skip_back(self._text, after - 1)
        start = stop - self.length(len(self._raw) - 1 - number)
        self._back.append(Member(start, start, stop))


def _skip_back(text: str, at: int) -> int:
    while text[at - 1] in " \t\n\r":
        at -= 1
    return at
