"""The YAML of a settings file, read with the reasons why it cannot be.

Owns: the words about a file that is too large, unreadable, not UTF-8, not YAML, or has a key twice.
Must not know: which settings there are.
"""

import os
from collections.abc import Iterator
from typing import Any, cast

import yaml

from keepwhole.errors import ConfigError

_LARGEST_FILE = 1 << 20
_MOST_VALUES = 10_000
"""Keys and values of a file, those that aliases repeat counted each time: a few lines of them can stand for more than
any memory holds, and an alias of what it is in for a value without an end."""
_LONGEST_NUMBER = 64
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_CANNOT_BE_READ = (yaml.YAMLError, ValueError, AttributeError, RecursionError)
"""What the parser raises: also for a date that there is not, for a tag on something else, and for deep nesting."""


def read_tree(path: str) -> object:
    """Return what the file says, as mappings, lists and values."""
    try:
        if os.path.getsize(path) > _LARGEST_FILE:
            raise ConfigError(f"`{path}` is larger than a settings file can be. Check it.")
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be read ({error.strerror}). Check the file's permissions.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{path}` is not UTF-8 text (byte {error.start:,}). Save it as UTF-8.") from error
    try:
        loader: Any = _BoundedLoader(text)
        nodes = loader.get_single_node()
        _check_values(nodes)
        tree: object = None if nodes is None else loader.construct_document(nodes)
    except _CANNOT_BE_READ as error:
        raise ConfigError(f"`{path}` is not YAML ({_problem(error)}). Fix that line.") from error
    for name, lines in _given_twice(nodes, "", set()):
        raise ConfigError(f"`{path}`: `{name}` is given twice, in lines {lines}. Leave one out.")
    return tree


class _BoundedLoader(yaml.SafeLoader):
    """Reads a file as far as it has no more in it than settings can: the parser needs seconds for a megabyte."""

    _seen = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Read one value."""
        self._seen += 1
        _check_count(self._seen)
        return cast(Any, super()).compose_node(parent, index)


def _check_values(nodes: Any) -> None:
    """Raise `ValueError` where aliases stand for more than settings can have, and for a number that is too long."""
    waiting, seen = [nodes], 0
    while waiting:
        node, seen = waiting.pop(), seen + 1
        _check_count(seen)
        value: Any = getattr(node, "value", None)
        if isinstance(value, list):
            for each in cast("list[Any]", value):
                waiting.extend(cast("tuple[Any, ...]", each) if isinstance(each, tuple) else [each])  # a mapping's pair
        elif node is not None and node.tag in _NUMBERS and len(value) > _LONGEST_NUMBER:
            raise ValueError(f"line {node.start_mark.line + 1}: the number is too long")


def _check_count(values: int) -> None:
    if values > _MOST_VALUES:
        raise ValueError(f"it has more than {_MOST_VALUES:,} values, aliases followed")


def _given_twice(node: Any, where: str, seen: set[int]) -> Iterator[tuple[str, str]]:
    """Yield each key that a mapping has twice, with its lines: YAML would take the last one silently."""
    if getattr(node, "id", "") != "mapping" or id(node) in seen:
        return
    seen.add(id(node))  # an alias leads to the same node again
    lines: dict[str, int] = {}
    for key, value in node.value:
        name, line = f"{where}{key.value}", key.start_mark.line + 1
        if name in lines:
            yield name, f"{lines[name]} and {line}"
        lines[name] = line
        yield from _given_twice(value, f"{name}.", seen)


def _problem(error: Exception) -> str:
    """What a YAML parser found, on one line."""
    place, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if place is None or problem is None:
        return " ".join(str(error).split())
    return f"line {place.line + 1}: {problem}"
