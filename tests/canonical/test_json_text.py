"""The one scanner of JSON: spans are exact, nothing is guessed, and each way to read accepts what it promises."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.json_members import NotJson, members, members_from, root_span
from keepwhole.canonical.json_steps import skip_space, value_stop
from keepwhole.canonical.json_text import find_strings, find_values, read_elements, read_key, read_value

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5)
)
containers = st.lists(values, max_size=6) | st.dictionaries(st.text(), values, max_size=6)
spellings = st.sampled_from(
    [{}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}, {"separators": (" ,\r\n", " :  ")}]
)


def paths_in(value: Any, before: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """Every path into a value, with what it leads to."""
    inside: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())  # type: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        inside = list(enumerate(value))  # type: ignore[reportUnknownArgumentType]
    found = [((*before, key), each) for key, each in inside]
    return found + [deeper for path, each in found for deeper in paths_in(each, path)]


@given(value=containers, spelling=spellings)
def test_the_members_of_a_container_are_its_parts_and_cover_it(value: Any, spelling: dict[str, Any]) -> None:
    text = json.dumps(value, **spelling)
    found = members(text, 0, len(text))
    own = [json.loads(text[member.value : member.stop]) for member in found]
    assert own == (list(value.values()) if isinstance(value, dict) else value)
    if isinstance(value, dict):
        assert [read_key(text, member.start) for member in found] == [
            (key, member.value) for key, member in zip(value, found, strict=True)
        ]
    assert members_from(f" {text} ", 1)[1] == len(text) + 1


@given(value=containers, spelling=spellings)
def test_every_path_leads_to_the_span_of_its_value(value: Any, spelling: dict[str, Any]) -> None:
    text = json.dumps(value, **spelling)
    for path, inner in paths_in(value):
        ((start, stop, (own, label)),) = find_values(text, 0, [(path, "label")])
        assert json.loads(text[start:stop]) == inner
        assert (own, label) == (path, "label")


@given(value=values, spelling=spellings)
def test_a_value_ends_where_its_text_does(value: Any, spelling: dict[str, Any]) -> None:
    text = json.dumps(value, **spelling)
    assert read_value(text + "  ", 0) == (value, len(text))
    assert value_stop(text + "  ", 0) == len(text)
    assert skip_space(text + "  ", len(text)) == len(text) + 2


@given(value=st.lists(values, min_size=1), spelling=spellings)
def test_elements_are_read_with_their_spans(value: list[Any], spelling: dict[str, Any]) -> None:
    text = json.dumps(value, **spelling)
    found, starts, stops = list[Any](), list[int](), list[int]()
    assert read_elements(text, skip_space(text, 1), found, starts, stops) == len(text)
    assert found == value
    assert [json.loads(text[start:stop]) for start, stop in zip(starts, stops, strict=True)] == value


@pytest.mark.parametrize("text", ["[1, 2", "[1 2]", '{"a" 1}', "{1: 2}", "[1],", '{"a": 1,}', "[,]", '["a\n"]', ""])
def test_what_is_not_json_is_refused_and_not_guessed(text: str) -> None:
    with pytest.raises((NotJson, IndexError)):
        members(text, 0, len(text))


def test_a_root_is_an_array_or_an_object() -> None:
    assert root_span(' {"a": 1}\n') == (1, 9)
    for text in ("", "1", '"a"', "[1", "text]"):
        with pytest.raises(NotJson):
            root_span(text)


def test_values_are_read_as_the_standard_has_them_and_spans_as_python_has_them() -> None:
    with pytest.raises(ValueError, match="NaN"):
        read_value("[NaN]", 0)
    assert len(members("[NaN, -Infinity]", 0, 16)) == 2
    assert len(members(f"[{'9' * 10_000}]", 0, 10_002)) == 1


def test_a_path_over_a_key_that_is_there_twice_leads_nowhere() -> None:
    text = r'{"a": {"b": 1}, "c": 2, "\u0061": {"b": 3}}'
    assert find_values(text, 0, [(("a", "b"), None)]) == []
    ((start, stop, _),) = find_values(text, 0, [(("c",), None)])
    assert text[start:stop] == "2"


def test_of_two_entries_for_one_path_the_later_counts() -> None:
    found = find_values('{"a": "x"}', 0, [(("a",), 1), (("a",), 2)])
    assert [label for _, _, (_, label) in found] == [2]


def test_a_large_array_has_the_same_elements_from_either_end() -> None:
    rows = [{"number": number, "text": "é" * (number % 7)} for number in range(2_000)]
    text = json.dumps(rows, ensure_ascii=False, indent=1)
    found = members(text, 0, len(text))
    slow = members_from(text, 0)[0]
    for number in (0, 1, 999, 1_000, 1_999, -1, -2):
        assert text[found[number].start : found[number].stop] == text[slow[number].start : slow[number].stop]
    assert len(found[5:8]) == 3
    with pytest.raises(IndexError):
        found[2_000]


def test_strings_are_found_in_any_text() -> None:
    text = r'{"a\"b": "c"} "and no end'
    assert [text[start:stop] for start, stop in find_strings(text)] == [r'"a\"b"', '"c"', '"and no end']


def test_a_path_that_is_too_deep_to_follow_leads_nowhere() -> None:
    depth = 5_000
    text = "[" * depth + "1" + "]" * depth
    assert find_values(text, 0, [((0,) * depth, None)]) == []
    short = "[" * 9 + "]" * 9
    assert [short[start:stop] for start, stop, _ in find_values(short, 0, [((0,) * 8, None)])] == ["[]"]
