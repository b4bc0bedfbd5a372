"""Answers are held and unpacked within limits, however small a bomb is packed."""

import gzip
import zlib

import pytest

from keepwhole.apps.proxy.answer_buffer import MOST_HELD, AnswerBuffer, AnswerTooLarge, Unpacker, Unreadable

MEGABYTE = 1024 * 1024


def _held(data: bytes, encoding: str, size: int = 10_000) -> AnswerBuffer:
    buffer = AnswerBuffer(encoding)
    for start in range(0, len(data), size):
        buffer.add(data[start : start + size])
    return buffer


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("X-GZIP", gzip.compress), ("deflate", zlib.compress)]
)
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_packed_answer_is_read_whatever_pieces_it_comes_in(encoding: str, pack: object, size: int) -> None:
    assert callable(pack)
    text = b"".join(b'{"number": %d}\n' % number for number in range(30_000))
    assert _held(pack(text), encoding, size).unpacked() == text


@pytest.mark.parametrize("encoding", ["", "identity"])
def test_an_answer_that_is_not_packed_is_read_as_it_is(encoding: str) -> None:
    assert _held(b"text", encoding).unpacked() == b"text"


@pytest.mark.parametrize(("data", "encoding"), [(b"text", "br"), (b"no gzip", "gzip")])
def test_what_is_packed_in_an_unknown_or_a_broken_way_is_not_read(data: bytes, encoding: str) -> None:
    with pytest.raises(Unreadable):
        _held(data, encoding).unpacked()


def test_more_than_a_hundred_times_its_packed_size_is_not_read_above_a_megabyte() -> None:
    with pytest.raises(AnswerTooLarge):
        _held(gzip.compress(bytes(8 * MEGABYTE)), "gzip").unpacked()
    assert _held(gzip.compress(bytes(MEGABYTE)), "gzip").unpacked() == bytes(MEGABYTE)


def test_an_unpacker_says_when_more_came_out_than_is_held() -> None:
    unpacker = Unpacker("")
    for _ in range(64):
        assert b"".join(unpacker.feed(bytes(MEGABYTE))) == bytes(MEGABYTE)
    assert not unpacker.is_too_large
    assert list(unpacker.feed(b"x")) == [b"x"]
    assert unpacker.is_too_large
    assert list(unpacker.feed(b"")) == []


def test_of_an_answer_that_is_too_large_nothing_is_held_but_its_end() -> None:
    buffer = AnswerBuffer()
    buffer.add(bytes(MOST_HELD - 2))
    assert not buffer.would_be_too_large(b"xy")
    assert buffer.would_be_too_large(b"xyz")
    buffer.add(b"xy")
    assert not buffer.is_too_large
    buffer.add(b"z")
    assert buffer.is_too_large
    assert buffer.pieces == []
    assert buffer.last == b"\0xyz"
    with pytest.raises(AnswerTooLarge):
        buffer.unpacked()
    buffer.add(b"abcdefg")
    assert buffer.last == b"defg"
