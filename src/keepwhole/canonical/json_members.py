"""The members of JSON objects and arrays: where each lies, however many there are.

Owns: the root of a text, and the spans of members.
Must not know: what is done with them.

A member of an object starts at its key, its value at `value`; for an element of an array both are the same.

Theory of operation. The members of a small container are a list. A large one may have millions: an object for each
would take seconds to make, and the collector would stop all threads to look at them. So a large container is split
into parts of about `_PART` characters, of each of which only the span and the number of members are kept:

    [{"id":1},{"id":2},      {"id":3},{"id":4},      {"id":5}]
     └─ part 0: 2 members    └─ part 1: 2 members    └─ part 2: 1 member

Where a part may end is guessed: at the last place in reach that looks like the one between two members before it. A
part that reads as whole members proves the guess, since its beginning is known to be the beginning of a member. A wrong
guess costs a second reading: member by member until a part is full. The members of a part are found when one is asked
for.

Invariants: a text that is not JSON raises `NotJson`; no step takes more than a few milliseconds.
"""

import json
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import cast, overload

from keepwhole.canonical.json_steps import Known, expect, key_stop, skip_space, value_stop

_BIG = 20_000
"""Characters of a container from which on it is split into parts."""
_PART = 16_384
_REMEMBERED = 8
"""Parts of which the members are held."""

_count_pairs = cast(
    "Callable[[str], int]", json.JSONDecoder(parse_int=str, parse_float=str, object_pairs_hook=len).decode
)
"""The number of members of an object, repeated keys counted as often as they are there."""


def _count_elements(text: str) -> int:
    """The number of elements of an array; `ValueError` where `msgspec` refuses it, as it does NaN."""
    import msgspec

    try:
        return len(msgspec.json.decode(text.encode(), type=list[msgspec.Raw]))
    except msgspec.DecodeError as error:
        raise ValueError from error


class NotJson(Exception):
    """The text is not JSON, or too deep to look into."""


class Member:
    """A key with its value, or an element of an array; also a child element of XML, which is cut in the same way."""

    __slots__ = ("start", "stop", "value")

    def __init__(self, start: int, value: int, stop: int) -> None:
        self.start, self.value, self.stop = start, value, stop


def root_span(text: str) -> tuple[int, int]:
    """The span of the one value a text holds; `NotJson` unless that is an array or an object."""
    start = skip_space(text, 0)
    if text[start : start + 1] not in ("[", "{"):
        raise NotJson
    stop = len(text.rstrip(" \t\n\r"))
    if text[stop - 1] not in "]}":
        raise NotJson
    return start, stop


def members(text: str, start: int, stop: int, known: Known | None = None) -> Sequence[Member]:
    """The members of the container at `start`, which ends at `stop`; `NotJson` where it is none or ends elsewhere.

    Whoever looks into the members in turn passes the same `known` each time, so that nothing is walked over twice.

    >>> text = '{"a": [1, 2], "b": 3}'
    >>> [text[member.start : member.stop] for member in members(text, 0, len(text))]
    ['"a": [1, 2]', '"b": 3']
    """
    try:
        if stop - start > _BIG:
            return LargeContainer(text, start, stop, {} if known is None else known)
        found, end = members_from(text, start)
    except (ValueError, StopIteration, IndexError, RecursionError):
        raise NotJson from None
    if end != stop:
        raise NotJson
    return found


def members_from(text: str, start: int) -> tuple[list[Member], int]:
    """The members of the container at `start`, and where it ends. Raises what `value_stop` raises."""
    found: list[Member] = []
    at = skip_space(text, start + 1)
    if text[at] == _closing(text[start]):
        return found, at + 1
    while True:
        member = _member_at(text, at, text[start])
        found.append(member)
        at = skip_space(text, member.stop)
        if text[at] == _closing(text[start]):
            return found, at + 1
        at = skip_space(text, expect(text, at, ","))


def _closing(opening: str) -> str:
    return "}" if opening == "{" else "]"


def _member_at(text: str, at: int, opening: str, known: Known | None = None) -> Member:
    value = key_stop(text, at) if opening == "{" else at
    return Member(at, value, value_stop(text, value, known))


