"""A PNG with a number drawn on it, which a model sees, and the same in a comment, which an oracle reads."""

import re
import struct
import zlib

# Five columns and seven rows a digit; a row is five bits.
_DIGITS = {
    "0": (14, 17, 19, 21, 25, 17, 14),
    "1": (4, 12, 4, 4, 4, 4, 14),
    "2": (14, 17, 1, 2, 4, 8, 31),
    "3": (31, 2, 4, 2, 1, 17, 14),
    "4": (2, 6, 10, 18, 31, 2, 2),
    "5": (31, 16, 30, 1, 1, 17, 14),
    "6": (6, 8, 16, 30, 17, 17, 14),
    "7": (31, 1, 2, 4, 8, 8, 8),
    "8": (14, 17, 17, 14, 17, 17, 14),
    "9": (14, 17, 17, 15, 1, 2, 12),
}
_COMMENT = re.compile(rb"tEXtComment\0([^\xff]*?)\xff")


def draw_code(code: str, name: str, width: int, height: int) -> bytes:
    """Return a white image with the digits of a code in black, in its middle."""
    dot = min(width // (6 * len(code) + 2), height // 9)
    left, top = (width - dot * (6 * len(code) - 1)) // 2, (height - 7 * dot) // 2
    blank = b"\0" + b"\xff" * width
    rows = [blank] * top
    for line in range(7):
        row = bytearray(blank)
        for place, digit in enumerate(code):
            for column in range(5):
                if _DIGITS[digit][line] >> (4 - column) & 1:
                    start = 1 + left + dot * (6 * place + column)
                    row[start : start + dot] = bytes(dot)
        rows += [bytes(row)] * dot
    rows += [blank] * (height - len(rows))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"tEXt", f"Comment\0{name} shows {code}".encode() + b"\xff"))
    pixels = ((b"IDAT", zlib.compress(b"".join(rows), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in (*chunks, *pixels))


def read_comment(image: bytes) -> str:
    """Return what the comment of an image says; empty where it has none."""
    found = _COMMENT.search(image)
    return found[1].decode() if found else ""


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
