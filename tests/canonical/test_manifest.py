"""A manifest says what a request was made of, and is never read as something else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.manifest import (
    CopiedPiece,
    LiteralPiece,
    ShownPiece,
    atoms,
    decode_manifest,
    encode_manifest,
    spelled,
    spelling_of,
)
from keepwhole.errors import Damaged

TEXT = st.text(st.characters(), max_size=40)
PIECES = st.lists(
    st.one_of(
        st.builds(LiteralPiece, st.binary(max_size=40)),
        st.builds(CopiedPiece, st.integers(0, 9), st.integers(0, 9)),
        st.builds(ShownPiece, TEXT, st.integers(0, 99), st.sampled_from(("ascii", "utf8", "markup"))),
    )
)


@given(PIECES)
def test_a_manifest_comes_back_as_it_was_written(pieces: list[LiteralPiece | CopiedPiece | ShownPiece]) -> None:
    assert decode_manifest(encode_manifest(pieces)) == pieces


@given(st.binary(max_size=60) | st.builds(lambda data: b"[" + data + b"]\n", st.binary(max_size=20)))
def test_bytes_that_are_no_manifest_are_read_or_damaged_and_nothing_else(raw: bytes) -> None:
    try:
        decode_manifest(raw)
    except Damaged:
        pass


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}\nx",
        b"[3]\nab",
        b"[1]\nab",
        b"[-1]\n",
        b"[2,-1]\na",
        b"[[1]]\n",
        b'[["t",0,"no way"]]\n',
        b'["ab"]\n',
        b"[[1,null]]\n",
        b"7",
    ],
)
def test_a_manifest_that_does_not_add_up_is_damaged(raw: bytes) -> None:
    with pytest.raises(Damaged):
        decode_manifest(raw)


def test_pieces_of_the_base_stand_in_their_places() -> None:
    base = [LiteralPiece(b"a"), ShownPiece("t", 0, "ascii"), LiteralPiece(b"c")]
    assert atoms([LiteralPiece(b"x"), CopiedPiece(1, 3), CopiedPiece(0, 1)], base) == [
        LiteralPiece(b"x"),
        *base[1:],
        base[0],
    ]


@pytest.mark.parametrize("copied", [CopiedPiece(0, 2), CopiedPiece(-1, 1), CopiedPiece(1, 0)])
def test_pieces_that_the_base_does_not_have_are_damage(copied: CopiedPiece) -> None:
    with pytest.raises(Damaged):
        atoms([copied], [LiteralPiece(b"a")])


@given(TEXT)
def test_a_text_is_known_by_the_way_it_is_spelled(text: str) -> None:
    for written in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        spelling = spelling_of(text, written)
        if spelling is not None:
            assert spelled(text, spelling) == written.encode()
    assert spelling_of(text, json.dumps(text)) == "ascii"


@pytest.mark.parametrize(
    ("text", "written", "spelling"),
    [
        ("é<b>", '"é<b>"', "utf8"),
        ("half \ud800 é", '"half \\ud800 é"', "utf8"),
        ("<&>\u2028", '"\\u003c\\u0026\\u003e\\u2028"', "markup"),
        ("a/b", '"a\\/b"', None),
        ("é", '"\\u00E9"', None),
    ],
)
def test_the_spellings_of_clients_are_told_apart(text: str, written: str, spelling: str | None) -> None:
    assert spelling_of(text, written) == spelling
