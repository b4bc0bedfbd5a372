"""Where characters begin and how many there are, for bytes of any kind.

Owns: the one rule for text: valid UTF-8 counts code points, an invalid byte counts one character (it decodes
to a lone surrogate and is shown as U+FFFD), a `str` that held lone surrogates keeps them.
Must not know: files, blocks on disk, strategies.

Decoding is also the fastest exact count there is from Python: it validates and counts in one go.
"""

import re
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, cast

Encoding: TypeAlias = Literal["utf-8", "surrogates", "bytes"]

_ERRORS: dict[Encoding, str] = {"utf-8": "strict", "surrogates": "surrogatepass", "bytes": "surrogateescape"}
_PIECE = 262_144
"""Characters that one call looks at, so that other threads need not wait."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def decode(data: bytes | bytearray | memoryview, encoding: Encoding) -> str:
    """The text of `data`; one character for every invalid byte."""
    return str(data, "utf-8", _ERRORS[encoding])


def encode(text: str) -> tuple[bytes, Encoding]:
    """The bytes of `text`, and whether it held lone surrogates.

    >>> encode("a\\ud800")
    (b'a\\xed\\xa0\\x80', 'surrogates')
    """
    try:
        return text.encode(), "utf-8"
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass"), "surrogates"


def as_bytes(output: str | bytes) -> bytes:
    """The bytes of an output that may be text."""
    return encode(output)[0] if isinstance(output, str) else output


def encode_as(text: str, encoding: Encoding) -> bytes:
    """The bytes that `decode` made this text of."""
    return text.encode("utf-8", _ERRORS[encoding])


def showable(text: str) -> str:
    """`text` with every lone surrogate shown as U+FFFD, so that any encoder takes it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        pieces = range(0, len(text), _PIECE)
        return "".join([_SURROGATE.sub("\ufffd", text[at : at + _PIECE]) for at in pieces])
    return text


def count_unfinished(data: bytes | bytearray | memoryview, stop: int) -> int:
    """How many bytes before `stop` begin a character that ends after it: 0 to 3.

    A lead byte is never part of an earlier character, so cutting in front of one is always safe.
    """
    for back in range(1, min(3, stop) + 1):
        byte = data[stop - back]
        if byte >= 0xC0:
            needs = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if needs > back else 0
        if byte < 0x80:
            return 0
    return 0


def count_by_decoding(data: memoryview, encoding: Encoding) -> tuple[int, Encoding]:
    """Characters in `data`, and the encoding it turned out to need."""
    try:
        return len(decode(data, encoding)), encoding
    except UnicodeDecodeError:
        return len(decode(data, "bytes")), "bytes"


def count_chars(data: bytes) -> int:
    """Characters of a body as it is measured when it is stored."""
    return count_by_decoding(memoryview(data), "utf-8")[0]


_zilla: list[Any] = []


def stringzilla() -> Any:
    """The `stringzilla` module, or None where the `speed` extra is not installed."""
    if not _zilla:
        try:
            import stringzilla as module
        except ImportError:
            module = None
        _zilla.append(module)
    return _zilla[0]


_LONG, _SHORT = 8_192, 512
"""A text that is searched quicker by `stringzilla`, its import included, and without that."""
_MANY = 131_072
"""Characters of shorter texts after which a process goes on long enough to be worth the import."""
_looked_over = [0]
_LOWER = bytes(range(256)).lower()


def quick_for(text: str | bytes) -> Any:
    """The `stringzilla` module where it is there and quicker for this text, else None."""
    if not _zilla and len(text) < _LONG:
        _looked_over[0] += len(text)
    is_known = bool(_zilla) or _looked_over[0] > _MANY
    is_long = len(text) >= (_SHORT if is_known else _LONG) and (isinstance(text, bytes) or text.isascii())
    return stringzilla() if is_long else None


def contains_any(text: str | bytes, words: Iterable[Any]) -> bool:
    """Whether one of these words, of the same type as the text, is in it.

    >>> contains_any("some text", ("other", "text"))
    True
    """
    zilla = quick_for(text)
    if zilla is None:
        return any(map(cast("Any", text).__contains__, words))
    find = zilla.find
    for word in words:  # noqa: SIM110 - a generator takes as long as the search of a short text
        if find(text, word) >= 0:
            return True
    return False


def words_in(text: str, words: Iterable[str]) -> list[str]:
    """Those of these words that are in a text.

    >>> words_in("some text", ("other", "text"))
    ['text']
    """
    zilla = quick_for(text)
    if zilla is None:
        return [word for word in words if word in text]
    return [word for word in words if zilla.find(text, word) >= 0]


def lowered(data: bytes) -> bytes:
    """The bytes with ASCII letters in lower case."""
    zilla = quick_for(data)
    return data.lower() if zilla is None else zilla.translate(data, _LOWER)
