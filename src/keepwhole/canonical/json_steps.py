r"""Stepping over JSON values of any size, in short steps.

Owns: white space, and where a value ends.
Must not know: keys, paths, what a value is worth.

Theory of operation. While one call of C runs, no other thread does: `scan_once` over a value of 8 MB keeps a server
from answering anybody for 200 ms. So a large value is walked by patterns that never see more than `_STEP` characters. A
pattern can count brackets only as deep as it is written, so `_value(3)` knows values with at most three levels of
brackets; containers that are deeper, or longer than a step, are opened one by one:

    [ {"a": [1, 2]}, {"b": {"c": [[[0]]]}}, 5, … ]
    │ └─ one match for all elements up to the first deep one
    │                └─ opened, and its members stepped over; then the rest of the elements, one match a step
    └─ opened, because it does not fit one step

A match that ends where its step does says nothing: a number may go on behind it. It counts as no match.

A caller that goes down into a text level by level passes the same dictionary `known` each time: it remembers where
large containers end, so that none is walked again.

Invariants: accepted is what Python's `json` accepts, NaN and lone surrogates included, and anything else raises; no
call takes more than a millisecond; a character is looked at by a number of matches that does not depend on the text.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, cast

_Scan: TypeAlias = Callable[[str, int], tuple[Any, int]]
Known: TypeAlias = dict[int, int]
"""Where large containers of one text end, by where they begin."""
_SHORT = 100_000
"""Characters of a text that `scan_once` reads at once: a millisecond."""
_STEP = 4_096
_DEEPEST = 900
"""Levels of brackets; what is deeper is refused, as Python refuses it."""
_LEVELS = 3
_SPACE = r"[ \t\n\r]*+"
_INSIDE = r"[^\"\\\x00-\x1f]"
_ESCAPE = r"\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})"
_STRING = rf"\"{_INSIDE}*+(?>(?:{_ESCAPE}{_INSIDE}*+)*)\""
_KEY = rf"{_STRING}{_SPACE}:{_SPACE}"
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?>(?:\.[0-9]++)?)(?>(?:[eE][-+]?[0-9]++)?)"
_WORD = r"true|false|null|NaN|-?Infinity"

_scan: _Scan = cast("Any", json.JSONDecoder(parse_int=str, parse_float=str)).scan_once
_spaces = cast("Callable[[str, int], re.Match[str]]", re.compile(_SPACE).match)
_key = re.compile(_KEY).match
_in_string = cast("Callable[..., re.Match[str]]", re.compile(rf"(?>(?:{_INSIDE}++|{_ESCAPE})*)").match)


def _value(levels: int) -> str:
    """A pattern for values with at most so many levels of brackets."""
    scalar = rf"{_STRING}|{_NUMBER}|{_WORD}"
    if not levels:
        return rf"(?:{scalar})"
    inner = _value(levels - 1)
    array = rf"\[{_SPACE}(?>(?:{inner}{_SPACE}(?:,{_SPACE}(?!\])|(?=\])))*)\]"
    members = rf"\{{{_SPACE}(?>(?:{_KEY}{inner}{_SPACE}(?:,{_SPACE}(?!\}})|(?=\}})))*)\}}"
    return rf"(?:{scalar}|{array}|{members})"


@cache
def _pattern(before: str, after: str) -> re.Pattern[str]:
    """Values with what is before and after each; compiled when the first large text is read."""
    return re.compile(before + _value(_LEVELS) + after)


def skip_space(text: str, at: int) -> int:
    """The first position from `at` on that is not white space."""
    return at if text[at : at + 1] > " " else _spaces(text, at).end()


def expect(text: str, at: int, sign: str) -> int:
    """The position after `sign`, which has to be at `at`; `ValueError` where it is not."""
    if text[at] != sign:
        raise ValueError(f"no {sign} at {at}")
    return at + 1


def value_stop(text: str, at: int, known: Known | None = None) -> int:
    """Where the value that begins at `at` ends.

    Raises `ValueError`, `StopIteration`, `IndexError` or `RecursionError` where there is none.
    """
    if len(text) - at <= _SHORT or text[at] not in '"[{':
        return _scan(text, at)[1]
    found = _pattern("", "").match(text, at, at + _STEP)
    if found is not None and found.end() < at + _STEP:
        return found.end()
    return _large_stop(text, at, {} if known is None else known)


def key_stop(text: str, at: int) -> int:
    """Where the value of the member that begins at `at` begins."""
    found = _key(text, at, at + _STEP)
    if found is not None and found.end() < at + _STEP:
        return found.end()
    stop = _string_stop(text, expect(text, at, '"'))
    return skip_space(text, expect(text, skip_space(text, stop), ":"))


def _large_stop(text: str, at: int, known: Known) -> int:
    opened: list[tuple[int, str]] = []
    """Where the containers begin that have not ended yet, and what closes each."""
    while True:
        if text[at] in "[{" and at not in known:
            closing = "]" if text[at] == "[" else "}"
            opened.append((at, closing))
            if len(opened) > _DEEPEST:
                raise RecursionError("too many levels of brackets")
            at = skip_space(text, at + 1)
            at = at if text[at] == closing else _next_large(text, at, closing)
        else:
            at = known[at] if at in known else _scalar_stop(text, at)
            if not opened:
                return at
            at = _after_value(text, at, opened[-1][1])
        while text[at] == opened[-1][1]:
            start, at = opened.pop()[0], at + 1
            if at - start > _STEP:
                known[start] = at
            if not opened:
                return at
            at = _after_value(text, at, opened[-1][1])


def _after_value(text: str, at: int, closing: str) -> int:
    """Where the next large value after one that ends at `at` begins, or the closing bracket is."""
    at = skip_space(text, at)
    if text[at] == closing:
        return at
    at = skip_space(text, expect(text, at, ","))
    if text[at] == closing:
        raise ValueError(f"no value at {at}")
    return _next_large(text, at, closing)


def _next_large(text: str, at: int, closing: str) -> int:
    """Step over members from `at` on that fit a step; where the next value begins, or the closing bracket is.

    A comma counts as read only where what follows it is seen, so that no step ends between it and a bracket.
    """
    key = _KEY if closing == "}" else ""
    members = _pattern(f"(?>(?:{key}", rf"{_SPACE}(?:,{_SPACE}(?=[^\{closing}])|(?=\{closing})))*)")
    while text[at] != closing:
        stop = cast("re.Match[str]", members.match(text, at, at + _STEP)).end()
        if stop == at:
            return key_stop(text, at) if key else at
        at = stop
    return at


def _scalar_stop(text: str, at: int) -> int:
    return _string_stop(text, at + 1) if text[at] == '"' else _scan(text, at)[1]


def _string_stop(text: str, at: int) -> int:
    """Where a string ends whose first character is at `at`."""
    while text[stop := _in_string(text, at, at + _STEP).end()] != '"':
        if stop == at:
            raise ValueError(f"no string at {at}")
        at = stop
    return stop + 1
