"""Base64 in messages: with the alphabet of RFC 4648 or the one for URLs, with or without padding.

Owns: which text is read as base64, and how bytes are written like such a text. Must not know: where a message has it.

Most SDKs write the plain alphabet with padding. Google's SDK for Python writes the one for URLs, and Gemini takes
either, with or without padding. A text with characters of both alphabets, with line breaks or with anything else is not
base64 here.
"""

import binascii

PLAIN, FOR_URLS = "base64", "base64url"
_TO_URLS = str.maketrans("+/", "-_")
_TO_PLAIN = str.maketrans("-_", "+/")


def base64_in(source: str) -> str:
    """The base64 of a `data:` URL; any other text as it is."""
    return source[source.find(",") + 1 :] if source.startswith("data:") else source


def decode_base64(text: str) -> bytes | None:
    """The bytes of base64, or None for a text that is none.

    >>> decode_base64("-_8="), decode_base64("+/8"), decode_base64("no base64")
    (b'\\xfb\\xff', b'\\xfb\\xff', None)
    """
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
    """Whether a text may be base64 of the plain alphabet with padding, as nearly every encoder writes it."""
    return len(text) % 4 == 0 and not _is_for_urls(text)


def _is_for_urls(text: str) -> bool:
    return "-" in text or "_" in text
