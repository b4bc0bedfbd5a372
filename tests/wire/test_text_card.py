"""Words as an image: the same bytes on any machine, read by any decoder, no two characters alike."""

import hashlib
import io
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.media import image_size
from keepwhole.wire.text_card import card, card_size

LINE = "[Artifact: art_1700000000_0O1IlS5Z2B8G6g9qUvVwWx] image/png 1280x800, 147.5 KB, returned by computer"


def rows_of(data: bytes) -> list[bytes]:
    """The rows of pixels of a PNG, by zlib's own decoder."""
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(name + body),)
        packed += body if name == b"IDAT" else b""
        at += 12 + length
    raw = zlib.decompress(packed)
    size = 1 + image_size(data)[0] // 8
    assert len(raw) == size * image_size(data)[1]
    return [raw[at + 1 : at + size] for at in range(0, len(raw), size)]


def test_the_same_words_are_the_same_bytes_on_any_machine() -> None:
    digest = "158849cbc858d80d"
    assert hashlib.sha256(card(LINE)).hexdigest()[:16] == digest, "requests that were sent before would change"


@given(st.text(max_size=400))
def test_any_words_are_an_image_of_the_size_that_is_told(text: str) -> None:
    data = card(text)
    assert image_size(data) == card_size(text)
    assert len(rows_of(data)) == card_size(text)[1]


def test_no_two_characters_look_alike() -> None:
    characters = [chr(code) for code in range(33, 127)]
    assert len({tuple(rows_of(card(char))) for char in (*characters, " ", "é")}) == len(characters) + 2


def test_no_character_is_lost_at_the_end_of_a_line() -> None:
    lines = [tuple(rows_of(card(word)))[12:28] for word in ("a" * 62, "b" * 3)]
    both = rows_of(card("a" * 62 + "b" * 3))
    assert [tuple(both[12:28]), tuple(both[32:48])] == lines


def test_pillow_reads_it() -> None:
    image: Any = pytest.importorskip("PIL.Image")
    with image.open(io.BytesIO(card(LINE))) as opened:
        opened.load()
        assert opened.size == card_size(LINE)
        assert opened.convert("L").getextrema() == (0, 255)
