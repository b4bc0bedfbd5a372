"""Whether the bytes of an image or a document are all there, read from its structure and never decoded.

Owns: where PNG, JPEG, GIF, WebP and PDF end. Nothing here raises, whatever the bytes are.
Must not know: what an image is shown for, what becomes of one that is broken.

A tool may return a file that was being written, or the beginning of one. Its header says what it would have been, so
only its end tells.
"""

import zlib
from collections.abc import Callable

_FIRST_CHUNK = 8
_SCAN = 0xDA
"""JPEG's code of the segment before the pixels."""
_ENDED = b"\xff\xd9"
_TRAILER, _EXTENSION, _FRAME = 0x3B, 0x21, 0x2C
_PDF_END = 2_048
"""Bytes at the end of a PDF among which its end mark is."""


def is_whole(data: bytes, media_type: str) -> bool:
    """Whether an image or a document has an end; True for types whose end is not known.

    >>> is_whole(b"%PDF-1.4 ... %%EOF", "application/pdf"), is_whole(b"%PDF-1.4 ...", "application/pdf")
    (True, False)
    """
    try:
        return _CHECKS.get(media_type, _is_any)(data)
    except IndexError:
        return False


def _is_whole_png(data: bytes) -> bool:
    """Whether chunk follows chunk up to the last, each with the check sum that it names."""
    at, has_pixels = _FIRST_CHUNK, False
    while at + 12 <= len(data):
        name, end = data[at + 4 : at + 8], at + 12 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data) or zlib.crc32(data[at + 4 : end - 4]) != int.from_bytes(data[end - 4 : end], "big"):
            return False
        if name == b"IEND":
            return has_pixels
        has_pixels = has_pixels or name == b"IDAT"
        at = end
    return False


def _is_whole_jpeg(data: bytes) -> bool:
    """Whether the end mark is behind the beginning of the pixels: a preview in front of them has one too."""
    at = 2
    while data[at] == 0xFF and data[at + 1] != _SCAN:
        at += 1 if data[at + 1] == 0xFF else 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return data[at] == 0xFF and data.rfind(_ENDED) > at


def _is_whole_gif(data: bytes) -> bool:
    """Whether frame follows frame up to the trailer."""
    at, has_frame = 13 + _colors(data[10]), False
    while data[at] != _TRAILER:
        if data[at] == _FRAME:
            at, has_frame = at + 11 + _colors(data[at + 9]), True
        elif data[at] == _EXTENSION:
            at += 2
        else:
            return False
        while data[at]:
            at += 1 + data[at]
        at += 1
    return has_frame


def _colors(flags: int) -> int:
    """Bytes of a table of colors."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _is_whole_webp(data: bytes) -> bool:
    return 8 + int.from_bytes(data[4:8], "little") <= len(data)


def _is_whole_pdf(data: bytes) -> bool:
    return b"%%EOF" in data[-_PDF_END:]


def _is_any(data: bytes) -> bool:
    return True


_CHECKS: dict[str, Callable[[bytes], bool]] = {
    "image/png": _is_whole_png,
    "image/jpeg": _is_whole_jpeg,
    "image/gif": _is_whole_gif,
    "image/webp": _is_whole_webp,
    "application/pdf": _is_whole_pdf,
}
