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


def read_tree(path: str) -> object:
    """Return what the file says, as mappings, lists and values."""
    try:
        if os.path.getsize(path) > _LARGEST_FILE:
            raise ConfigError(f"`{path}` is larger than a settings file can be. Check it.")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        nodes: object = cast(Any, yaml).compose(text, yaml.SafeLoader)
        tree: object = yaml.safe_load(text)
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be read ({error.strerror}). Check the file's permissions.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{path}` is not UTF-8 text (byte {error.start:,}). Save it as UTF-8.") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"`{path}` is not YAML ({_problem(error)}). Fix that line.") from error
    for name, lines in _given_twice(nodes, "", set()):
        raise ConfigError(f"`{path}`: `{name}` is given twice, in lines {lines}. Leave one out.")
    return tree


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
