"""What can be recognised when it is used again: strings of a rare shape, and whole lines.

Owns: their shapes, the texts in a call's arguments, and what counts as an occurrence.
"""

import json
import re
from collections.abc import Iterator
from typing import cast

_ATOM = re.compile(r"[A-Za-z0-9_$@#][A-Za-z0-9_$@#.\-/:+%]*")
_RARE = re.compile(r"[0-9_/.\-@#]|.[A-Z]")
_PARTS = re.compile(r"[/:=@,+]")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_TRAILING = ".-/:+%"
_WORDY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_ATOM_CHARS = range(4, 201)
_LINE_CHARS = range(20, 301)
CONTEXT = 16
"""Characters of its own line on either side that make an occurrence one in context."""


def atoms(text: str) -> dict[str, None]:
    """Strings of a rare shape, each once, in order: a digit, an inner capital or one of `_ / . - @ #`.

    >>> list(atoms("open src/app.py, then parseArgs at line 12345."))
    ['src/app.py', 'parseArgs', '12345']
    """
    return dict.fromkeys(atom for found in _ATOM.findall(text) if is_atom(atom := found.rstrip(_TRAILING)))


def is_atom(text: str) -> bool:
    """Whether a string has the size and the shape of an atom; plain words never do."""
    return len(text) in _ATOM_CHARS and is_rare(text)


def is_rare(text: str) -> bool:
    """Whether a string has a rare shape: a digit, an inner capital or one of `_ / . - @ #`."""
    return _RARE.search(text) is not None


def parts(atom: str) -> list[str]:
    """What a model may have joined to make an atom: the pieces between separators that are atoms themselves.

    >>> parts("src/app.py:120-140")
    ['app.py', '120-140']
    """
    pieces = (piece.rstrip(_TRAILING) for piece in _PARTS.split(atom))
    return [piece for piece in pieces if piece != atom and is_atom(piece)]


def lines(text: str) -> dict[str, None]:
    """Stripped lines that are long enough to be recognised, each once, in order."""
    return dict.fromkeys(line for raw in text.split("\n") if len(line := raw.strip()) in _LINE_CHARS)


def words(text: str) -> set[str]:
    """The words of a text, by which it is found."""
    return set(_WORD.findall(text))


def argument_text(arguments: str) -> str:
    """The values in a call's arguments, one a line: what the model wrote, without JSON's escapes and keys."""
    try:
        return "\n".join(_leaves(json.loads(arguments)))
    except (ValueError, RecursionError):
        return arguments


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(cast("dict[str, object]", value).values())
    if isinstance(value, list):
        for part in cast("list[object]", value):
            yield from _leaves(part)
    elif isinstance(value, str):
        yield value
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def places(needle: str, text: str) -> Iterator[int]:
    """Where `needle` stands in `text`, but not as a part of longer words.

    >>> list(places("app.py", "myapp.py app.py app.pyc"))
    [9]
    """
    first, last = needle[0] in _WORDY, needle[-1] in _WORDY
    at = text.find(needle)
    while at >= 0:
        end = at + len(needle)
        inside = (first and at > 0 and text[at - 1] in _WORDY) or (last and end < len(text) and text[end] in _WORDY)
        if not inside:
            yield at
        at = text.find(needle, at + 1)


def occurs(needle: str, text: str) -> bool:
    """Whether `needle` stands in `text`."""
    return needle in text and next(places(needle, text), -1) >= 0


def in_context(needle: str, text: str) -> dict[str, None]:
    """Each occurrence with up to sixteen characters of its own line on either side.

    >>> list(in_context("id-7", "first line\\nthe customer has id-7 and more to say"))
    ['he customer has id-7 and more to say']
    """
    found: dict[str, None] = {}
    for at in places(needle, text):
        end = at + len(needle)
        start = max(text.rfind("\n", max(0, at - CONTEXT), at) + 1, at - CONTEXT, 0)
        stop = text.find("\n", end, end + CONTEXT)
        found[text[start : min(end + CONTEXT, len(text)) if stop < 0 else stop]] = None
    return found
