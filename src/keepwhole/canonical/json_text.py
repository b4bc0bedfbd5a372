"""The one scanner of JSON texts: where values lie, so that parts can be read, cut or replaced and the rest stays.

Owns: positions of values, members and elements in a JSON text, and white space between them.
Must not know: requests, budgets, settings; what is done with the positions.

Theory of operation. No JSON library tells where in the text a value was. `JSONDecoder.scan_once(text, at)` of the
standard library nearly does: it reads the value that begins at `at`, at the speed of C, and returns where it ends.
Everything here is that call, and steps over the few characters between two values:

    {"model": "m", "messages": [{"role": "user"}, {"role": "tool"}]}
    0              15          27                 46              62

    member `"messages"`     start 15, value 27, stop 63
    its elements            28 to 44 and 46 to 62

A position counts characters of the text. A span is half-open: `text[start:stop]` is the value with its quotes or
brackets and without white space. A member of an object starts at its key, its value at `value`; for an element of an
array both are the same.

There are three ways to read, because callers know different things about their text:

- `read_value`, `read_key`, `read_elements` build values and refuse what the JSON standard refuses (NaN);
- `value_stop` and `members` build nothing and accept what Python's `json` accepts, NaN and repeated keys included.
  Elements of a large array are split by `msgspec`, which skips over them at memory speed;
- `find_values` follows paths in a text that was read before, so it is valid: a value that no path leads into is
  stepped over without reading it where it is a string.

Invariants: nothing here changes, normalizes or re-writes a character; a text that is not JSON raises (`NotJson` or
`ValueError`) and is never answered with a guess; joining the text before, inside and after any span gives the text.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar, cast, overload

from keepwhole.canonical.message import Path

_Scan: TypeAlias = Callable[[str, int], tuple[Any, int]]
T = TypeVar("T")
_Tree: TypeAlias = dict[str | int, "_Tree | tuple[Path, Any]"]
_BIG = 20_000
"""Characters of an array from which on `msgspec` pays for its import."""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


read_value: _Scan = cast("Any", json.JSONDecoder(parse_constant=_refuse)).scan_once
"""Read the value that begins at a position; returns the value and where it ends.

Raises `ValueError`, `StopIteration` where no value begins there, or `RecursionError`.
"""
_scan: _Scan = cast("Any", json.JSONDecoder(parse_int=str, parse_float=str)).scan_once
_spaces = cast("Callable[[str, int], re.Match[str]]", re.compile(r"[ \t\n\r]*").match)
_next_member = re.compile(r'[ \t\n\r]*+[{,][ \t\n\r]*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"[ \t\n\r]*+:[ \t\n\r]*+').match
_next_element = re.compile(r"[ \t\n\r]*+[\[,][ \t\n\r]*+(?!\])").match
_closing = re.compile(r"[ \t\n\r]*+(?:[{\[][ \t\n\r]*+)?[}\]]").match
find_strings = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.S).finditer
"""Find the strings of any text, quotes included; one that does not end goes on to the end of the text.

