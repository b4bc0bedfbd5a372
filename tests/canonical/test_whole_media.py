"""An image or a document of which the end is missing is not whole, wherever it was cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.whole_media import is_whole
from tests.canonical.pictures import gif, jpeg, pdf, png, webp

WHOLE = {
    "image/png": png(30, 20, 1, 500),
    "image/jpeg": jpeg(30, 20),
    "image/gif": gif(30, 20),
    "image/webp": webp(30, 20),
    "application/pdf": pdf(3),
}
PREVIEW = b"\xff\xd8\xff\xe1\x00\x06\xff\xd9\x00\x00"
"""The beginning of a JPEG whose first segment has the end mark of a preview."""


@pytest.mark.parametrize("media_type", WHOLE)
def test_only_all_of_the_bytes_are_whole(media_type: str) -> None:
    data = WHOLE[media_type]
    assert is_whole(data, media_type)
    assert is_whole(data + b"\n", media_type), "some programs write a little more"
    lengths = {*range(min(len(data), 700)), *range(len(data) - 700, len(data))}
    assert [length for length in sorted(lengths) if length >= 0 and is_whole(data[:length], media_type)] == []


def test_a_png_whose_pixels_were_changed_is_not_whole() -> None:
    data = WHOLE["image/png"]
    at = data.index(b"IDAT") + 8
    assert not is_whole(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], "image/png")


def test_the_end_of_a_preview_is_not_the_end_of_a_photo() -> None:
    assert not is_whole(PREVIEW + b"\xff\xda\x00\x02pixels", "image/jpeg")
    assert is_whole(PREVIEW + b"\xff\xda\x00\x02pixels\xff\xd9", "image/jpeg")


def test_a_gif_may_have_colors_extensions_and_several_frames() -> None:
    colors, comment = bytes(6), b"\x21\xfe\x03abc\x00"
    frame = b"," + bytes(8) + b"\x80" + colors + b"\x02\x02ab\x00"
    data = b"GIF89a" + bytes(4) + b"\x80\x00\x00" + colors + comment + frame + frame
    assert is_whole(data + b";", "image/gif")
    assert not is_whole(data, "image/gif")


def test_a_gif_with_what_is_no_part_of_one_is_not_whole() -> None:
    head, frame = b"GIF89a" + bytes(7), b"," + bytes(9) + b"\x02\x02ab\x00"
    assert is_whole(head + frame + b";", "image/gif")
    assert not is_whole(head + frame + b"?;", "image/gif")
    assert not is_whole(head + b";", "image/gif"), "without any frame"


def test_of_other_types_nothing_is_known() -> None:
    assert is_whole(b"", "audio/wav")


@given(st.sampled_from(sorted(WHOLE)), st.binary(max_size=200), st.integers(0, 60))
def test_no_bytes_raise(media_type: str, data: bytes, kept: int) -> None:
    assert is_whole(WHOLE[media_type][:kept] + data, media_type) in (True, False)
