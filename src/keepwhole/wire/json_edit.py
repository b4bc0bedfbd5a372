"""Which strings of a message are replaced, and where they lie in its text.

Owns: the words for a change and its place. Positions are found by `canonical.json_text`.
Must not know: requests, dialects, what is put in the places.
"""

from collections.abc import Sequence
from typing import TypeAlias

from keepwhole.canonical.json_text import find_values
from keepwhole.canonical.message import Path

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
