"""Base64 in messages: with the alphabet of RFC 4648 or the one for URLs, with or without padding.

Owns: which text is read as base64, and how bytes are written like such a text. Must not know: where a message has it.

Most SDKs write the plain alphabet with padding. Google's SDK for Python writes the one for URLs, and Gemini takes
either, with or without padding. `base64 FILE` in a shell, Python's `encodebytes`, Ruby's `encode64` and the cells of
notebooks write lines. A text with characters of both alphabets or with anything else is not base64 here.
"""

import binascii
import re

PLAIN, FOR_URLS = "base64", "base64url"
_URL_HEAD = re.compile(r'data:((?:[^",]|"[^"]*")*?)\s?;\s?base64\s?,', re.IGNORECASE)
_LONGEST_URL_HEAD = 2_000
_TO_URLS = str.maketrans("+/", "-_")
_TO_PLAIN = str.maketrans("-_", "+/")


def base64_in(source: str) -> str:
    """The base64 of a `data:` URL; any other text as it is."""
    found = split_data_url(source)
    return source if found is None else found[1]


def split_data_url(source: str) -> tuple[str, str] | None:
    """The media type that a `data:` URL names, with its parameters, and its base64; None for any other text.

    >>> split_data_url("data:image/png;name=a.png;base64,iVBO"), split_data_url("data:image/svg+xml,%3Csvg")
    (('image/png;name=a.png', 'iVBO'), None)
    """
    head = _URL_HEAD.match(source, 0, _LONGEST_URL_HEAD)
    return None if head is None else (head[1], source[head.end() :])


def is_data_url(text: str) -> bool:
    """Whether a text is a URL that holds what it names, as base64 or not."""
    return text[:5].lower() == "data:"


def decode_base64(text: str) -> bytes | None:
    """The bytes of base64, in one line or in several, or None for a text that is none.

    >>> decode_base64("-_8="), decode_base64("+/8"), decode_base64("+/\\n8="), decode_base64("no base64!")
    (b'\\xfb\\xff', b'\\xfb\\xff', b'\\xfb\\xff', None)
    """
    data = _decode_line(text)
    return data if data is not None else _decode_lines(text.strip())


def decode_base64_start(text: str, most: int) -> bytes | None:
    """The bytes of the first `most` characters of base64, about."""
    start = "".join(text[:most].split())
    return decode_base64(start if len(text) <= most else start[: len(start) // 4 * 4])


def _decode_lines(text: str) -> bytes | None:
    """The bytes of base64 in lines of one length, but for the last; words that stand one below the other are none."""
    lines = text.splitlines() if " " not in text else []
    is_even = all(len(line) == len(lines[0]) for line in lines[1:-1]) and lines and len(lines[-1]) <= len(lines[0])
    return _decode_line("".join(lines)) if is_even else None


def _decode_line(text: str) -> bytes | None:
    if _is_for_urls(text):
        if "+" in text or "/" in text:
            return None
        text = text.translate(_TO_PLAIN)
    if not text.endswith("="):
        text += "=" * (-len(text) % 4)
    try:
        return binascii.a2b_base64(text.encode("ascii"), strict_mode=True) if len(text) % 4 == 0 else None
    except (ValueError, UnicodeEncodeError):
        return None


def encode_base64(data: bytes, form: str = PLAIN) -> str:
    """The base64 of bytes in one line, with padding."""
    text = binascii.b2a_base64(data, newline=False).decode("ascii")
    return text.translate(_TO_URLS) if form == FOR_URLS else text


def encode_base64_like(data: bytes, text: str) -> str:
    """The base64 of bytes, in the alphabet of another one."""
    return encode_base64(data, FOR_URLS if _is_for_urls(text) else PLAIN)


def is_padded(text: str) -> bool:
    """Whether a text may be base64 of the plain alphabet with padding, in one line or in several, as nearly every
    encoder writes it."""
    return (len(text) - text.count("\n") - text.count("\r")) % 4 == 0 and " " not in text and not _is_for_urls(text)


def _is_for_urls(text: str) -> bool:
    return "-" in text or "_" in text
