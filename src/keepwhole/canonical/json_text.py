"""The one scanner of JSON texts: where values lie, so that parts can be read or replaced and the rest stays.

Owns: positions of values, elements and strings in a JSON text. Members of containers are in `json_members.py`, stepping
over a value in `json_steps.py`.
Must not know: requests, budgets, settings; what is done with the positions.

Theory of operation. No JSON library tells where in the text a value was. `JSONDecoder.scan_once(text, at)` of the
standard library nearly does: it reads the value that begins at `at`, at the speed of C, and returns where it ends.
Everything here is that call, and steps over the few characters between two values:

    {"model": "m", "messages": [{"role": "user"}, {"role": "tool"}]}
    0              15          27                 46              62

    member `"messages"`     start 15, value 27, stop 63
    its elements            28 to 44 and 46 to 62

A position counts characters of the text. A span is half-open: `text[start:stop]` is the value with its quotes or
brackets and without white space.

There are three ways to read, because callers know different things about their text:

- `read_value`, `read_key`, `read_elements` build values and refuse what the JSON standard refuses (NaN);
- `value_stop` and `members` build nothing and accept what Python's `json` accepts, NaN and repeated keys included;
- `find_values` follows paths in a text that was read before, so it is valid: a value that no path leads into is
  stepped over without reading it where it is a string.

Invariants: nothing here changes, normalizes or re-writes a character; a text that is not JSON raises (`NotJson` or
`ValueError`) and is never answered with a guess; joining the text before, inside and after any span gives the text.
"""

import json
import json.scanner
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar, cast

from keepwhole.canonical.json_steps import expect, skip_space, value_stop
from keepwhole.canonical.message import Path

_Scan: TypeAlias = Callable[[str, int], tuple[Any, int]]
T = TypeVar("T")
_Tree: TypeAlias = dict[str | int, "_Tree | tuple[Path, Any]"]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


read_value: _Scan = cast("Any", json.JSONDecoder(parse_constant=_refuse)).scan_once
"""Read the value that begins at a position; returns the value and where it ends.

Raises `ValueError`, `StopIteration` where no value begins there, or `RecursionError`.
"""
_scan_string = cast("Callable[[str, int, bool], tuple[str, int]]", cast("Any", json.decoder).scanstring)
_LARGEST_AT_ONCE = 2_000_000
"""Characters that one call may read: ten milliseconds. Elements with more behind them are read in steps."""
_next_member = re.compile(r'[ \t\n\r]*+[{,][ \t\n\r]*+"([^"\\]*+(?>(?:\\.[^"\\]*+)*))"[ \t\n\r]*+:[ \t\n\r]*+').match
_next_element = re.compile(r"[ \t\n\r]*+[\[,][ \t\n\r]*+(?!\])").match
_closing = re.compile(r"[ \t\n\r]*+(?:[{\[][ \t\n\r]*+)?[}\]]").match
_strings_in = re.compile(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?:"|\\?\Z)', re.S).finditer
_in_string = cast("Callable[..., re.Match[str]]", re.compile(r'(?>(?:[^"\\]++|\\.)*)', re.S).match)
_HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB]")
_STEP = 65_536
"""Characters that one call may look at, so that other threads need not wait."""


def find_strings(text: str) -> Iterator[tuple[int, int]]:
    """Find the strings of any text, quotes included; one that does not end goes on to the end of the text.

    So every character is looked at once, also in a text that is not JSON.
    """
    at = 0
    while at < len(text):
        edge = at + _STEP
        for string in _strings_in(text, at, edge):
            start, at = string.span()
            if at >= edge:  # it may go on
                at = _string_stop(text, start + 1)
            yield start, at
        at = max(at, edge)


def _string_stop(text: str, at: int) -> int:
    """Where a string ends whose first character is at `at`."""
    while not text.startswith('"', stop := _in_string(text, at, at + _STEP).end()):
        if stop == at:
            return len(text)
        at = stop
    return stop + 1