class LargeContainer(Sequence[Member]):
    """The members of a large container; raises what `value_stop` raises, or `ValueError`, where it is not valid."""

    def __init__(self, text: str, start: int, stop: int, known: Known) -> None:
        self._text, self._opening, self._known = text, text[start], known
        self._starts, self._stops = array("q"), array("q")
        """Where the first member of each part begins, and where the last one ends or a little after it."""
        self._before = array("q")
        """How many members there are before each part."""
        self._count = 0
        self._read: dict[int, list[Member]] = {}
        self._first, self._part = 0, list[Member]()
        """The part that was asked for last, and the number of its first member."""
        self._split(skip_space(text, start + 1), stop - 1)

    def _split(self, at: int, last: int) -> None:
        """Find the parts from the member at `at` up to the closing bracket at `last`."""
        text = self._text
        expect(text, last, _closing(self._opening))
        between = ""
        while at < last:
            between = between or self._between(at)
            stop = self._guess_stop(at, last, between)
            count = self._count_in(text[at:stop])
            if not count:
                count, stop = self._step(at)
                between = ""  # what follows may be of another kind
            self._starts.append(at)
            self._stops.append(stop)
            self._before.append(self._count)
            self._count += count
            at = stop if stop == last else skip_space(text, expect(text, stop, ","))
            if at == last != stop:
                raise ValueError(f"no member at {at}")

    def _between(self, at: int) -> str:
        """What is between the member at `at` and the next one, with the brackets or quotes next to it."""
        text, stop = self._text, self._member_at(at).stop
        comma = skip_space(text, stop)
        if text[comma] != ",":
            return ","
        after = skip_space(text, comma + 1)
        return text[stop - (text[stop - 1] in '"]}') : after + (text[after] in '"[{')]

    def _guess_stop(self, at: int, last: int, between: str) -> int:
        """Where a part that begins at `at` may end: at the last comma in reach that has the right signs around it."""
        if last - at <= _PART:
            return last
        found = self._text.rfind(between, at, at + _PART)
        return at if found < 0 else found + between.index(",")

    def _count_in(self, part: str) -> int:
        """How many members a part has; 0 where it is not made of whole members."""
        try:
            return _count_pairs(f"{{{part}}}") if self._opening == "{" else _count_elements(f"[{part}]")
        except (ValueError, RecursionError):
            return 0

    def _step(self, at: int) -> tuple[int, int]:
        """Step over members from `at` on until they fill a part; returns how many, and where the sign after them is."""
        text, count, full = self._text, 0, at + _PART
        while True:
            at = skip_space(text, self._member_at(at).stop)
            count += 1
            if at > full or text[at] != ",":
                return count, at
            at = skip_space(text, at + 1)

    def __len__(self) -> int:
        """How many members there are."""
        return self._count

    def __iter__(self) -> Iterator[Member]:
        """All members in order; none is remembered."""
        for part in range(len(self._starts)):
            yield from self._members_of(part)

    @overload
    def __getitem__(self, at: int) -> Member: ...
    @overload
    def __getitem__(self, at: slice) -> list[Member]: ...
    def __getitem__(self, at: int | slice) -> Member | list[Member]:
        """Member `at`."""
        if isinstance(at, int) and 0 <= at - self._first < len(self._part):
            return self._part[at - self._first]
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(self._count))]
        if at < 0:
            at += self._count
        if not 0 <= at < self._count:
            raise IndexError(at)
        part = bisect_right(self._before, at) - 1
        found = self._read.get(part)
        if found is None:
            if len(self._read) >= _REMEMBERED:
                self._read.clear()
            found = self._read[part] = self._members_of(part)
        self._first, self._part = self._before[part], found
        return found[at - self._first]

    def _members_of(self, part: int) -> list[Member]:
        start, stop = self._starts[part], self._stops[part]
        if stop - start > 2 * _PART:  # there is a large member in it
            return self._members_from(start, stop)
        opening, base = self._opening, start - 1
        found, _ = members_from(f"{opening}{self._text[start:stop]}{_closing(opening)}", 0)
        for member in found:
            member.start, member.value, member.stop = member.start + base, member.value + base, member.stop + base
        return found

    def _members_from(self, at: int, stop: int) -> list[Member]:
        found: list[Member] = []
        while at < stop:
            found.append(self._member_at(at))
            at = skip_space(self._text, skip_space(self._text, found[-1].stop) + 1)
        return found

    def _member_at(self, at: int) -> Member:
        return _member_at(self._text, at, self._opening, self._known)
