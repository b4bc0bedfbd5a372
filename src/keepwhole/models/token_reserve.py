"""How many tokens more than estimated a text may take, by its script.

Owns: the reserve by class of text. Must not know: the estimate's own coefficients, providers, bills.

The estimate is near for English, code and data. Of other text it knows the script, but not the language: Ukrainian
takes a third more than Russian, Swahili half as much again as English. So room is reserved for the most expensive
language of each script. Characters are told apart by their page, the high byte in UTF-16; each page has a reserve for
each character. Three kinds of text look like something cheaper and have rules of their own:

    Latin without accents   letters that English rarely uses are frequent       Swahili, Polish, letters at random
    dense text              letters are few, or hardly broken by spaces         minified code, digests, white space
    no language             hardly any character, or pair of them, comes twice  bytes read as text, rare characters

Where a rule errs, it errs to more. English, code, logs and most data have no reserve.
"""

from itertools import pairwise

_UNIT = 20
"""Parts of a token in which the reserve of a page is given."""
_RESERVES: dict[range, float] = {
    range(0x01, 0x03): 1.3,  # Latin with accents
    range(0x03, 0x04): 0.1,  # Greek
    range(0x04, 0x05): 0.2,  # Cyrillic
    range(0x05, 0x06): 0.15,  # Armenian, Hebrew
    range(0x06, 0x07): 0.1,  # Arabic
    range(0x07, 0x09): 1.5,
    range(0x09, 0x0A): 0.1,  # Devanagari, Bengali
    range(0x0A, 0x0E): 0.3,  # Gurmukhi to Sinhala
    range(0x0E, 0x0F): 0.15,  # Thai, Lao
    range(0x0F, 0x10): 1.5,  # Tibetan
    range(0x10, 0x11): 0.25,  # Burmese, Georgian
    range(0x11, 0x17): 1.8,  # Ethiopic, Cherokee, Canadian syllabics
    range(0x17, 0x18): 0.35,  # Khmer
    range(0x18, 0x1E): 2.0,
    range(0x1E, 0x1F): 0.3,  # Vietnamese
    range(0x1F, 0x20): 1.4,  # Greek with breathings
    range(0x20, 0x21): 0.4,  # quotes, dashes
    range(0x21, 0x22): 0.4,  # arrows
    range(0x22, 0x25): 1.4,  # mathematics
    range(0x25, 0x26): 0.5,  # lines and boxes
    range(0x26, 0x28): 1.2,  # ticks and crosses
    range(0x28, 0x29): 2.7,  # braille
    range(0x29, 0x30): 2.0,
    range(0x30, 0x31): 0.4,  # kana
    range(0x31, 0x4E): 2.4,
    range(0x4E, 0xA0): 0.45,  # Han
    range(0xA0, 0xAC): 2.2,
    range(0xAC, 0xD8): 0.25,  # Hangul
    range(0xD8, 0xE0): 0.2,  # halves of emoji and everything else beyond the first plane
    range(0xE0, 0xFB): 2.4,  # private use
    range(0xFB, 0xFF): 1.4,
    range(0xFF, 0x100): 0.95,  # full width, and what stands for bytes that are no text
}
"""Tokens that a character may take beyond its estimate, by its page, in the most expensive language."""
_PAGES = bytes(
    next((round(_UNIT * more) for pages, more in _RESERVES.items() if page in pages), 0) for page in range(256)
)
_LATIN_1, _MARK, _POINT, _CONTROL, _BEYOND = 1.1, 1.4, 1.7, 0.5, 1.6
"""The same of accented letters on the first page, combining marks, Hebrew points, control characters, and of what is
beyond the first plane and no emoji."""

_CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\n\r\x1b"))
_RARE = b"akzjwyuhg"
"""Letters that English and code use less than other languages in Latin letters."""
_ODD = b"bfgjkpqvwxyz"
_RARE_SHARE, _FOREIGN_SHARE, _ODD_SHARE = 0.28, 0.32, 0.36
"""Shares of the letters up to which a text is taken for English, from which for another language, and for letters at
random."""
_ACCENTED = 0.03
"""Accented letters for each other letter, from which fewer rare letters make another language."""
_FOREIGN_LETTER, _RANDOM_LETTER = 0.2, 0.36
_LETTERS, _WORDY, _DENSE = 0.25, 0.5, 0.14
"""Shares of letters, and of letters and spaces, below which a text is dense; what it may take more, as a share."""
_LEAST_LETTERS = 40
"""Fewer letters say nothing about a language."""

_PIECE = 400
_NEW_PAIRS, _NEW_CHARS = 0.8, 0.75
"""Shares of pairs and of characters that come once only, from which a text is in no language."""
_ALPHABETS = bytes(range(0x30))
_SYLLABLES = 0.3
"""Share of characters in no alphabet from which pairs say nothing: most are new in Chinese, too."""


def reserve_of(sample: str, tokens: float, text: str) -> float:
    """Return the tokens beyond `tokens`, its estimate, that a sample may take; `text` is what it was taken from."""
    data = sample.encode("utf-8", "replace")
    found = _latin_reserve(data, tokens)
    if sample.isascii():
        return found
    pages = sample.encode("utf-16-le", "replace")[1::2]
    found += sum(pages.translate(_PAGES)) / _UNIT
    found += _LATIN_1 * (data.count(b"\xc2") + data.count(b"\xc3"))
    found += _MARK * (data.count(b"\xcc") + data.count(b"\xcd"))
    found += _BEYOND * (data.count(b"\xf0") - data.count(b"\xf0\x9f"))
    found += _POINT * min(data.count(b"\xd6"), data.count(b"\xd7"))  # points and letters; Armenian has the first alone
    if found > 0.1 * tokens and _is_no_language(sample, pages, text):
        return max(found, len(data) - tokens)
    return found


def _latin_reserve(data: bytes, tokens: float) -> float:
    letters = _count(data, b"abcdefghijklmnopqrstuvwxyz")
    controls = _CONTROL * _count(data, _CONTROLS)
    if letters < _LETTERS * len(data) or letters + data.count(b" ") < _WORDY * len(data):
        return controls + (_DENSE * tokens if data.isascii() else 0)
    if letters < _LEAST_LETTERS:
        return controls
    rare = _count(data, _RARE) / letters
    if data.count(b"\xc3") + data.count(b"\xc4") + data.count(b"\xc5") > _ACCENTED * letters:
        rare += _FOREIGN_SHARE - _RARE_SHARE
    foreign = (rare - _RARE_SHARE) / (_FOREIGN_SHARE - _RARE_SHARE)
    if foreign <= 0:
        return controls
    is_random = _count(data, _ODD) > _ODD_SHARE * letters
    return controls + min(1.0, foreign) * letters * (_RANDOM_LETTER if is_random else _FOREIGN_LETTER)


def _count(data: bytes, members: bytes) -> int:
    """How many of these bytes there are."""
    return len(data) - len(data.translate(None, members))


def _is_no_language(sample: str, pages: bytes, text: str) -> bool:
    """Whether characters, or pairs of them, hardly come twice."""
    if len(sample) < _PIECE // 2:
        return False
    if len(set(sample)) > _NEW_CHARS * len(sample):
        return True
    if len(pages.translate(None, _ALPHABETS)) > _SYLLABLES * len(pages):
        return False
    start = max(0, len(text) // 2 - _PIECE // 2)
    piece = text[start : start + _PIECE]
    return len(set(pairwise(piece))) > _NEW_PAIRS * len(piece)