def read_key(text: str, at: int) -> tuple[str, int]:
    """Read the key of a member that begins at `at` or after white space; returns it and where its value begins."""
    at = skip_space(text, at)
    if text[at] != '"':
        raise ValueError(f"no name at {at}")
    key, at = read_value(text, at)
    return key, skip_space(text, expect(text, skip_space(text, at), ":"))


def _read_string(text: str, at: int, strict: bool = True) -> tuple[str, int]:
    """Read a string whose first character is at `at`, of any length, in steps; returns where it ends too."""
    stop = text.find('"', at, at + _STEP)
    if stop >= 0 and text[stop - 1] != "\\":
        return _scan_string(text, at, strict)
    pieces: list[str] = []
    while (edge := _between_escapes(text, at, min(len(text), at + _STEP))) > at:
        piece, read = _scan_string(text[at:edge] + '"', 0, strict)
        pieces.append(piece)
        if at + read <= edge:
            return "".join(pieces), at + read
        at = edge
    raise ValueError("a string does not end")


def _between_escapes(text: str, start: int, stop: int) -> int:
    """The last place up to `stop` that splits no escape, nor two that are one character; `start` splits none."""
    for _ in range(2):  # an escape that is not whole, and the first half of a pair before it
        slash = text.rfind("\\", stop - 6, stop)
        before = text[start : slash + 1]
        if slash < 0 or (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            break
        is_whole = slash + (6 if text[slash + 1 : slash + 2] == "u" else 2) <= stop
        if is_whole and not _HIGH_SURROGATE.match(text, slash):
            break
        stop = slash
    return stop


def _reader_in_steps() -> _Scan:
    """`read_value` written in Python, so that other threads can run; long strings are read in steps."""
    decoder: Any = json.JSONDecoder(parse_constant=_refuse)
    decoder.parse_string = _read_string
    return cast("Any", json.scanner).py_make_scanner(decoder)


_read_in_steps = _reader_in_steps()


def read_in_large_text(text: str, at: int) -> tuple[Any, int]:
    """`read_value` for a text of any size: at once what fits a step, anything else in steps."""
    if text[at] not in "[{":  # a number could go on behind a step
        return _read_in_steps(text, at)
    try:
        value, read = read_value(text[at : at + _STEP], 0)
        return value, at + read
    except (ValueError, StopIteration):
        pass  # it is longer
    return _read_in_steps(text, at)


def read_elements(text: str, at: int, values: list[Any], starts: list[int], stops: list[int]) -> int:
    """Read an array from its element at `at` on, append every value and its span; returns where the array ends."""
    short_from = len(text) - _LARGEST_AT_ONCE
    while True:
        value, stop = read_value(text, at) if at >= short_from else read_in_large_text(text, at)
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


Change: TypeAlias = tuple[Path, Any]
"""A path inside a message, and what is put there: a string for a string, an object for an object."""
Place: TypeAlias = tuple[int, int, Change]
"""The span of the value that is replaced, quotes or brackets included, and the change."""


def find_places(text: str, at: int, changes: Sequence[Change]) -> list[Place]:
    """The places in the value at `at`, in order; a change is left out where something else is than a string for a
    string or an object for an object, or a key is there twice."""
    found = find_values(text, at, changes)
    return [place for place in found if text[place[0]] == ('"' if isinstance(place[2][1], str) else "{")]


def find_span(text: str, at: int, path: Path) -> tuple[int, int] | None:
    """The span of the value that a path leads to in the value at `at`; None where none is or a key is there twice.

    >>> text = '{"content": [{"text": "x"}]}'
    >>> start, stop = find_span(text, 0, ("content", 0)) or (0, 0)
    >>> text[start:stop]
    '{"text": "x"}'
    """
    found = find_values(text, at, [(path, "")])
    return found[0][:2] if found else None
