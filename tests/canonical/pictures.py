"""Images and documents made by hand: valid headers and ends, any size, no library needed."""

import random
import struct
import zlib


def png(width: int, height: int, seed: int = 0, weight: int = 0) -> bytes:
    """A valid PNG: one gray value by the seed, and `weight` bytes of noise in a text chunk."""
    rows = bytes([0] + [seed % 256] * width) * height
    noise = random.Random(seed).randbytes(weight)
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"tEXt", b"n\0" + noise)]
    chunks += [(b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def jpeg(width: int, height: int, before: int = 70_000) -> bytes:
    """A JPEG without pixels, with `before` bytes of other segments in front of its size."""
    padding = b"".join(b"\xff\xe1" + struct.pack(">H", 2 + 60_000) + bytes(60_000) for _ in range(before // 60_000))
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return (
        b"\xff\xd8\xff\xe0"
        + struct.pack(">H", 16)
        + b"JFIF\0"
        + bytes(9)
        + padding
        + frame
        + b"\xff\xda\x00\x02\xff\xd9"
    )


def gif(width: int, height: int) -> bytes:
    """A GIF of one frame without pixels."""
    size = struct.pack("<HH", width, height)
    return b"GIF89a" + size + bytes(3) + b"," + bytes(4) + size + b"\x00\x02\x00;"


def webp(width: int, height: int, kind: bytes = b"VP8X") -> bytes:
    """A WebP's header, of the extended, the lossless or the lossy kind."""
    if kind == b"VP8X":
        rest = bytes(8) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == b"VP8L":
        rest = bytes(4) + b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little") + bytes(8)
    else:
        rest = bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", width, height)
    return b"RIFF" + struct.pack("<I", 8 + len(rest)) + b"WEBP" + kind + rest


def pdf(pages: int) -> bytes:
    """The objects of a PDF with so many empty pages."""
    kids = " ".join(f"{number} 0 R" for number in range(3, 3 + pages))
    tree = f"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[{kids}]/Count {pages}>>endobj "
    each = "".join(f"{number} 0 obj<</Type/Page/Parent 2 0 R>>endobj " for number in range(3, 3 + pages))
    return b"%PDF-1.4\n" + (tree + each).encode() + b"%%EOF"
