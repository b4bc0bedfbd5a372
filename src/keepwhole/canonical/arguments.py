"""The arguments of a call: their string values, by the path that leads to each.

Owns: what counts as a value of arguments that came as JSON text, and of those that are free text.
Must not know: dialects, what is done with a value.
"""

import json
from collections.abc import Iterator
from typing import cast

from keepwhole.canonical.message import Path


def string_values(arguments: str) -> list[tuple[Path, str]]:
    """Return the strings in a call's arguments with their paths, in order; free text is one string at an empty path.

    >>> string_values('{"path": "a.txt", "edits": [{"old": "x", "line": 3}]}')
    [(('path',), 'a.txt'), (('edits', 0, 'old'), 'x')]
    >>> string_values("*** Begin Patch")
    [((), '*** Begin Patch')]
    """
    try:
        return list(_strings(json.loads(arguments), ()))
    except (ValueError, RecursionError):
        return [((), arguments)]


def _strings(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, part in cast("dict[str, object]", value).items():
            yield from _strings(part, (*path, key))
    elif isinstance(value, list):
        for at, part in enumerate(cast("list[object]", value)):
            yield from _strings(part, (*path, at))


def are_equal(one: str, other: str) -> bool:
    """Return whether two texts are the same arguments: the same text, or JSON of the same values.

    >>> are_equal('{"a":1}', '{"a": 1}'), are_equal('{"a": 1}', '{"a": 2}')
    (True, False)
    """
    if one == other:
        return True
    try:
        return json.loads(one) == json.loads(other)
    except (ValueError, RecursionError):
        return False
