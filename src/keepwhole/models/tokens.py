"""How many tokens a text takes, estimated without a vocabulary.

Owns: the estimate, the bound above it, and the exact count where a vocabulary is installed.
Must not know: providers, whose bills correct the sum; how far above its estimate a text may be: `token_reserve.py`.

Characters fall into classes, and tokens grow with the number of each. Letters that stand among capitals or digits
are worth more than letters in words, so a few products of shares are counted beside the plain numbers. Long texts
are sampled at two strides that share no period, so no width of lines can hide a column from both.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from keepwhole.models.token_reserve import reserve_of

Counter: TypeAlias = Callable[[str], int]
"""Gives the tokens that a text takes."""
Content: TypeAlias = Literal["plain", "data", "foreign"]
"""Words and code; figures, digests and encoded bytes; scripts other than Latin."""

_WHOLE = 448
"""Characters that are all looked at; of longer texts as many are taken, of very long ones four times as many."""
_LONG = 16_000
"""Characters from which on a text counts as very long."""

_COMMON = b"etaoinsrhldcum" + bytes(range(0x80, 0xC0))
"""Deleted before counting: letters that nearly every word has, and all but the first byte of a character."""
_CLASS_OF: dict[bytes, bytes] = {
    b" ": b" \t\n\r",
    b"q": b"bfgjkpqvwxyz",
    b"A": bytes(range(0x41, 0x5B)),
    b"0": b"0123456789",
    b"/": b"/.",
    b"L": bytes(range(0xC2, 0xCE)),  # Latin with accents
    b"G": bytes(range(0xCE, 0xD0)),  # Greek
    b"C": bytes(range(0xD0, 0xD4)),  # Cyrillic
    b"S": bytes(range(0xD4, 0xE2)),  # Hebrew, Arabic, Indic, Thai
    b"Y": b"\xe2",  # symbols, arrows, quotes, lines
    b"K": b"\xe3",  # kana
    b"H": bytes([*range(0xE4, 0xEA), 0xEE, 0xEF]),  # Han, full width
    b"O": bytes(range(0xEA, 0xEE)),  # Hangul
    b"E": bytes(range(0xF0, 0xF5)),  # emoji
}


def _table() -> bytes:
    table = bytearray(b"!" * 256)
    for code, members in _CLASS_OF.items():
        for member in members:
            table[member] = code[0]
    return bytes(table)


_CLASSES = _table()
_ASCII = b" qA0/!"

# Fitted by `python -m bench.token_estimate --fit` to exact o200k counts of real tool results, arguments and messages
# of six agents and of made-up texts of each kind (`bench/texts/tool_outputs.py`); what the estimate misses by:
# `python -m bench.token_estimate`.
_SPACE, _LETTER, _DIGIT, _SLASH, _SIGN = 0.268, 0.179, 0.525, 1.038, 0.584
_ODD_UPPER, _ODD_DIGIT, _SPACE_DIGIT, _DIGIT_SLASH, _UPPER_UPPER = 2.874, 2.531, 0.636, 1.194, 1.450
FOREIGN = dict(zip(b"LGCSYKHOE", (0.566, 0.380, 0.210, 0.365, 0.307, 0.716, 0.567, 0.482, 2.093), strict=True))

MARGINS: dict[Content, float] = {"plain": 1.5, "data": 1.3, "foreign": 1.4}
"""What an estimate is multiplied by where it must not be too low."""


def estimate(text: str) -> int:
    """Return the tokens that `text` takes, about.

    >>> estimate("The quick brown fox jumps over the lazy dog.")
    8
    """
    return _estimate(len(text), *classify(text))


def _estimate(chars: int, sample: str, marks: bytes) -> int:
    count, seen = marks.count, len(sample) or 1
    odd, upper, digit, space, slash = count(113), count(65), count(48), count(32), count(47)
    joint = upper * (_ODD_UPPER * odd + _UPPER_UPPER * upper) + digit * (_ODD_DIGIT * odd + _SPACE_DIGIT * space)
    found = _SPACE * space + _DIGIT * digit + _SLASH * slash + (joint + _DIGIT_SLASH * digit * slash) / seen
    size = len(marks)
    found += _LETTER * (seen - size) + _SIGN * (size - odd - upper - digit - space - slash)
    if found < odd / 2:  # hardly anything but letters that words have few of
        found = odd / 2
    if not sample.isascii():
        found += sum([count(code) * (each - _SIGN) for code, each in FOREIGN.items()])
    return int(found * chars / seen) + 1 if chars else 0


def estimate_from_length(chars: int) -> int:
    """Return the tokens that tool output of this length takes, where only the length is known."""
    return -(-chars * 10 // 33)


def classify(text: str) -> tuple[str, bytes]:
    """Return the sample of a text that is counted, and the class of each of its characters but the common letters."""
    chars = len(text)
    if chars > _WHOLE:
        step = 2 * chars // (_WHOLE if chars < _LONG else 4 * _WHOLE)
        text = text[::step] + text[1 :: step + 1]
    return text, text.encode("utf-8", "replace").translate(_CLASSES, _COMMON)


def content_of(text: str) -> Content:
    """Return what sort of text it is."""
    _, marks = classify(text)
    if not text.isascii() and 20 * len(marks.translate(None, _ASCII)) > len(marks):
        return "foreign"
    return "data" if 3 * (marks.count(b"A") + marks.count(b"0")) > len(marks) else "plain"


def reserve(text: str) -> int:
    """Return how many tokens more than estimated `text` may take: 0 for English, code and most data."""
    return measure(text)[1]


def measure(text: str) -> tuple[int, int]:
    """Return the estimated tokens of `text`, and its reserve."""
    sample, marks = classify(text)
    tokens = _estimate(len(text), sample, marks)
    share = len(sample) / len(text) if text else 1.0
    return tokens, int(reserve_of(sample, tokens * share, text) / share)


class RepeatedSizes:
    """The sizes of values that come again with every request: the tools and the system prompt of a client.

    These are often as long as the conversation. Whoever reads a request takes over the objects of an equal one that
    came before, so what consists of the same objects as the last time is not measured again.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Measured] = {}

    def sum(self, fields: Mapping[str, Any], names: Sequence[str]) -> tuple[int, int]:
        """Return the estimated tokens of these fields, and their reserve."""
        found = [self._measured(name, fields[name]) for name in names if fields.get(name)]
        return sum(each.tokens for each in found), sum(each.reserve for each in found)

    def _measured(self, name: str, value: Any) -> "_Measured":
        known = self._known.get(name)
        if known is None or not _is_same(known.value, value):
            known = self._known[name] = _Measured(value, *measure(str(value)))
        return known


class _Measured(NamedTuple):
    value: Any
    tokens: int
    reserve: int


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same object, or lists of the same objects."""
    if not isinstance(one, list) or not isinstance(other, list):
        return one is other
    elements, others = cast("list[Any]", one), cast("list[Any]", other)
    return len(elements) == len(others) and all(map(is_, elements, others))


def margin(content: Content) -> float:
    """Return how many times its estimate a text of this sort may take."""
    return MARGINS[content]


def upper_bound(text: str) -> int:
    """Return the tokens that `text` hardly ever exceeds: for limits that must hold."""
    tokens = estimate(text)
    return max(int(tokens * margin(content_of(text))) + 4, tokens + reserve(text)) if text else 0


def exact_counter() -> Counter | None:
    """Return a counter with the o200k vocabulary, if `splintr-rs` is installed."""
    try:
        from splintr import Tokenizer  # pyright: ignore
    except ImportError:
        return None
    tokenizer = cast("Any", Tokenizer).from_pretrained("o200k_base")

    def count(text: str) -> int:
        return len(tokenizer.encode(text.encode("utf-8", "replace").decode()))

    return count
