"""Strings that can be recognized when they are used again: atoms, which have a rare shape, and whole lines.

Owns: their shapes, the texts in a call's arguments, and what counts as an occurrence.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import cast

_ATOM_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$@#.-/:+%"
_BETWEEN_ATOMS = bytes(byte if byte in _ATOM_BYTES else 32 for byte in range(256))
"""Every byte that is in no atom becomes a space."""
_BETWEEN_SHAPES = _BETWEEN_ATOMS.translate(bytes(48 if 48 <= byte <= 57 else byte for byte in range(256)))
"""And every digit a zero."""
_ZEROS = re.compile("0+")
_RARE = re.compile(r"[0-9_/.\-@#]|.[A-Z]")
_SEPARATORS = re.compile(r"[/:=@,+]")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_TRAILING = ".-/:+%"
_WORD_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SHORTEST_ATOM, _LONGEST_ATOM = 4, 200
_LINE_CHARS = range(20, 301)
CONTEXT = 16
"""Characters of the same line on either side that belong to an occurrence in context."""


def atoms(text: str) -> dict[str, None]:
    """Return the strings of a rare shape, each once, in order: a digit, an inner capital or one of `_ / . - @ #`.

    >>> list(atoms("open src/app.py, then parseArgs at line 12345."))
    ['src/app.py', 'parseArgs', '12345']
    """
    return dict.fromkeys(_atoms_among(dict.fromkeys(_words_between(text, _BETWEEN_ATOMS))))


def atom_shapes(text: str) -> set[str]:
    """Return the atoms of a text, those that differ only in digits as one.

    >>> sorted(atom_shapes("host-7:80 host-12:443 parseArgs"))
    ['host-0:0', 'parseArgs']
    """
    return {_ZEROS.sub("0", atom) for atom in _atoms_among(set(_words_between(text, _BETWEEN_SHAPES)))}


def _words_between(text: str, between: bytes) -> list[str]:
    """Return the words of a text, found in its bytes, which takes a third of the time of a pattern over the text."""
    return text.encode("utf-8", "replace").translate(between).decode("ascii").split()


def _atoms_among(different: Iterable[str]) -> list[str]:
    return [atom for word in different if is_atom(atom := word.strip(_TRAILING))]


def is_atom(text: str) -> bool:
    """Return whether a string has the size and the shape of an atom; plain words never do."""
    return _SHORTEST_ATOM <= len(text) <= _LONGEST_ATOM and _RARE.search(text) is not None


def is_rare(text: str) -> bool:
    """Return whether a string has a rare shape: a digit, an inner capital or one of `_ / . - @ #`."""
    return _RARE.search(text) is not None


def atom_parts(atom: str) -> list[str]:
    """Return the parts of an atom between separators that are atoms themselves; a model may have joined them.

    >>> atom_parts("src/app.py:120-140")
    ['app.py', '120-140']
    """
    pieces = (piece.rstrip(_TRAILING) for piece in _SEPARATORS.split(atom))
    return [piece for piece in pieces if piece != atom and is_atom(piece)]


def long_lines(text: str) -> dict[str, None]:
    """Return the stripped lines that are long enough to be recognized, each once, in order."""
    return dict.fromkeys(line for raw in text.split("\n") if len(line := raw.strip()) in _LINE_CHARS)


def words(text: str) -> set[str]:
    """Return the words of a text, by which it is indexed."""
    return set(_WORD.findall(text))


def argument_text(arguments: str) -> str:
    """Return the values in a call's arguments, one per line, without the keys and escapes of JSON."""
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


def positions(needle: str, text: str) -> Iterator[int]:
    """Yield the positions of `needle` in `text` where it is not a part of a longer word.

    >>> list(positions("app.py", "myapp.py app.py app.pyc"))
    [9]
    """
    first, last = needle[0] in _WORD_CHARS, needle[-1] in _WORD_CHARS
    at = text.find(needle)
    while at >= 0:
        end = at + len(needle)
        begins_inside = first and at > 0 and text[at - 1] in _WORD_CHARS
        ends_inside = last and end < len(text) and text[end] in _WORD_CHARS
        if not (begins_inside or ends_inside):
            yield at
        at = text.find(needle, at + 1)


def occurs(needle: str, text: str) -> bool:
    """Return whether `needle` occurs in `text`, not as a part of a longer word."""
    return needle in text and next(positions(needle, text), -1) >= 0


def occurrences_in_context(needle: str, text: str) -> dict[str, None]:
    """Return each occurrence with up to sixteen characters of the same line on either side.

    >>> list(occurrences_in_context("id-7", "first line\\nthe customer has id-7 and more to say"))
    ['he customer has id-7 and more to say']
    """
    found: dict[str, None] = {}
    for at in positions(needle, text):
        end = at + len(needle)
        start = max(text.rfind("\n", max(0, at - CONTEXT), at) + 1, at - CONTEXT, 0)
        stop = text.find("\n", end, end + CONTEXT)
        found[text[start : min(end + CONTEXT, len(text)) if stop < 0 else stop]] = None
    return found
