"""The facts of a body, measured in one pass, are those that a slow look at the whole gives."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole.canonical import body, utf8
from keepwhole.canonical.body import BLOCK, CHUNK, BlockIndex, BodyFacts, Measurer, measure
from keepwhole.canonical.utf8 import Encoding

ATOMS = (
    b"a",
    b"\n",
    b"\r",
    b"\r\n",
    "é".encode(),
    "€".encode(),
    "😀".encode(),
    b"\x80",
    b"\xbf",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xf8",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\x00",
)
TEXT = (b"a", b"\n", b"\r", "é".encode(), "€".encode(), "😀".encode(), b"\xed\xa0\x80")


def made_of(atoms: Sequence[bytes], least: int, most: int) -> st.SearchStrategy[bytes]:
    """Bodies of `least` to `most` of these atoms."""
    return st.binary(min_size=least, max_size=most).map(lambda raw: b"".join(atoms[byte % len(atoms)] for byte in raw))


nearly_text = st.tuples(made_of(TEXT, 8, 60), made_of(ATOMS, 1, 1), made_of(TEXT, 0, 20)).map(b"".join)
anything = nearly_text | made_of(ATOMS, 0, 60) | st.binary(max_size=200)
encodings = st.sampled_from(("utf-8", "surrogates"))


def slow_characters(data: bytes, encoding: Encoding) -> list[bytes]:
    """The characters of `data`, one at a time; a byte that begins none is one by itself."""
    errors = "surrogatepass" if encoding == "surrogates" else "strict"
    found: list[bytes] = []
    at = 0
    while at < len(data):
        for size in (1, 2, 3, 4):
            try:
                piece = data[at : at + size]
                if len(piece) == size and len(str(piece, "utf-8", errors)) == 1:
                    break
            except UnicodeDecodeError:
                pass
        else:
            size = 1
        found.append(data[at : at + size])
        at += size
    return found


def is_text(data: bytes, encoding: Encoding) -> bool:
    """Whether every byte of `data` belongs to a character."""
    try:
        str(data, "utf-8", "surrogatepass" if encoding == "surrogates" else "strict")
    except UnicodeDecodeError:
        return False
    return True


def slow_facts(data: bytes, encoding: Encoding) -> dict[str, Any]:
    """The facts of `data`, the slow way: over the whole of it, byte by byte where it matters."""
    found: Encoding = encoding if is_text(data, encoding) else "bytes"
    eol = b"\n" if b"\n" in data or b"\r" not in data else b"\r"
    lines = data.split(eol)
    digests = [hashlib.sha256(data[start : start + body.BLOCK]).digest() for start in range(0, len(data), body.BLOCK)]
    return {
        "size": len(data),
        "chars": len(slow_characters(data, found)),
        "lines": len(lines) - (lines[-1] == b""),
        "eol": eol.decode(),
        "encoding": found,
        "digest": hashlib.sha256(b"".join(digests)).digest(),
    }


def facts_of(data: bytes, encoding: Encoding) -> dict[str, Any]:
    """The facts that the library finds, without the index."""
    known = measure(data, encoding).as_dict()
    del known["blocks"]
    return known


def in_chunks(data: bytes, encoding: Encoding = "utf-8") -> BodyFacts:
    """The facts as a stream gives them."""
    measurer = Measurer(encoding)
    for start in range(0, len(data), body.CHUNK):
        piece = data[start : start + body.CHUNK]
        measurer.space[: len(piece)] = piece
        measurer.take(len(piece))
    return measurer.finish()


@contextmanager
def small_blocks() -> Iterator[None]:
    """Blocks of 16 bytes, four to a chunk, so that short bodies have many edges."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body, "BLOCK", 16)
        patch.setattr(body, "CHUNK", 64)
        yield


