"""Bytes written as text, such as base64: a model reads nothing in them, so a view shows how one begins.

Owns: which stretches of a text are such bytes. Must not know: what is shown of them, or where a message has media.
"""

import re

from keepwhole.canonical.lazy_pattern import lazy_pattern

SHOWN = 60
"""Characters of such a stretch that are shown: enough to see that it is a PNG, or a certificate."""
_LEAST = 400
_BLOCK = _LEAST // 2
"""A stretch of `_LEAST` characters has one of these blocks in full, wherever it begins."""
_RUN = lazy_pattern(r"[\w+/=-]+", re.ASCII)
_ALPHABET = lazy_pattern(r"(?:[\w+/=-]|\\[nr/])+", re.ASCII)
_SAMPLE, _LEAST_SHARE = 120, 0.05
_AROUND = 32
"""Characters at both ends that may be something else: a tag, a name of the spelling such as `0x`."""


def is_encoded(text: str, start: int, stop: int) -> bool:
    """Whether all of a long stretch looks like base64 or hexadecimal, judged by three samples of it."""
    if stop - start < _LEAST:
        return False
    head = text.find(",", start, start + _LEAST // 2) + 1 or start  # of a `data:` URL
    samples = (head + _AROUND, (start + stop - _SAMPLE) // 2, stop - _AROUND - _SAMPLE)
    return all(looks_encoded(text[at : at + _SAMPLE]) for at in samples)


def encoded_runs(text: str) -> list[tuple[int, int]]:
    """The stretches of a text that look like base64 or hexadecimal, in order."""
    if not _may_have_run(text):
        return []
    return [match.span() for match in _RUN.finditer(text) if is_encoded(text, *match.span())]


def _may_have_run(text: str) -> bool:
    blocks = range(0, len(text) - _BLOCK + 1, _BLOCK)
    return any(" " not in (block := text[at : at + _BLOCK]) and "\n" not in block for at in blocks)


def looks_encoded(text: str) -> bool:
    """Whether letters of both cases and figures are mixed as in no words, or as in hexadecimal."""
    if _ALPHABET.fullmatch(text) is None:
        return False
    upper, lower, figures = (sum(map(test, text)) for test in (str.isupper, str.islower, str.isdigit))
    least = _LEAST_SHARE * len(text)
    if upper >= 4 * least and lower >= 4 * least and figures >= least:
        return True
    letters = text.strip("0123456789abcdefABCDEF")
    return not letters and figures >= 4 * least and upper + lower >= 4 * least
