"""Which terms the index has for each passage of a result, and where passages begin."""

import pytest

from keepwhole.store.passages import EACH, INDEXED_BYTES, LONG, STRIDE, first_text, long_results, marks, passages_of
from keepwhole.store.reader import bytes_reader
from tests.build import result


def numbered(text: str, **fields: str) -> dict[int, list[str]]:
    return dict(passages_of(5, result(**{"tool": "bash", **fields}), text))


def test_the_example_of_the_module_has_these_terms() -> None:
    (terms,) = numbered("Retries of parseConfig failed").values()
    assert set(terms) == {"retr", "pars", "config", "parseconfig", "fail", ".retries", ".of", ".failed", "_cbash"}


@pytest.mark.parametrize(
    ("chars", "passages"),
    [(0, 1), (1, 1), (4_096, 1), (4_097, 2), (8_192, 2), (8_193, 3), (262_144, 64), (300_000, 64)],
)
def test_a_passage_begins_every_4096_characters_64_at_most(chars: int, passages: int) -> None:
    assert list(numbered("x" * chars)) == [5 * 64 + at for at in range(passages)]


def test_passages_overlap_by_256_characters() -> None:
    text = " " * (STRIDE + 249) + "needle!" + " " * 5_000
    assert [any("needl" in term for term in terms) for terms in numbered(text).values()] == [True, True, False]
    later = " " * (STRIDE + 256) + "needle!" + " " * 5_000
    assert [any("needl" in term for term in terms) for terms in numbered(later).values()] == [False, True, False]


def test_the_first_600_characters_of_the_arguments_belong_to_every_passage() -> None:
    for at, is_known in ((590, True), (601, False)):
        arguments = " " * at + "zanzibar"
        found = numbered("x" * 5_000, arguments=arguments).values()
        assert all(any(term.startswith("_czanz") for term in terms) for terms in found) is is_known


def test_64_characters_of_a_literal_token_are_indexed() -> None:
    (terms,) = numbered("ab1" * 40).values()
    assert max(len(term) for term in terms if term.startswith(".")) <= 65


def test_tasks_and_queries_are_marked_by_their_digests() -> None:
    assert [len(marks(*of)) for of in ((None, None), ("t", None), (None, "q"), ("t", "q"))] == [0, 1, 1, 2]
    assert marks("a", None) != marks("b", None)
    assert [mark[:2] for mark in marks("a", "a")] == ["_t", "_q"]
    assert {len(mark) for mark in marks("a", "b")} == {18}
    (terms,) = numbered("x", task_id="a", query_id="b").values()
    assert terms[:2] == marks("a", "b")


def test_256_kb_of_a_body_are_indexed_up_to_a_whole_character() -> None:
    assert (INDEXED_BYTES, EACH * STRIDE) == (262_144, 262_144)
    reader = bytes_reader(b"x" + "é".encode() * 200_000)
    text = first_text(reader)
    assert text == "x" + "é" * 131_071
    assert first_text(bytes_reader("short é".encode())) == "short é"


def test_a_body_that_is_longer_than_what_is_indexed_is_known_by_its_block_index() -> None:
    short, long = (bytes_reader(b"x" * size).facts for size in (INDEXED_BYTES, INDEXED_BYTES + 65_537))
    assert len(short.blocks) <= LONG < len(long.blocks)
    assert list(long_results([("trace_x", b"no header", b"", b"")], (None, None))) == []