So every character is looked at once, also in a text that is not JSON.
"""


class NotJson(Exception):
    """The text is not JSON, or too deep to look into."""


class Member:
    """A key with its value, or an element of an array; also a child element of XML, which is cut in the same way."""

    __slots__ = ("start", "stop", "value")

    def __init__(self, start: int, value: int, stop: int) -> None:
        self.start, self.value, self.stop = start, value, stop


def skip_space(text: str, at: int) -> int:
    """The first position from `at` on that is not white space."""
    return at if text[at : at + 1] > " " else _spaces(text, at).end()


def expect(text: str, at: int, sign: str) -> int:
    """The position after `sign`, which has to be at `at`; `ValueError` where it is not."""
    if text[at] != sign:
        raise ValueError(f"no {sign} at {at}")
    return at + 1


def value_stop(text: str, at: int) -> int:
    """Where the value that begins at `at` ends. Raises what `read_value` raises."""
    return _scan(text, at)[1]


def read_key(text: str, at: int) -> tuple[str, int]:
    """Read the key of a member that begins at `at` or after white space; returns it and where its value begins."""
    at = skip_space(text, at)
    if text[at] != '"':
        raise ValueError(f"no name at {at}")
    key, at = read_value(text, at)
    return key, skip_space(text, expect(text, skip_space(text, at), ":"))


def read_elements(text: str, at: int, values: list[Any], starts: list[int], stops: list[int]) -> int:
    """Read an array from its element at `at` on, append every value and its span; returns where the array ends."""
    while True:
        value, stop = read_value(text, at)
        values.append(value)
        starts.append(at)
        stops.append(stop)
        after = text[stop]
        if after != "," and after != "]":
            stop = skip_space(text, stop)
            after = text[stop]
        if after != ",":
            return expect(text, stop, "]")
        at = stop + 2 if text[stop + 1] == " " else stop + 1  # as nearly all clients write it
        if text[at] != "{":
            at = skip_space(text, at)


def root_span(text: str) -> tuple[int, int]:
    """The span of the one value a text holds; `NotJson` unless that is an array or an object."""
    start = skip_space(text, 0)
    if text[start : start + 1] not in ("[", "{"):
        raise NotJson
    stop = len(text.rstrip(" \t\n\r"))
    if text[stop - 1] not in "]}":
        raise NotJson
    return start, stop


def members(text: str, start: int, stop: int) -> Sequence[Member]:
    """The members of the container at `start`, which ends at `stop`; `NotJson` where it is none or ends elsewhere.

    >>> text = '{"a": [1, 2], "b": 3}'
    >>> [text[member.start : member.stop] for member in members(text, 0, len(text))]
    ['"a": [1, 2]', '"b": 3']
    """
    if text[start] == "[" and stop - start > _BIG:
        fast = _split_array(text, start, stop)
        if fast is not None:
            return fast
    try:
        found, end = members_from(text, start)
    except (ValueError, StopIteration, IndexError, RecursionError):
        raise NotJson from None
    if end != stop:
        raise NotJson
    return found


def members_from(text: str, start: int) -> tuple[list[Member], int]:
    """The members of the container at `start`, and where it ends. Raises `IndexError` and what `read_value` raises."""
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    at = skip_space(text, start + 1)
    found: list[Member] = []
    if text[at] == closing:
        return found, at + 1
    while True:
        begin = at
        if is_object:
            if text[at] != '"':
                raise ValueError(f"no name at {at}")
            at = skip_space(text, value_stop(text, at))
            at = skip_space(text, expect(text, at, ":"))
        stop = value_stop(text, at)
        found.append(Member(begin, at, stop))
        at = skip_space(text, stop)
        if text[at] == closing:
            return found, at + 1
        at = skip_space(text, expect(text, at, ","))


def find_values(text: str, at: int, wanted: Sequence[tuple[Path, T]]) -> list[tuple[int, int, tuple[Path, T]]]:
    """The spans of the values that paths lead to, in one walk through the value at `at`, which is known to be valid.

    Returns `(start, stop, wanted)` in the order of the text. A path that leads nowhere, or over a key that is there
    twice, has no span. Of two entries for one path the later one is returned.

    >>> text = '{"content": [{"text": "x"}], "role": "tool"}'
    >>> [(text[start:stop], label) for start, stop, (_, label) in find_values(text, 0, [(("content", 0), "first")])]
    [('{"text": "x"}', 'first')]
    """
    found: list[tuple[int, int, tuple[Path, T]]] = []
    try:
        _walk(text, at, _tree(wanted), found)
    except RecursionError:
        return []
    return found


def _tree(wanted: Sequence[tuple[Path, Any]]) -> _Tree:
    """The entries by the steps of their paths, so that one walk finds all."""
    tree: _Tree = {}
    for entry in wanted:
        path = entry[0]
        branch: _Tree | tuple[Path, Any] = tree
        for key in path[:-1]:
            branch = branch.setdefault(key, {})
            if not isinstance(branch, dict):
                break
        if path and isinstance(branch, dict) and not isinstance(branch.get(path[-1]), dict):
            branch[path[-1]] = entry
    return tree


def _walk(text: str, at: int, branch: _Tree | tuple[Path, Any], found: list[Any]) -> int:
    """Find the values of a branch in the value at `at`; returns where the value ends."""
    first = text[at]
    if not isinstance(branch, dict):
        stop = _skip_value(text, at)
        found.append((at, stop, branch))
        return stop
    if first == "{":
        return _walk_object(text, at, branch, found)
    return _walk_array(text, at, branch, found) if first == "[" else _skip_value(text, at)


def _walk_object(text: str, at: int, tree: _Tree, found: list[Any]) -> int:
    by_key: dict[str, list[Any]] = {}
    while member := _next_member(text, at):
        key = member[1]
        if "\\" in key:
            key = json.loads(f'"{key}"')
        at = member.end()
        branch = tree.get(key)
        if branch is None:
            at = _skip_value(text, at)
        else:
            spans: list[Any] = []
            at = _walk(text, at, branch, spans)
            by_key[key] = [] if key in by_key else spans  # readers disagree on which of two equal keys counts
    for spans in by_key.values():
        found += spans
    return _container_stop(text, at)


def _walk_array(text: str, at: int, tree: _Tree, found: list[Any]) -> int:
    number = 0
    while element := _next_element(text, at):
        at = element.end()
        branch = tree.get(number)
        at = _skip_value(text, at) if branch is None else _walk(text, at, branch, found)
        number += 1
    return _container_stop(text, at)


def _container_stop(text: str, at: int) -> int:
    """Where a container ends, given where its last member ends, or where it starts if it is empty."""
    return cast("re.Match[str]", _closing(text, at)).end()


def _skip_value(text: str, at: int) -> int:
    """Where a value of a valid text ends. A string without a quote in it is not read: `find` is much faster."""
    if text[at] == '"':
        stop = text.find('"', at + 1)
        if text[stop - 1] != "\\":
            return stop + 1
    return value_stop(text, at)


def _split_array(text: str, start: int, stop: int) -> Sequence[Member] | None:
    """The elements of a large array; None where `msgspec` refuses what Python accepts."""
    import msgspec

    try:
        raw: list[Any] = msgspec.json.decode(text[start:stop].encode(), type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return _LongArray(text, start, stop, raw) if raw else None


class _LongArray(Sequence[Member]):
    """The elements of a large array; a position is computed when it is asked for, from the nearer end."""

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

    def __iter__(self) -> Iterator[Member]:
        """All elements in order; none is remembered."""
        text, at = self._text, self._start
        for raw in map(bytes, self._raw):
            at = skip_space(text, at + 1)
            stop = at + (len(raw) if self._ascii else len(raw.decode("utf-8", "surrogateescape")))
            yield Member(at, at, stop)
            at = skip_space(text, stop)

    def length(self, at: int) -> int:
        """Characters of element `at`; its position is not needed for that."""
        raw = bytes(self._raw[at])
        return len(raw) if self._ascii else len(raw.decode("utf-8", "surrogateescape"))

    def _extend_front(self) -> None:
        number = len(self._front)
        before = skip_space(self._text, self._front[-1].stop) if number else self._start
        at = skip_space(self._text, before + 1)
        self._front.append(Member(at, at, at + self.length(number)))

    def _extend_back(self) -> None:
        number = len(self._back)
        after = _skip_space_back(self._text, self._back[-1].start) if number else self._stop
        stop = _skip_space_back(self._text, after - 1)
        start = stop - self.length(len(self._raw) - 1 - number)
        self._back.append(Member(start, start, stop))


def _skip_space_back(text: str, at: int) -> int:
    while text[at - 1] in " \t\n\r":
        at -= 1
    return at


Change: TypeAlias = tuple[Path, str]
"""A path inside a message, and the string that is put there."""
Place: TypeAlias = tuple[int, int, Change]
"""The span of the string that is replaced, quotes included, and the change."""


def find_places(text: str, at: int, changes: Sequence[Change]) -> list[Place]:
    """The places in the value at `at`, in order; a change is left out where no string is or a key is there twice."""
    return [place for place in find_values(text, at, changes) if text[place[0]] == '"']


def find_span(text: str, at: int, path: Path) -> tuple[int, int] | None:
    """The span of the value that a path leads to in the value at `at`; None where none is or a key is there twice.

    >>> text = '{"content": [{"text": "x"}]}'
    >>> start, stop = find_span(text, 0, ("content", 0)) or (0, 0)
    >>> text[start:stop]
    '{"text": "x"}'
    """
    found = find_values(text, at, [(path, "")])
    return found[0][:2] if found else None
