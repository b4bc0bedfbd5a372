"""Where values lie in a JSON text, found by their paths in one walk.

Owns: the way from a value to the ones inside it. The text has been parsed before, so it is known to be valid.
Must not know: requests, dialects, what is put in the places.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from keepwhole.canonical.message import Path

Change: TypeAlias = tuple[Path, str]
"""What the string at a path becomes."""
Place: TypeAlias = tuple[int, int, Change]
"""From where to where in the text, quotes included, and what goes there."""
_Tree: TypeAlias = dict[str | int, "_Tree | Change"]

_decoder: Any = json.JSONDecoder()
_scan: Callable[[str, int], tuple[Any, int]] = _decoder.scan_once
_member = re.compile(r'[ \t\n\r]*[{,][ \t\n\r]*"([^"\\]*(?:\\.[^"\\]*)*)"[ \t\n\r]*:[ \t\n\r]*').match
_element = re.compile(r"[ \t\n\r]*[\[,][ \t\n\r]*(?![\] \t\n\r])").match
_closing = re.compile(r"[ \t\n\r]*[{\[]?[ \t\n\r]*[}\]]").match


def find_places(text: str, at: int, changes: Sequence[Change]) -> list[Place]:
    """The places in the value at `at`, in order; none where no string is or a name on the way is there twice."""
    return [place for place in _found(text, at, changes) if text[place[0]] == '"']


def find_span(text: str, at: int, path: Path) -> tuple[int, int] | None:
    """From where to where the value at a path lies in the value at `at`; None where none is, or a name is there twice.

    >>> text = '{"content": [{"text": "x"}]}'
    >>> start, stop = find_span(text, 0, ("content", 0)) or (0, 0)
    >>> text[start:stop]
    '{"text": "x"}'
    """
    found = _found(text, at, [(path, "")])
    return found[0][:2] if found else None


def _found(text: str, at: int, changes: Sequence[Change]) -> list[Place]:
    found: list[Place] = []
    try:
        _walk(text, at, _tree(changes), found)
    except RecursionError:
        return []
    return found


def _tree(changes: Sequence[Change]) -> _Tree:
    """The changes by the steps of their paths, so that one walk finds all. Of two at one place the later counts."""
    tree: _Tree = {}
    for change in changes:
        path = change[0]
        branch: _Tree | Change = tree
        for key in path[:-1]:
            branch = branch.setdefault(key, {})
            if not isinstance(branch, dict):
                break
        if path and isinstance(branch, dict) and not isinstance(branch.get(path[-1]), dict):
            branch[path[-1]] = change
    return tree


def _walk(text: str, at: int, branch: _Tree | Change, found: list[Place]) -> int:
    """Find the places of a branch in the value at `at`; gives where the value ends."""
    first = text[at]
    if not isinstance(branch, dict):
        stop = _skip(text, at)
        found.append((at, stop, branch))
        return stop
    if first == "{":
        return _walk_object(text, at, branch, found)
    return _walk_array(text, at, branch, found) if first == "[" else _skip(text, at)


def _walk_object(text: str, at: int, tree: _Tree, found: list[Place]) -> int:
    seen: dict[str, list[Place]] = {}
    while member := _member(text, at):
        name = member[1]
        if "\\" in name:
            name = json.loads(f'"{name}"')
        at = member.end()
        branch = tree.get(name)
        if branch is None:
            at = _skip(text, at)
        else:
            places: list[Place] = []
            at = _walk(text, at, branch, places)
            seen[name] = [] if name in seen else places
    for places in seen.values():
        found += places
    return _end(text, at)


def _walk_array(text: str, at: int, tree: _Tree, found: list[Place]) -> int:
    number = 0
    while element := _element(text, at):
        at = element.end()
        branch = tree.get(number)
        at = _skip(text, at) if branch is None else _walk(text, at, branch, found)
        number += 1
    return _end(text, at)


def _end(text: str, at: int) -> int:
    """Where a container ends, from its last member on; an empty one from its beginning on."""
    return cast("re.Match[str]", _closing(text, at)).end()


def _skip(text: str, at: int) -> int:
    """Where the value at `at` ends; a string without a quote in it need not be read for that."""
    if text[at] == '"':
        stop = text.find('"', at + 1)
        if text[stop - 1] != "\\":
            return stop + 1
    return _scan(text, at)[1]
