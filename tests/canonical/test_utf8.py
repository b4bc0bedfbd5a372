"""Where characters begin, and text in and out of bytes without a loss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.utf8 import count_by_decoding, count_unfinished, decode, encode, showable

any_text = st.text(st.characters(exclude_categories=()))


@given(any_text)
def test_any_text_comes_back_from_its_bytes(text: str) -> None:
    data, encoding = encode(text)
    assert decode(data, encoding) == text


@given(any_text)
def test_text_is_said_to_hold_lone_surrogates_only_if_it_does(text: str) -> None:
    holds = any("\ud800" <= char <= "\udfff" for char in text)
    assert (encode(text)[1] == "surrogates") == holds


@given(st.binary())
def test_any_bytes_decode_and_come_back(data: bytes) -> None:
    assert decode(data, "bytes").encode("utf-8", "surrogateescape") == data


@given(any_text)
def test_what_is_showable_can_be_encoded_and_has_as_many_characters(text: str) -> None:
    shown = showable(text)
    assert shown.encode().decode() == shown
    assert len(shown) == len(text)
    assert all(old == new or new == "\ufffd" for old, new in zip(text, shown, strict=True))


@given(st.text(min_size=1), st.data())
def test_valid_text_can_be_split_before_its_unfinished_character(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    stop = data.draw(st.integers(0, len(raw)))
    at = stop - count_unfinished(raw, stop)
    assert raw[:at].decode() + raw[at:].decode() == text


@given(st.binary(), st.data())
def test_any_bytes_split_before_an_unfinished_character_decode_as_the_whole_does(
    raw: bytes, data: st.DataObject
) -> None:
    stop = data.draw(st.integers(0, len(raw)))
    back = count_unfinished(raw, stop)
    assert 0 <= back <= min(3, stop)
    assert decode(raw[: stop - back], "bytes") + decode(raw[stop - back :], "bytes") == decode(raw, "bytes")


@pytest.mark.parametrize(
    ("data", "encoding", "expected"),
    [
        (b"abc", "utf-8", (3, "utf-8")),
        ("é€😀".encode(), "utf-8", (3, "utf-8")),
        (b"a\xff", "utf-8", (2, "bytes")),
        (b"\xed\xa0\x80", "utf-8", (3, "bytes")),
        (b"\xed\xa0\x80", "surrogates", (1, "surrogates")),
        (b"\xed\xa0\x80\xff", "surrogates", (4, "bytes")),
    ],
)
def test_an_invalid_byte_counts_one_character(data: bytes, encoding: str, expected: tuple[int, str]) -> None:
    assert count_by_decoding(memoryview(data), encoding) == expected  # type: ignore[arg-type]
