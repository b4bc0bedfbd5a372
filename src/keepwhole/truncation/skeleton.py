r"""The skeleton of a text: what a reader takes it for, however it is spelled.

Owns: the folding of spellings, and the way back from a place in the skeleton to a place in the text.
Must not know: what is looked for.

Theory of operation. `[ＡrtіＦact\u200b:` reads like `[artifact:`. The skeleton is what is left of a text when

1. terminal sequences are gone and `\u0041` of JSON is the character that it stands for;
2. characters that are not seen are gone: controls, joiners, combining marks, variation selectors, tags,
   direction marks;
3. every other character is its compatibility form in lower case, and letters of other scripts that look like ASCII
   letters are these letters. White space but the line end is one space each.

Nearly all texts are ASCII without any of this: then the skeleton is the text in lower case, made in one pass at the
speed of C, and a place in one is the same place in the other. Otherwise places are counted only where they are needed.

Invariants: the time is linear in the length of the text; memory does not depend on which characters were seen before.
"""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate

from keepwhole.canonical.lazy_pattern import lazy_pattern
from keepwhole.canonical.utf8 import quick_for

SEQUENCES = (
    r"(?>(?:\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]{0,4096}+(?:\x07|\x1b\\)|[PX^_][^\x1b]{0,4096}+\x1b\\"
    r"|[ -/]*+[0-~]))+)"
)
"""Terminal sequences that follow each other."""
_HIDDEN = lazy_pattern(
    SEQUENCES + r"|(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|"
    r"\\u[0-2a-fA-F][0-9a-fA-F]{3}|\\u31[0-9a-fA-F]{2})"
)
"""What is not seen, and characters as JSON may write them; ideographs, which look like no letter, are left out."""
_LOWER = bytes(range(256)).lower().translate(bytes.maketrans(b"\t\r\v\f", b"    "))
_CONTROLS = bytes((*range(9), *range(14, 32), 127))
_LOOK_ALIKES: dict[str, str] = {
    letter: plain
    for plain, letters in {
        "a": "аɑαᴀ", "b": "вьβʙ", "c": "сϲᴄ", "d": "ԁɗᴅ", "e": "еєεᴇ", "f": "ғϝꜰ", "g": "ɡɢ", "h": "һнʜ", "i": "іιıɩɪ",
        "j": "јϳᴊ", "k": "кκᴋ", "l": "ӏʟ", "m": "мᴍ", "n": "ηпɴ", "o": "оοσᴏ", "p": "рρᴘ", "q": "ԛ", "r": "гʀ",
        "s": "ѕꜱ", "t": "тτᴛ", "u": "υᴜ", "v": "νѵᴠ", "w": "ԝωᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢ", ":": "∶։׃꞉ꓽ",
        "[": "❲〔【⟦「",
        "]": "❳〕】⟧」", "-": "‐‑‒–—―−", ".": "․۔", "=": "꞊", "_": "＿",
    }.items()
    for letter in letters
}  # fmt: skip
"""A small table: what passes for a letter or a sign of our notices at a glance."""
_MOST_KNOWN = 65_536
_PIECE = 65_536
"""Characters that one call folds, so that other threads need not wait."""
_UNLIKE = "\ufffd"
"""Stands for every character that looks like none of ASCII."""
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
"""Letters by their category, though nothing is seen of them."""


class _Folded(dict[int, str]):
    """What a character is in a skeleton; computed when a character is first seen."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        folded = self[code] = _fold(chr(code))
        return folded


def _fold(char: str) -> str:
    if char == "\n" or char.isspace():
        return "\n" if char in "\n\u2028\u2029\x85" else " "
    if "\u3400" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" or "\U00020000" <= char <= "\U000323af":
        return _UNLIKE  # ideographs and Hangul, which look like no letter: a text may have thousands of different ones
    plain = "".join(map(_fold_part, unicodedata.normalize("NFKD", char).lower()))
    return plain if plain.isascii() or len(plain) < 2 else _UNLIKE


def _fold_part(char: str) -> str:
    if char in _LOOK_ALIKES:
        return _LOOK_ALIKES[char]
    if unicodedata.category(char) in ("Mn", "Me", "Mc", "Cf", "Cc") or char in _FILLERS or char >= "\U000e0000":
        return ""
    return char if char.isascii() else _UNLIKE


class _Unescaped(dict[str, str]):
    """The character that an escape of JSON stands for."""

    def __missing__(self, escape: str) -> str:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        char = self[escape] = json.loads(f'"{escape}"')
        return char


_folded, _unescaped = _Folded(), _Unescaped()


class Skeleton:
    """The skeleton of one text."""

    def __init__(self, text: str) -> None:
        seen = text
        if "\x1b" in text or ("\\" in text and "\\u" in text):
            seen = _HIDDEN.sub(lambda hidden: _unescaped[hidden[1]] if hidden[1] else "", text)
        if seen.isascii():
            self.text = _fold_ascii(seen)
        else:
            pieces = range(0, len(seen), _PIECE)
            self.text = "".join([seen[at : at + _PIECE].translate(_folded) for at in pieces])
        self._original = text
        self._is_same = seen is text and text.isascii() and len(self.text) == len(text)

    def places(self, found: Sequence[int]) -> list[int]:
        """Where in the text these places of the skeleton are; they are given in order."""
        if self._is_same or not found:
            return list(found)
        return list(_counted(_visible(self._original), found))


def _fold_ascii(text: str) -> str:
    data, zilla = text.encode(), quick_for(text)
    if zilla is not None and zilla.find_first_of(data, _CONTROLS) < 0:
        return str(zilla.translate(data, _LOWER), "ascii")
    return str(data.translate(_LOWER, _CONTROLS), "ascii")


def _visible(text: str) -> list[tuple[int, str]]:
    """The parts of a text that are seen, each with where it begins; a character that JSON escapes is a part."""
    parts: list[tuple[int, str]] = []
    at = 0
    for hidden in _HIDDEN.finditer(text):
        start, stop = hidden.span()
        if start > at:
            parts.append((at, text[at:start]))
        if hidden[1]:
            parts.append((start, _unescaped[hidden[1]]))
        at = stop
    return [*parts, (at, text[at:])]


def _counted(parts: Iterable[tuple[int, str]], found: Sequence[int]) -> Iterable[int]:
    """The places, counted part by part: the character of the text whose fold reaches behind the place."""
    waiting, before = 0, 0
    for start, part in parts:
        ends = list(accumulate(map(len, map(_folded.__getitem__, map(ord, part))), initial=before))[1:]
        at = 0
        while waiting < len(found) and ends and found[waiting] < ends[-1]:
            while ends[at] <= found[waiting]:
                at += 1
            yield start + at
            waiting += 1
        before = ends[-1] if ends else before
