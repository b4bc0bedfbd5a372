"""Where a text may be cut: at a line end if one is near, else between two graphemes, never inside a CRLF.

Owns: the positions, and the rules for characters that belong together. The rules join a little more than Unicode's
do, never less: `tests/truncation/test_edges.py` compares them with an implementation of Unicode's own.
"""

import unicodedata
from functools import lru_cache

from keepwhole.truncation.cut import Source

_LOOK = 64
_LONGEST = 64
"""Characters of a grapheme that is kept in full where a unit is split; no script needs half as many."""
_ESCAPE = 32
"""No terminal sequence that is worth keeping whole is longer."""
_JOINER = "\u200d"
_EXTENDING = frozenset(("Mn", "Me", "Mc"))
_EXTENDING_TOO = frozenset("\u200c\u0e33\u0eb3\uff9e\uff9f")
_PREPENDED = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3"
    "\U000113d1\U0001193f\U00011941\U00011a3a\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88\U00011a89\U00011d46\U00011f02"
)
_VIRAMA = 9
_REGIONAL = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def head_edge(source: Source, limit: int) -> int:
    """The last good position to end a beginning of at most `limit` characters."""
    if limit <= 0:
        return 0
    limit = min(limit, source.chars)
    window = source.text(limit - min(limit, max(limit // 4, _LOOK)), limit)
    end = window.rfind(source.eol)
    at = limit - len(window) + end + 1 if end >= 0 else limit
    open_at = _open_escape(source.text(max(0, at - _ESCAPE), at))
    return _back(source, at if open_at is None else at - min(at, _ESCAPE) + open_at)


def tail_edge(source: Source, start: int) -> int:
    """The first good position at or after `start` where a kept end may begin."""
    if start >= source.chars:
        return source.chars
    if start <= 0:
        return 0
    room = source.chars - start
    window = source.text(start - 1, min(source.chars, start + max(room // 4, _LOOK)))
    end = window.find(source.eol)
    at = start + end if 0 <= end < len(window) - 1 else start
    if _open_escape(source.text(max(0, at - _ESCAPE), at)) is not None:
        rest = source.text(at, at + _ESCAPE)
        at += next((number + 1 for number, char in enumerate(rest) if "@" <= char <= "~" and char != "["), 0)
    return _on(source, at)


def _open_escape(text: str) -> int | None:
    """Where a terminal sequence begins that does not end within `text`."""
    at = text.rfind("\x1b")
    if at < 0 or text[at + 1 : at + 2] not in ("", "["):
        return None
    return None if any("@" <= char <= "~" for char in text[at + 2 :]) else at


def _back(source: Source, at: int) -> int:
    """The nearest position at or before `at` that splits nothing."""
    while 0 < at < source.chars:
        low = max(0, at - _LOOK)
        text = source.text(low, at + 1)
        while at > low:
            if not joined(text, at - low, low == 0):
                return at
            at -= 1
    return at


def _on(source: Source, at: int) -> int:
    """The nearest position at or after `at` that splits nothing."""
    while 0 < at < source.chars:
        low = max(0, at - _LOOK)
        text = source.text(low, min(source.chars, at + _LOOK))
        stop = low + len(text)
        while at < stop:
            if not joined(text, at - low, low == 0):
                return at
            at += 1
    return at


def whole_before(text: str, at: int, low: int, reach: int) -> int:
    """The nearest position before `at` that splits nothing, else `low`, which is known to be one.

    Flags are counted from `at - reach` on.
    """
    base = low if at - low <= 2 * reach else at - reach
    if not base < at < len(text):
        return at
    near = text[base : at + 1]
    furthest = max(base, at - _LONGEST)
    while at > furthest:
        if not joined(near, at - base, base == low):
            return at
        at -= 1
    return low


def joined(text: str, at: int, from_start: bool = True) -> bool:
    """Whether a cut before `text[at]` would split a grapheme or a CRLF.

    `from_start` says whether `text` begins where the whole text does; if not, a run that fills it counts as joined.
    """
    before, after = text[at - 1], text[at]
    if after < "\u0300" and before < "\u0300":
        return before == "\r" and after == "\n"
    if _extends(after) or before == _JOINER or before in _PREPENDED:
        return True
    if _regional(after) and _regional(before):
        run = _regional_run(text, at)
        return run % 2 == 1 or (run == at and not from_start)
    return _hangul_joined(before, after) or _conjunct(text, at)


@lru_cache(maxsize=4_096)
def _extends(char: str) -> bool:
    return (
        unicodedata.category(char) in _EXTENDING
        or char == _JOINER
        or char in _EXTENDING_TOO
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regional_run(text: str, at: int) -> int:
    """How many regional indicators are right before `at`; two of them are a flag."""
    before = text[:at]
    return at - len(before.rstrip(_REGIONAL))


def _conjunct(text: str, at: int) -> bool:
    """Whether a virama before `at` ties the next consonant to the one before it."""
    while at > 0 and _extends(text[at - 1]):
        if unicodedata.combining(text[at - 1]) == _VIRAMA:
            return True
        at -= 1
    return False


def _hangul_joined(before: str, after: str) -> bool:
    """Hangul written in jamo: consonants, vowels and finals of one syllable."""
    leads = _is_lead(before)
    if _is_lead(after) or "\uac00" <= after <= "\ud7a3":
        return leads
    follows = "\u1160" <= after <= "\u11ff" or "\ud7b0" <= after <= "\ud7fb"
    syllable = "\u1160" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7fb"
    return follows and (leads or syllable)


def _is_lead(char: str) -> bool:
    return "\u1100" <= char <= "\u115f" or "\ua960" <= char <= "\ua97c"
