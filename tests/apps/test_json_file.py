"""Members put into a JSON text and taken out again, with every other byte as it was."""

import json
from typing import Any

import pytest

from keepwhole.apps.json_file import added, indent, member, parse, parts, removed


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": 1}', {"a": 1}), (" \n[1, 2]\r\n\t ", [1, 2]), ("null", None), ('"x"', "x"), ("7", 7)],
)
def test_a_whole_text_is_parsed_with_the_space_around_it(text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is not valid JSON"),
        ("  ", "it is not valid JSON"),
        ("{} x", "something follows its end, at character 2"),
        ("[" + "1," * 600 + "1] ]", "something follows its end, at character 1,203"),
    ],
)
def test_anything_else_is_told_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(text)


def test_parts_of_containers_are_told_with_their_places() -> None:
    text = '{"a": [1, "x"], "b" : {}}'
    first, second = parts(text, 0)
    assert (first.key, first.value, text[first.start : first.stop]) == ("a", [1, "x"], '"a": [1, "x"]')
    assert (second.key, second.value, text[second.start : second.stop]) == ("b", {}, '"b" : {}')
    assert text[second.value_start :] == "{}}"
    one, other = parts(text, first.value_start)
    assert (one.key, one.value, other.key, other.value) == ("", 1, "", "x")
    assert one.start == one.value_start == 7
    assert parts(text, second.value_start) == []


def test_of_two_members_of_one_name_the_last_one_counts() -> None:
    text = '{"a": 1, "b": 2, "a": 3}'
    found = member(text, 0, "a")
    assert found is not None
    assert found.value == 3
    assert member(text, 0, "c") is None


CONTAINERS: list[tuple[str, str | None, Any, int, str]] = [
    ('{"a": 1}', "b", 2, 0, '{"a": 1,\n  "b": 2}'),
    ("{}", "b", 2, 0, '{"b": 2}'),
    ('{\n\t"a": 1\n}', "b", {"c": [1]}, 0, '{\n\t"a": 1,\n\t"b": {\n\t\t"c": [\n\t\t\t1\n\t\t]\n\t}\n}'),
    ('{\r\n "a": 1\r\n}', "é", {"c": 1}, 0, '{\r\n "a": 1,\r\n "é": {\r\n  "c": 1\r\n }\r\n}'),
    ("[]", None, {"a": 1}, 0, '[{\n    "a": 1\n  }]'),
    ("[1]", None, 2, 1, "[1,\n    2]"),
]


@pytest.mark.parametrize(("text", "key", "value", "depth", "after"), CONTAINERS)
def test_a_part_is_put_at_the_end_and_taken_out_again(
    text: str, key: str | None, value: object, depth: int, after: str
) -> None:
    assert added(text, 0, key, value, depth) == after
    part = parts(after, 0)[-1]
    assert (part.key, part.value) == (key or "", value)
    assert removed(after, 0, part) == (text, False)


def test_a_part_is_taken_out_from_wherever_it_is() -> None:
    text = '{"a": 1, "b": 2,  "c": 3}'
    first, second, third = parts(text, 0)
    assert removed(text, 0, first) == ('{"b": 2,  "c": 3}', False)
    assert removed(text, 0, second) == ('{"a": 1,  "c": 3}', False)
    assert removed(text, 0, third) == ('{"a": 1, "b": 2}', False)


@pytest.mark.parametrize(
    ("text", "left", "is_ours"),
    [
        ('{"a": 1}', "{}", False),
        ('{ "a": 1 }', "{ }", False),
        ('{\n  "a": 1\n}', "{\n}", True),
        ('{\r\n  "a": 1\r\n}', "{\r\n}", True),
        ('{\r  "a": 1}', "{}", True),
    ],
)
def test_an_empty_container_is_known_as_made_for_its_part_by_its_line(text: str, left: str, is_ours: bool) -> None:
    cut, is_empty = removed(text, 0, parts(text, 0)[0])
    assert (cut, is_empty) == (left, is_ours)
    assert json.loads(cut) == {}


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ('{"a": 1}', "  "),
        ('{\n    "a": 1}', "    "),
        ('{\r\n\t"a": 1}', "\t"),
        ("[\n 1]", " "),
        ('{"a": [\n   1]}', "   "),
        ("{\n}", "  "),
    ],
)
def test_one_level_is_set_in_as_it_is_in_the_text(text: str, step: str) -> None:
    assert indent(text) == step
