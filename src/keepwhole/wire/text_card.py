"""Words as a small image: for places in a conversation that take an image and nothing else.

Owns: the letters, the lines, and a PNG that is the same bytes for the same words on any machine.
Must not know: what the words say, which provider wants an image.

    computer_call_output   {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBOR…"}

A library would draw other bytes with each version, and zlib compresses otherwise from build to build, so both are done
here. Rows that repeat, as those of enlarged letters do, are packed as repeats in deflate's fixed code.
"""

import struct
import zlib
from functools import lru_cache

from keepwhole.canonical.base64_text import encode_base64

_COLUMNS = 62
"""Characters of a line: an id with the call that has it fits into one."""
_SCALE = 2
"""Pixels of a dot: a letter is as high as those that a screen shows."""
_CELL = 6, 10
"""Dots from a letter to the next one, and from a line to the next one."""
_EDGE = 6
_UNKNOWN = bytes((0x7F, 0x41, 0x41, 0x41, 0x7F))
_LETTERS = bytes.fromhex(
    "0000000000 00005f0000 0007000700 147f147f14 242a7f2a12 2313086462 3649562050 0008070300 001c224100 0041221c00"
    "2a1c7f1c2a 08083e0808 0080703000 0808080808 0000606000 2010080402 3e5149453e 44427f4040 7249494946 2141494d33"
    "1814127f10 2745454539 3c4a494931 4121110907 3649494936 464949291e 0000140000 0040340000 0008142241 1414141414"
    "0041221408 0201590906 3e415d594e 7c1211127c 7f49494936 3e41414122 7f4141413e 7f49494941 7f09090901 3e41415173"
    "7f0808087f 41417f4141 2040413f01 7f08142241 7f40404040 7f021c027f 7f0408107f 3e4141413e 7f09090906 3e4151215e"
    "7f09192946 2649494932 03017f0103 3f4040403f 1f2040201f 3f4038403f 6314081463 0304780403 6159494d43 007f414141"
    "0204081020 004141417f 0402010204 4040404040 0003070800 2054547840 7f28444438 3844444428 384444287f 3854545418"
    "00087e0902 18a4a49c78 7f08040478 00447d4000 2040403d00 7f10284400 003f404000 7c04780478 7c08040478 3844444438"
    "fc18242418 18242418fc 7c08040408 4854545424 04043f4424 3c4040207c 1c2040201c 3c4030403c 4428102844 4c9090907c"
    "4464544c44 0008364100 0000770000 0041360800 0201020402"
)
"""Five columns of eight dots for each printable character of ASCII; the lowest bit is the top. Digits and letters that
look alike in many fonts do not here: 0 has a stroke, 1 and I have a foot, l has a hook."""


def card_url(text: str) -> str:
    """The `data:` URL of the image that shows a text."""
    return "data:image/png;base64," + encode_base64(card(text))


def card_size(text: str) -> tuple[int, int]:
    """Pixels of the image that shows a text."""
    return (_COLUMNS * _CELL[0] + 2 * _EDGE) * _SCALE, (len(_lines(text)) * _CELL[1] + 2 * _EDGE) * _SCALE


@lru_cache(maxsize=2048)
def card(text: str) -> bytes:
    """A PNG that shows a text, black on white.

    >>> card("The screen.")[:8] == bytes.fromhex("89504e470d0a1a0a"), card_size("The screen.")
    (True, (768, 44))
    """
    width, height = card_size(text)
    rows = b"".join(b"\0" + row for row in _rows(_lines(text)) for _ in range(_SCALE))
    packed = b"\x78\x01" + _deflated(rows, 1 + width // 8) + struct.pack(">I", zlib.adler32(rows))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)), (b"IDAT", packed), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _lines(text: str) -> list[str]:
    """The words in lines; one that is too long for a line goes on in the next."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if len(joined) > _COLUMNS and lines[-1]:
            lines.append("")
            joined = word
        while len(joined) > _COLUMNS:
            lines[-1:] = [joined[:_COLUMNS], ""]
            joined = joined[_COLUMNS:]
        lines[-1] = joined
    return lines


def _rows(lines: list[str]) -> list[bytes]:
    """The rows of dots, each as bytes of pixels in which a white one is 1."""
    width = _COLUMNS * _CELL[0] + 2 * _EDGE
    blank = [(1 << width * _SCALE) - 1]
    found = blank * _EDGE
    for line in lines:
        columns = bytes(_EDGE) + b"".join(_letter(char) + b"\0" for char in line)
        columns += bytes(width - len(columns))
        for dot in range(_CELL[1]):
            black = 0
            for column in columns:
                black = black << _SCALE | (((1 << _SCALE) - 1) if dot < 8 and column >> dot & 1 else 0)
            found.append(blank[0] ^ black)
    return [row.to_bytes(width * _SCALE // 8, "big") for row in (*found, *(blank * _EDGE))]


def _letter(char: str) -> bytes:
    at = (ord(char) - 32) * 5
    return _LETTERS[at : at + 5] if 0 <= at < len(_LETTERS) else _UNKNOWN


class _Bits:
    """Bits of a deflate stream, the lowest of each byte first."""

    def __init__(self) -> None:
        self._value = self._count = 0

    def add(self, value: int, count: int) -> None:
        self._value |= value << self._count
        self._count += count

    def add_code(self, code: int, count: int) -> None:
        """Huffman codes begin with their highest bit."""
        self.add(int(f"{code:0{count}b}"[::-1], 2), count)

    def bytes(self) -> bytes:
        return self._value.to_bytes((self._count + 7) // 8, "little")


def _deflated(data: bytes, row: int) -> bytes:
    """The data in one block of deflate's fixed code: bytes, and repeats of the byte or of the row before."""
    bits = _Bits()
    bits.add(0b011, 3)
    at = 0
    while at < len(data):
        distance, length = max(((near, _repeated(data, at, near)) for near in (row, 1)), key=lambda one: one[1])
        if length >= 3:
            _add_repeat(bits, length, distance)
            at += length
        else:
            byte = data[at]
            bits.add_code(*((0x30 + byte, 8) if byte < 144 else (0x190 + byte - 144, 9)))
            at += 1
    bits.add_code(0, 7)
    return bits.bytes()


def _repeated(data: bytes, at: int, distance: int) -> int:
    """How many bytes are as those so far before them: up to ten, or 258."""
    if at < distance:
        return 0
    most = min(258, len(data) - at)
    length = next((n for n in range(most) if data[at + n] != data[at + n - distance]), most)
    return length if length == 258 else min(10, length)


def _add_repeat(bits: _Bits, length: int, distance: int) -> None:
    if length == 258:
        bits.add_code(0xC5, 8)
    else:
        bits.add_code(length - 2, 7)
    extra = max(0, (distance - 1).bit_length() - 2)
    bits.add_code(2 * extra + ((distance - 1) >> extra), 5)
    bits.add((distance - 1) & ((1 << extra) - 1), extra)
