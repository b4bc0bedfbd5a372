"""A request is taken apart where the next one will differ, and its parts are always the whole of it."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.exchange.manifest_writer import LONG, as_bytes, split, string_of, strings

LONG_TEXT = "a line of a long text\n" * 40


def request(*messages: Any, **fields: Any) -> bytes:
    return json.dumps({"model": "m", "messages": messages, **fields}).encode()


def message(words: str) -> dict[str, str]:
    return {"role": "user", "content": words}


@given(st.binary(max_size=200), st.lists(st.text(max_size=20), max_size=6))
def test_the_parts_of_anything_are_all_of_it(data: bytes, like: list[str]) -> None:
    assert b"".join(map(as_bytes, split(data, like))) == data


@given(st.lists(st.text(max_size=9), max_size=6), st.lists(st.text(max_size=9), max_size=6))
def test_what_is_alike_need_not_be_read_again_and_the_parts_are_the_same(one: list[str], two: list[str]) -> None:
    earlier, later = (request(*map(message, words), tools=[LONG_TEXT]) for words in (one, two))
    found = split(later, split(earlier))
    assert b"".join(map(as_bytes, found)) == later
    if two[: len(one)] == one:
        assert found == split(later)


def test_one_more_message_leaves_all_other_parts_as_they_are() -> None:
    before = split(request(message("a"), message("b"), tools=[LONG_TEXT]))
    after = split(request(message("a"), message("b"), message("c"), tools=[LONG_TEXT]))
    assert [part for part in after if part not in before] == [', {"role": "user", "content": "c"}']
    assert [part for part in before if part not in after] == []


def test_what_is_alike_at_either_end_is_the_very_same_text() -> None:
    before = split(request(message("a"), message("b"), tools=[LONG_TEXT]))
    after = split(request(message("a"), message("b"), message("c"), tools=[LONG_TEXT]), before)
    assert [any(part is old for old in before) for part in after] == [True, True, True, False, True, True, True]


def test_a_value_that_goes_on_into_what_is_alike_is_not_taken_for_a_message() -> None:
    assert split(b"[,[1]}", ["[", "]}"]) == ["[,[1]}"]


def test_a_large_field_is_a_part_and_small_ones_are_not() -> None:
    parts = split(request(message("a"), tools=[LONG_TEXT], top_p=1, top_k=2))
    assert json.dumps([LONG_TEXT]) in parts
    assert parts[-1] == ', "top_p": 1, "top_k": 2}'


@pytest.mark.parametrize("data", [b"", b"no json", b'{"messages": [', b"\xff\xfe", b'{"messages": [], "messages": []}'])
def test_what_cannot_be_read_is_one_part(data: bytes) -> None:
    assert len(split(data)) == 1


def test_every_second_piece_is_a_long_string() -> None:
    part = json.dumps(
        {"role": "user", "content": [{"text": LONG_TEXT + 'with "quotes" and \\'}, {"text": "short"}, "é" * LONG]}
    )
    pieces = strings(part)
    assert "".join(pieces) == part
    assert [string_of(piece) for piece in pieces[1::2]] == [LONG_TEXT + 'with "quotes" and \\', "é" * LONG]


@pytest.mark.parametrize("garbage", ['"' + '\\"' * 200_000, '"' + '\\"' * 200_000 + "\\", '"' * 400_001])
def test_garbage_is_looked_at_once(garbage: str) -> None:
    begun = time.process_time()
    assert "".join(strings(garbage)) == garbage
    assert time.process_time() - begun < 2
