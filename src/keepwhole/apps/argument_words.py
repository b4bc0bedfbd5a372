"""The argument that tells a call from others of the same tool: its command, path, query, pattern or address.

Owns: which argument that is, and its one line. For every list of results: the inspector's, `status`, `sessions show`.
"""

import json
from typing import cast

from keepwhole.canonical.utf8 import showable

_KEYS = (
    *("command", "cmd", "commands", "script", "code", "file_path", "filePath", "path", "notebook_path", "filename"),
    *("pattern", "query", "q", "url", "uri", "prompt", "description", "id", "name"),
)
"""The most telling first."""
_LENGTH = 120
_LONGEST = 1 << 20
"""Characters of arguments that are read."""


def telling_argument(arguments: str | None) -> str | None:
    """The argument that matters, in one line of at most 120 characters; None where there is none.

    >>> telling_argument('{"timeout": 9, "command": "make  lint"}'), telling_argument("{}")
    ('make lint', None)
    """
    if not arguments or len(arguments) > _LONGEST:
        return None
    try:
        given: object = json.loads(arguments)
    except (ValueError, RecursionError):
        given = arguments
    return _line(_value(given))


def _value(given: object) -> object:
    if not isinstance(given, dict):
        return given
    fields = cast("dict[str, object]", given)
    named = next((fields[key] for key in _KEYS if fields.get(key)), None)
    return named if named is not None else next((value for value in fields.values() if isinstance(value, str)), None)


def _line(value: object) -> str | None:
    if isinstance(value, list):
        value = " ".join(map(str, cast("list[object]", value)))
    text = " ".join(value[: 4 * _LENGTH].split()) if isinstance(value, str) else ""
    text = showable("".join(char if char.isprintable() else " " for char in text))
    return (text if len(text) <= _LENGTH else text[: _LENGTH - 1] + "…") or None
