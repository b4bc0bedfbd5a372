"""Any range of any stored body is what slicing the whole gives, and a damaged byte is never served."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keepwhole.canonical import body
from keepwhole.canonical.body import BLOCK, BodyFacts, measure
from keepwhole.canonical.utf8 import decode
from keepwhole.errors import Damaged
from keepwhole.store import reader as reader_module
from keepwhole.store.reader import BodyReader, ReadAhead
from tests.canonical.test_body import ATOMS, made_of
from tests.canonical.test_body import TEXT as TEXT_ATOMS

bodies = st.one_of(
    [made_of(atoms, least, 120) for atoms in (TEXT_ATOMS[:-1], ATOMS) for least in (0, 60)],
)
places = st.integers(-2, 140)


@contextmanager
def small_blocks() -> Iterator[None]:
    """Blocks of 16 bytes, so that short bodies have many edges."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body, "BLOCK", 16)
        patch.setattr(body, "CHUNK", 64)
        patch.setattr(reader_module, "BLOCK", 16)
        yield


def fetch_from(data: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, length: data[offset : offset + length]


def reader_of(data: bytes, facts: BodyFacts | None = None) -> BodyReader:
    return BodyReader(facts or measure(data), fetch_from(data))


def lines_of(text: str, eol: str) -> list[str]:
    """The lines of a text, ends and all."""
    parts = text.split(eol)
    return [part + eol for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


@settings(max_examples=200)
@given(bodies, places, places)
def test_any_range_of_bytes_is_that_of_the_whole(data: bytes, start: int, stop: int) -> None:
    with small_blocks():
        assert reader_of(data).read(start, stop) == data[max(0, start) : max(0, stop)]


@settings(max_examples=200)
@given(bodies, places, places)
def test_any_range_of_characters_is_that_of_the_whole(data: bytes, start: int, stop: int) -> None:
    with small_blocks():
        reader = reader_of(data)
        whole = decode(data, reader.facts.encoding)
        assert reader.text(start, stop) == whole[max(0, start) : max(0, stop)]
        assert reader.text() == whole


@settings(max_examples=200)
@given(bodies, st.integers(0, 60), st.integers(0, 60))
def test_any_range_of_lines_is_that_of_the_whole(data: bytes, first: int, last: int) -> None:
    with small_blocks():
        reader = reader_of(data)
        lines = lines_of(decode(data, reader.facts.encoding), reader.eol)
        assert reader.lines == len(lines)
        assert reader.line_range(first, last) == "".join(lines[max(1, first) - 1 : last])


@settings(max_examples=200)
@given(bodies, st.integers(1, 60), st.integers(1, 60))
def test_the_span_of_a_range_of_lines_holds_just_these_lines(data: bytes, first: int, last: int) -> None:
    with small_blocks():
        reader = reader_of(data)
        assert reader.text(*reader.line_span(first, last)) == reader.line_range(first, last)


@settings(max_examples=200)
@given(bodies, st.integers(0, 140))
def test_line_ends_before_any_character_are_counted_right(data: bytes, offset: int) -> None:
    with small_blocks():
        reader = reader_of(data)
        whole = decode(data, reader.facts.encoding)
        assert reader.ends_before(offset) == whole.count(reader.eol, 0, offset)


@settings(max_examples=200)
@given(bodies, st.integers(0, 140))
@example(b"a" * 62 + "😀".encode() + b"a" * 62 + b"\x80", 126)  # a chunk of one byte, after a character across two
def test_characters_bytes_and_lines_of_a_place_are_those_of_the_whole(data: bytes, char: int) -> None:
    with small_blocks():
        reader = reader_of(data)
        before = decode(data, reader.facts.encoding)[:char]
        offset = reader.byte_at(char)
        assert decode(data[:offset], reader.facts.encoding) == before
        assert reader.char_at(offset) == len(before)
        if offset < len(data):
            assert reader.line_at(offset) == before.count(reader.eol) + 1


@given(bodies)
def test_a_streamed_body_is_the_whole_body(data: bytes) -> None:
    with small_blocks():
        assert b"".join(reader_of(data).stream()) == data


@given(bodies.filter(len), st.data())
def test_a_damaged_byte_is_never_served(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data) - 1))
    changed = data[:at] + bytes([data[at] ^ draw.draw(st.integers(1, 255))]) + data[at + 1 :]
    with small_blocks():
        damaged = reader_of(changed, measure(data))
        with pytest.raises(Damaged, match="sessions verify"):
            damaged.read(at, at + 1)
        with pytest.raises(Damaged):
            b"".join(damaged.stream())