@contextmanager
def without_stringzilla() -> Iterator[None]:
    """As where the `speed` extra is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utf8, "_zilla", [None])
        yield


@given(anything, encodings)
def test_the_facts_of_any_bytes_are_those_of_the_slow_way(data: bytes, encoding: Encoding) -> None:
    assert facts_of(data, encoding) == slow_facts(data, encoding)


@settings(max_examples=100)
@given(anything, encodings)
def test_facts_do_not_depend_on_where_blocks_and_chunks_begin(data: bytes, encoding: Encoding) -> None:
    with small_blocks():
        expected = slow_facts(data, encoding)
        assert facts_of(data, encoding) == expected
        streamed = in_chunks(data, encoding).as_dict()
    assert {key: streamed[key] for key in expected} == expected


@given(anything, st.sampled_from((BLOCK, 2 * BLOCK, CHUNK)), st.integers(0, 8))
def test_a_character_that_straddles_a_block_is_counted_once(data: bytes, edge: int, back: int) -> None:
    filler = b"x" * (edge - back)
    facts = measure(filler + data + b"tail")
    rest = slow_facts(data + b"tail", "utf-8")
    assert facts.chars == len(filler) + rest["chars"]
    assert facts.encoding == rest["encoding"]


@given(anything)
def test_the_index_counts_the_line_ends_and_characters_of_every_block(data: bytes) -> None:
    with small_blocks():
        facts = in_chunks(data)
        index = BlockIndex(facts)
    if not facts.blocks:
        return
    blocks = [data[start : start + 16] for start in range(0, len(data), 16)]
    assert [index.digest(number) for number in range(index.count)] == [
        hashlib.sha256(block).digest() for block in blocks
    ]
    ends = [block.count(facts.eol.encode()) for block in blocks]
    assert index.ends_before == [sum(ends[:number]) for number in range(len(ends) + 1)]
    assert index.chars_before[-1] == facts.chars
    if facts.encoding == "utf-8":
        whole = [len(data[: 16 * number].decode("utf-8", "ignore")) for number in range(len(blocks) + 1)]
        assert index.chars_before == whole


@pytest.mark.parametrize("size", [edge + step for edge in (0, BLOCK, CHUNK, 2 * CHUNK) for step in (-1, 0, 1, 5)][1:])
@pytest.mark.parametrize("pattern", ["0123456789\n", "aé€😀\n", "no end at all, ", "only\rreturns\r"])
def test_sizes_around_a_block_and_a_chunk_are_measured_right(size: int, pattern: str) -> None:
    raw = pattern.encode()
    data = (raw * (size // len(raw) + 1))[:size]
    facts = measure(data)
    assert (facts.size, facts.chars) == (size, len(data.decode("utf-8", "surrogateescape")))
    assert facts.lines == len(data.splitlines())
    assert (facts.blocks == b"") == (size <= BLOCK)
    assert in_chunks(data) == facts


@pytest.mark.parametrize("size", [BLOCK + 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
@pytest.mark.parametrize("pattern", [b"line\n", "é€😀\n".encode(), b"\xff\xc3\n", b"a\rb"])
def test_the_facts_are_the_same_without_stringzilla(size: int, pattern: bytes) -> None:
    data = (pattern * (size // len(pattern) + 1))[:size]
    with_it = measure(data)
    with without_stringzilla():
        assert measure(data) == with_it


def test_an_empty_body_has_no_lines_and_no_characters() -> None:
    facts = measure(b"")
    assert (facts.size, facts.chars, facts.lines, facts.eol, facts.encoding) == (0, 0, 0, "\n", "utf-8")
    assert facts.digest == hashlib.sha256(b"").digest()
    assert Measurer().finish() == facts


@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"a\n\n", 2), (b"a\r\nb\r\n", 2), (b"a\rb\r\nc", 2)],
)
def test_a_last_line_without_its_end_counts_too(data: bytes, lines: int) -> None:
    assert measure(data).lines == lines


@pytest.mark.parametrize(("data", "lines"), [(b"\r", 1), (b"a\rb", 2), (b"a\rb\r", 2)])
def test_a_body_with_carriage_returns_only_is_counted_by_them(data: bytes, lines: int) -> None:
    facts = measure(data)
    assert (facts.eol, facts.lines) == ("\r", lines)


def test_a_newline_late_in_a_long_body_makes_it_a_body_of_newlines() -> None:
    data = b"progress\r" * 20_000 + b"done\n"
    facts = measure(data)
    assert (facts.eol, facts.lines) == ("\n", 1)
    assert in_chunks(data) == facts


def test_the_digest_is_the_hash_of_the_hashes_of_the_blocks() -> None:
    data = bytes(range(256)) * 1_000
    blocks = [data[start : start + BLOCK] for start in range(0, len(data), BLOCK)]
    expected = hashlib.sha256(b"".join(hashlib.sha256(block).digest() for block in blocks)).digest()
    assert measure(data).digest == expected


def test_text_with_lone_surrogates_that_ends_in_bytes_is_counted_as_it_will_be_decoded() -> None:
    data = ("\ud800" * 30_000).encode("utf-8", "surrogatepass") + b"\xff"
    facts = measure(data, "surrogates")
    assert facts.chars == len(utf8.decode(data, facts.encoding))


def test_a_block_index_is_read_the_same_where_numbers_are_stored_the_other_way_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = measure(b"some line\n" * 20_000)
    index = BlockIndex(facts)
    words = [facts.blocks[at : at + 4][::-1] for at in range(0, len(facts.blocks), 4)]
    monkeypatch.setattr(body, "byteorder", "big")
    other = BlockIndex(facts.replace(blocks=b"".join(words)))  # an array reads them as such a machine would
    assert (other.ends_before, other.chars_before) == (index.ends_before, index.chars_before)
    assert index.chars_before == [0, 65_536, 131_072, 196_608, 200_000]
