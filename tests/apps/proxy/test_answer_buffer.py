"""Answers are held and unpacked within limits, however few bytes stand for how many."""

import gzip
import zlib

import pytest

from keepwhole.apps.proxy import answer_buffer
from keepwhole.apps.proxy.answer_buffer import MOST_HELD, AnswerBuffer, AnswerTooLarge, Unpacker, Unreadable

KB = 1_024


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can reach: 10 KB are held, and ten times the packed size above 4 KB."""
    monkeypatch.setattr(answer_buffer, "MOST_HELD", 10 * KB)
    monkeypatch.setattr(answer_buffer, "_MOST_RATIO", 10)
    monkeypatch.setattr(answer_buffer, "_LEAST", 4 * KB)


def test_64_mb_of_an_answer_are_held_and_100_times_its_packed_size_above_1_mb() -> None:
    assert MOST_HELD == 64 * KB * KB
    unpacker = Unpacker("gzip")
    packed = gzip.compress(bytes(KB * KB))
    for piece in unpacker.feed(packed):
        assert len(piece) <= 256 * KB
    assert not unpacker.is_too_large
    more = Unpacker("gzip")
    assert sum(map(len, more.feed(gzip.compress(bytes(KB * KB + 1))))) == KB * KB + 1
    assert more.is_too_large


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("size", "is_held"), [(10 * KB - 1, True), (10 * KB, True), (10 * KB + 1, False)])
def test_an_answer_over_the_limit_is_not_held(size: int, is_held: bool) -> None:
    buffer = AnswerBuffer()
    buffer.add(b"x" * 100)
    assert buffer.would_be_too_large(b"x" * (size - 100)) is not is_held
    buffer.add(b"x" * (size - 100))
    assert buffer.is_too_large is not is_held
    assert sum(map(len, buffer.pieces)) == (size if is_held else 0)
    assert buffer.data() == (b"x" * size if is_held else b"")
    if not is_held:
        with pytest.raises(AnswerTooLarge):
            buffer.unpacked()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("size", "is_held"), [(4 * KB, True), (4 * KB + 1, False)])
def test_an_answer_that_unpacks_to_more_than_its_share_is_not_read(size: int, is_held: bool) -> None:
    buffer = AnswerBuffer("gzip")
    buffer.add(gzip.compress(bytes(size)))
    assert buffer.data() == (bytes(size) if is_held else b"")


@pytest.mark.parametrize("encoding", ["gzip", "X-GZIP", "deflate", "", "identity"])
def test_an_answer_is_unpacked_as_its_encoding_says(encoding: str) -> None:
    pack = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress}.get(encoding.lower(), bytes)
    buffer, packed = AnswerBuffer(encoding), pack(b"an answer of some length")
    for at in range(0, len(packed), 7):
        buffer.add(packed[at : at + 7])
    assert buffer.data() == b"an answer of some length"


@pytest.mark.parametrize(("encoding", "data"), [("br", b"x"), ("gzip", b"no gzip"), ("deflate", b"\xff\xff")])
def test_an_answer_that_cannot_be_unpacked_is_not_shown(encoding: str, data: bytes) -> None:
    buffer = AnswerBuffer(encoding)
    buffer.add(data)
    assert buffer.data() == b""
    with pytest.raises(Unreadable):
        buffer.unpacked()


@pytest.mark.parametrize("pieces", [[b"abcdef"], [b"abc", b"def"], [b"abcd", b"", b"ef"], [b"a", b"b", b"cde", b"f"]])
def test_the_last_four_bytes_are_known_however_they_came(pieces: list[bytes]) -> None:
    buffer = AnswerBuffer()
    for piece in pieces:
        buffer.add(piece)
    assert buffer.last == b"cdef"


def test_bytes_that_are_not_packed_are_counted_too() -> None:
    unpacker = Unpacker("identity")
    assert list(unpacker.feed(b"abc")) == [b"abc"]
    assert list(unpacker.feed(b"")) == []
    assert not unpacker.is_too_large
