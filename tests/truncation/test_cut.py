"""A cut covers its original once and in order, is rendered verbatim, and comes back from its bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.body import measure
from keepwhole.canonical.utf8 import decode, encode
from keepwhole.errors import Damaged
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.cut import (
    Cut,
    Inserted,
    Part,
    Piece,
    Segment,
    TextSource,
    decode_cut,
    encode_cut,
    length,
    render,
    render_body,
    whole,
)

any_text = st.text(st.characters(exclude_categories=()), max_size=80)
parts: st.SearchStrategy[Part] = st.sampled_from(("kept", "gap", "elided"))
pieces: st.SearchStrategy[Piece] = st.builds(Inserted, any_text) | st.builds(
    Segment, parts, st.integers(0, 1 << 40), st.integers(0, 1 << 40)
)


@given(st.lists(pieces, max_size=12))
def test_a_cut_comes_back_from_its_bytes(found: list[Piece]) -> None:
    cut = Cut(tuple(found))
    assert decode_cut(encode_cut(cut)) == cut
    assert encode_cut(cut).isascii()


@given(st.lists(st.builds(Inserted, any_text) | st.builds(Segment, parts, st.integers(0, 40), st.integers(40, 80))))
def test_the_length_of_pieces_is_that_of_the_text_they_show(found: list[Piece]) -> None:
    assert length(found) == len(render_body(Cut(tuple(found)), TextSource("x" * 80)))


def test_the_bytes_of_a_cut_are_pinned() -> None:
    pieces = (Inserted("a\ud800\n"), Segment("kept", 0, 5), Segment("gap", 5, 9), Segment("elided", 9, 10))
    assert encode_cut(Cut(pieces, "over", "")) == b'["over",["a\\ud800\\n",["k",0,5],["g",5,9],["e",9,10]],""]'


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff",
        b"5",
        b"null",
        b"[5]",
        b"[null]",
        b'{"a":1}',
        b'"text"',
        b'[["x",0,1]]',
        b'[["k",0]]',
        b'[["k",0,1,2]]',
        b'[["k","0","1"]]',
        b'[["k",0,null]]',
        b'[[["k"],0,1]]',
        b"[" * 100_000,
    ],
)
def test_what_is_no_cut_is_damage_and_no_other_error(raw: bytes) -> None:
    with pytest.raises(Damaged, match="sessions verify"):
        decode_cut(raw)


def test_a_whole_cut_covers_and_shows_everything() -> None:
    assert whole(5).covers(5)
    assert whole(0).covers(0)
    assert render(whole(5), TextSource("hello")) == "hello"


@pytest.mark.parametrize(
    "segments",
    [
        (),
        (Segment("kept", 0, 4),),
        (Segment("kept", 1, 5),),
        (Segment("kept", 0, 6),),
        (Segment("kept", 0, 3), Segment("gap", 4, 5)),
        (Segment("kept", 0, 3), Segment("gap", 2, 5)),
        (Segment("gap", 3, 5), Segment("kept", 0, 3)),
        (Segment("kept", 0, 5), Segment("gap", 5, 3), Segment("kept", 3, 5)),
    ],
)
def test_a_cut_that_leaves_out_repeats_or_reorders_does_not_cover(segments: tuple[Segment, ...]) -> None:
    assert not Cut(segments).covers(5)


def test_a_rendered_cut_is_kept_text_and_our_words_only() -> None:
    cut = Cut((Segment("kept", 0, 2), Inserted("[…]"), Segment("gap", 2, 4), Segment("elided", 4, 5)))
    assert cut.covers(5)
    assert render(cut, TextSource("hello")) == "he[…]"
    assert [segment.part for segment in cut.segments] == ["kept", "gap", "elided"]
    assert cut.gaps == [Segment("gap", 2, 4)]
    assert cut.kept == [Segment("kept", 0, 2)]


@given(any_text)
def test_a_rendered_text_can_always_be_encoded(text: str) -> None:
    assert len(render(whole(len(text)), TextSource(text)).encode().decode()) == len(text)


@given(any_text, st.integers(0, 90), st.integers(0, 90))
def test_text_in_memory_and_in_the_record_is_the_same_source(text: str, start: int, stop: int) -> None:
    data, encoding = encode(text)
    stored = BodyReader(measure(data, encoding), lambda offset, length: data[offset : offset + length])
    source = TextSource(text)
    assert (stored.chars, stored.lines, stored.eol) == (source.chars, source.lines, source.eol)
    assert stored.text(start, stop) == source.text(start, stop) == text[start:stop]
    assert stored.ends_before(start) == source.ends_before(start)
    assert decode(data, encoding) == text
