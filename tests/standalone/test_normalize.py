"""Canonical text is never limited; a projection may be, and neither changes its input."""

import copy
import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError
from keepwhole.standalone.normalize import normalize
from tests.build import in_memory

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def first_ten(text: str) -> str:
    return text[:10]


@dataclass
class Row:
    path: str
    lines: int


class Known(Value):
    name: str


@given(anything)
def test_neither_mode_changes_what_it_is_given(result: Any) -> None:
    before = copy.deepcopy(result)
    normalize(result, mode="canonical")
    normalize(result, mode="projection", cut=first_ten)
    assert result == before


@given(st.text())
def test_canonical_text_is_the_text_itself(text: str) -> None:
    assert normalize(text, mode="canonical") is text


@given(st.binary())
def test_canonical_bytes_are_kept_byte_for_byte(data: bytes) -> None:
    session = in_memory()
    shown = session.keep("bash", {}, normalize(data, mode="canonical"))
    assert session.recall_bytes(str(shown.trace_id)) == data


def test_canonical_text_of_any_size_is_whole() -> None:
    rows = [{"row": number} for number in range(200_000)]
    assert json.loads(normalize(rows, mode="canonical")) == rows
    assert len(normalize("x" * 30_000_000, mode="canonical")) == 30_000_000


def test_a_cut_is_refused_in_canonical_mode() -> None:
    with pytest.raises(UsageError, match="never limited"):
        normalize("x", mode="canonical", cut=first_ten)  # type: ignore[call-overload]


def test_an_unknown_mode_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r'"canonical".*"projection"'):
        normalize("x", mode="short")  # type: ignore[call-overload]


def test_a_projection_is_limited_by_the_cut_it_is_given_and_only_then() -> None:
    assert normalize("x" * 50, mode="projection", cut=first_ten) == "x" * 10
    assert normalize("x" * 50, mode="projection") == "x" * 50


def test_a_projection_can_always_be_encoded() -> None:
    assert normalize(b"\xff\xfe", mode="projection") == "\ufffd\ufffd"
    assert normalize("\ud800", mode="projection") == "\ufffd"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (None, ""),
        (b"bytes", "bytes"),
        (bytearray(b"more"), "more"),
        ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
        ([{"type": "text", "text": "only this"}], "only this"),
        ({"type": "text", "text": "only this"}, "only this"),
        ([{"type": "text", "text": "a"}, {"type": "image"}], '[{"type": "text", "text": "a"}, {"type": "image"}]'),
        (Row("a.py", 3), '{"path": "a.py", "lines": 3}'),
        ([Known(name="x")], '[{"name": "x"}]'),
        ({"found": {3, 1, 2}, "raw": b"z"}, '{"found": [1, 2, 3], "raw": "z"}'),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (7, "7"),
    ],
)
def test_objects_become_the_text_that_says_all_of_them(result: object, text: str) -> None:
    assert normalize(result, mode="canonical") == text


def test_an_object_without_a_form_of_its_own_is_its_text() -> None:
    class Odd:
        def __str__(self) -> str:
            return "an odd one"

    assert json.loads(normalize({"odd": Odd(), "type": Odd}, mode="canonical"))["odd"] == "an odd one"