@given(st.binary(min_size=40, max_size=120), st.data())
def test_damage_in_one_block_leaves_the_others_readable(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data) - 1))
    changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    with small_blocks():
        damaged = reader_of(changed, measure(data))
        for start in range(0, len(data), 16):
            if not start <= at < start + 16:
                assert damaged.read(start, start + 16) == data[start : start + 16]


@pytest.mark.parametrize("pattern", ["0123456789\n", "aé€😀\n", "one endless line ", "only\rreturns\r"])
@pytest.mark.parametrize("size", [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 11])
def test_ranges_across_real_blocks_are_those_of_the_whole(pattern: str, size: int) -> None:
    raw = pattern.encode()
    data = (raw * (size // len(raw) + 1))[:size]
    reader = reader_of(data)
    whole = decode(data, reader.facts.encoding)
    lines = lines_of(whole, reader.eol)
    for edge in range(0, len(whole), 20_011):
        assert reader.text(edge, edge + 70_000) == whole[edge : edge + 70_000]
        assert reader.ends_before(edge) == whole.count(reader.eol, 0, edge)
    for first in range(1, len(lines) + 1, 2_003):
        assert reader.line_range(first, first + 9) == "".join(lines[first - 1 : first + 9])


@pytest.mark.parametrize("size", [0, 1, 10])
def test_a_body_that_is_shorter_than_it_was_is_damaged(size: int) -> None:
    data = b"x" * 70_000
    with pytest.raises(Damaged):
        reader_of(data[:size], measure(data)).read()


def test_a_changed_digest_in_the_block_index_is_damage() -> None:
    facts = measure(b"x" * 70_000)
    changed = facts.replace(blocks=b"\x00" + facts.blocks[1:])
    with pytest.raises(Damaged, match="block 0"):
        reader_of(b"x" * 70_000, changed).read(0, 1)


def test_the_error_of_a_damaged_body_tells_the_model_what_to_do() -> None:
    with pytest.raises(Damaged) as damage:
        reader_of(b"secret", measure(b"hidden")).read()
    assert "Run the tool again" in damage.value.for_model
    assert "secret" not in str(damage.value) + damage.value.for_model


def test_a_closed_reader_gives_back_what_it_holds() -> None:
    closed: list[int] = []
    with BodyReader(measure(b"x"), fetch_from(b"x"), lambda: closed.append(1)):
        assert closed == []
    assert closed == [1]


def test_a_range_reads_only_the_blocks_it_needs() -> None:
    data = b"0123456789\n" * 100_000
    asked: list[int] = []

    def fetch(offset: int, length: int) -> bytes:
        asked.append(offset // BLOCK)
        return data[offset : offset + length]

    reader = BodyReader(measure(data), fetch)
    reader.line_range(50_000, 50_100)
    assert len(set(asked)) <= 2


def _fetched(data: bytes, reads: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what is fetched for reads of blocks, each given as the number of its first block and how many they are."""
    fetched: list[tuple[int, int]] = []

    def fetch(offset: int, length: int) -> bytes:
        fetched.append((offset // BLOCK, length // BLOCK))
        return data[offset : offset + length]

    read = ReadAhead(fetch, len(data))
    for first, count in reads:
        assert read(first * BLOCK, count * BLOCK) == data[first * BLOCK : (first + count) * BLOCK]
    return fetched


def test_a_body_that_is_read_in_order_is_fetched_in_ever_larger_pieces_up_to_a_bound() -> None:
    data = bytes(200 * BLOCK)
    assert _fetched(data, [(number, 1) for number in range(200)]) == [(0, 4), (4, 16), (20, 64), (84, 64), (148, 52)]


def test_a_jump_is_fetched_in_a_small_piece_again_and_what_was_fetched_not_once_more() -> None:
    data = bytes(range(256)) * (BLOCK // 256) * 40
    assert _fetched(data, [(0, 1), (1, 3), (30, 1), (33, 1), (32, 2)]) == [(0, 4), (30, 4)]
    assert _fetched(data, [(20, 1), (10, 1), (20, 1)]) == [(20, 4), (10, 4), (20, 4)]
    assert _fetched(data, [(2, 10), (12, 1)]) == [(2, 10), (12, 28)]
    assert _fetched(data, [(39, 3), (40, 1)]) == [(39, 1), (40, 0)]


def test_a_body_that_is_remembered_need_not_be_fetched() -> None:
    data = b"line\n" * 20_000

    def fetch(offset: int, length: int) -> bytes:
        raise AssertionError("this was given")

    assert BodyReader(measure(data), fetch).remember(data).read() == data
