"""Where a text may be cut: at a line end if one is near, else between two graphemes, never inside a CRLF.

The next character decides whether a cut would split: a combining mark, a joiner, a variation selector, a skin
tone, half a flag, or the line feed of a CRLF all belong to what stands before them.
"""

import unicodedata

from holdfast.truncation.cut import Source

_LOOK = 64
_JOINER = "\u200d"
_EXTENDING = frozenset(("Mn", "Me", "Mc"))


def head_edge(source: Source, limit: int) -> int:
    """The last good place to end a beginning of at most `limit` characters."""
    if limit <= 0:
        return 0
    window = source.text(limit - min(limit, max(limit // 4, _LOOK)), limit)
    end = window.rfind(source.eol)
    if end >= 0:
        return limit - len(window) + end + 1
    return _back_to_grapheme(source, limit)


def tail_edge(source: Source, start: int) -> int:
    """The first good place at or after `start` to begin an end."""
    if start >= source.chars:
        return source.chars
    if start <= 0:
        return 0
    room = source.chars - start
    window = source.text(start - 1, min(source.chars, start + max(room // 4, _LOOK)))
    end = window.find(source.eol)
    if 0 <= end < len(window) - 1:
        return start + end
    return _on_to_grapheme(source, start)


def _back_to_grapheme(source: Source, offset: int) -> int:
    low = max(0, offset - _LOOK)
    text = source.text(low, min(source.chars, offset + 1))
    at = offset - low
    while at > 0 and at < len(text) and _joined(text, at):
        at -= 1
    return low + at if at else offset


def _on_to_grapheme(source: Source, offset: int) -> int:
    low = max(0, offset - _LOOK)
    text = source.text(low, min(source.chars, offset + _LOOK))
    at = offset - low
    while at < len(text) and _joined(text, at):
        at += 1
    return low + at


def _joined(text: str, at: int) -> bool:
    """Whether a cut before `text[at]` would split a grapheme or a CRLF."""
    before, after = text[at - 1], text[at]
    if before == "\r" and after == "\n":
        return True
    if after < "\u0300":
        return False
    if unicodedata.category(after) in _EXTENDING or after == _JOINER or before == _JOINER:
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if _regional(after):
        return _regional_run(text, at) % 2 == 1
    return _hangul_joined(before, after)


def _regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regional_run(text: str, at: int) -> int:
    """How many regional indicators stand right before `at`; flags pair them up."""
    run = 0
    while run < at and _regional(text[at - 1 - run]):
        run += 1
    return run


def _hangul_joined(before: str, after: str) -> bool:
    """Hangul written in jamo: a vowel or a final consonant belongs to the syllable before it."""
    if "\u1160" <= after <= "\u11ff":
        return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return "\u1100" <= after <= "\u115f" and "\u1100" <= before <= "\u115f"
