"""Addresses inside JSON: how they are written, what they name, and what is said where they name nothing."""

import json
from typing import Any

import pytest

from keepwhole.errors import UsageError
from keepwhole.recall import json_path
from keepwhole.recall.json_path import (
    IndexStep,
    KeyStep,
    NoSuchValue,
    SliceStep,
    children,
    descend,
    elements,
    find_elements,
    parse_path,
    path_text,
)

DATA = {"a": {"b c": [10, [20, 21], {"d": None}]}, "list": [{"n": 1}, {"n": 2}, {"n": 3}], "": "empty", "text": "x"}
PLAIN = json.dumps(DATA).encode()
ODD = PLAIN.replace(b'"x"', b"NaN")
"""JSON that only the slow scanner reads."""


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("$", []),
        (" $.a ", [KeyStep("a")]),
        ("a.b", [KeyStep("a"), KeyStep("b")]),
        ("[3]", [IndexStep(3)]),
        ("$[-3]", [IndexStep(-3)]),
        ("$[ 3 ]", [IndexStep(3)]),
        ('$["b c"]', [KeyStep("b c")]),
        ("$['b c']", [KeyStep("b c")]),
        (r'$["a\"b"]', [KeyStep('a"b')]),
        (r'$["a\q"]', [KeyStep(r"a\q")]),
        ("$[1:2]", [SliceStep(1, 2)]),
        ("$[:2]", [SliceStep(None, 2)]),
        ("$[-2:]", [SliceStep(-2, None)]),
        ("$[ : ]", [SliceStep()]),
        ("$[*]", [SliceStep()]),
        ("$.*", [SliceStep()]),
        ("$.a[0].b", [KeyStep("a"), IndexStep(0), KeyStep("b")]),
        (f"${'[0]' * 99}", [IndexStep(0)] * 99),
        ("$." + "a" * 298, [KeyStep("a" * 298)]),
    ],
)
def test_an_address_is_read_as_its_steps(text: str, steps: list[Any]) -> None:
    assert parse_path(text) == steps
    assert parse_path(path_text(steps)) == steps


@pytest.mark.parametrize(
    "text", ["$$", "$.a b", "$[a]", "$[1", "a..b", "$[1:2:3]", "$." + "a" * 299, "$[1234567890123456]"]
)
def test_what_is_no_address_is_answered_with_how_one_is_written(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_path(text)
    words = f'"{text[:60]}" is not an address. Write it as $.items[40:60].name, $["a key"] or $[-1].'
    assert str(caught.value) == caught.value.for_model == words


def test_a_key_is_quoted_only_where_it_has_to_be() -> None:
    keys = ["a", "a b", "a.b", 'a"b', "ü", "", "*", "a[0]", "a'"]
    assert [path_text([KeyStep(key)]) for key in keys] == [
        "$.a",
        '$["a b"]',
        '$["a.b"]',
        r'$["a\"b"]',
        "$.ü",
        '$[""]',
        '$["*"]',
        '$["a[0]"]',
        '$["a\'"]',
    ]
    assert path_text([SliceStep(0, 0), IndexStep(0)]) == "$[0:0][0]"


@pytest.mark.parametrize("data", [PLAIN, ODD, b"\xef\xbb\xbf " + ODD], ids=["plain", "odd", "odd, with a mark"])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.a", DATA["a"]),
        ('$.a["b c"][0]', 10),
        ('$.a["b c"][-1].d', None),
        ('$.a["b c"][1][1]', 21),
        ('$.a["b c"][-3]', 10),
        ('$[""]', "empty"),
        ("$.list[2].n", 3),
    ],
)
def test_one_value_is_found_in_any_json(data: bytes, path: str, value: object) -> None:
    steps = parse_path(path)
    found, at = descend(data, steps)
    assert (json.loads(found), at) == (value, len(steps))
    assert isinstance(found, bytes)
    whole, several, upto = find_elements(data, steps)
    assert (whole, several, upto) == (found, None, len(steps))


@pytest.mark.parametrize("data", [PLAIN, ODD])
@pytest.mark.parametrize(
    ("path", "values", "upto"),
    [
        ("$.list[0:2].n", [{"n": 1}, {"n": 2}, {"n": 3}], 1),
        ('$.a["b c"][*]', [10, [20, 21], {"d": None}], 2),
        ('$.a["b c"][1][:]', [20, 21], 3),
        ("$.a[*]", [DATA["a"]["b c"]], 1),  # type: ignore[index]
    ],
)
def test_the_elements_at_a_slice_are_found_with_the_steps_before_it(
    data: bytes, path: str, values: list[object], upto: int
) -> None:
    value, found, at = find_elements(data, parse_path(path))
    assert value is None
    assert found is not None
    assert ([json.loads(bytes(one)) for one in found], at) == (values, upto)


@pytest.mark.parametrize("data", [PLAIN, ODD])
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("$.b", 'There is no key "b" at $. There are: "a", "list", "", "text".'),
        ("$.a.b", 'There is no key "b" at $.a. There are: "b c".'),
        ("$.list.n", 'What is at $.list is an array, so it has no key "n". Give an element, such as $.list[0].'),
        ("$.a[0]", "What is at $.a is not an array, so it has no element 0."),
        ("$.list[3]", "There is no element 3 at $.list: it has 3, the last at $.list[2]."),
        ("$.list[-4]", "There is no element -4 at $.list: it has 3, the last at $.list[2]."),
        ("$.list[0].n[*]", "What is at $.list[0].n is neither array nor object."),
        ("$." + "k" * 99, f'There is no key "{"k" * 60}" at $. There are: "a", "list", "", "text".'),
    ],
)
def test_an_address_that_names_nothing_is_told_what_there_is(data: bytes, path: str, words: str) -> None:
    with pytest.raises(NoSuchValue) as caught:
        find_elements(data, parse_path(path))
    assert str(caught.value) == caught.value.for_model == words


@pytest.mark.parametrize(("count", "more"), [(20, "."), (21, " and 1 more."), (1_500, " and 1,480 more.")])
def test_of_many_keys_twenty_are_named(count: int, more: str) -> None:
    data = json.dumps({f"k{number}": 0 for number in range(count)}).encode()
    with pytest.raises(NoSuchValue) as caught:
        descend(data, [KeyStep("no")])
    assert str(caught.value).endswith(f'"k18", "k19"{more}')


def test_a_value_that_is_no_container_has_no_members() -> None:
    for data in (b"1", b'"[]"', b" null", b""):
        assert children(data) is None
        with pytest.raises(NoSuchValue):
            elements(data, [])
    assert children(b"\xef\xbb\xbf \r\n\t[1]") is not None


@pytest.mark.parametrize("data", [b"{", b"[1,", b'{"a": 1]', b'{"a" 1}', b"[NaN" + b"[" * 99])
def test_what_is_no_json_is_answered_with_what_else_there_is(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"This is not JSON that can be addressed\. Leave path out to page through it"):
        children(data)


def test_odd_json_is_read_up_to_four_million_bytes() -> None:
    inner = 4_000_000 - len(b'["",NaN]')
    assert len(children(b'["' + b"x" * inner + b'",NaN]') or ()) == 2
    with pytest.raises(UsageError):
        children(b'["' + b"x" * (inner + 1) + b'",NaN]')


def test_standard_json_is_not_read_by_the_slow_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(data: bytes) -> None:
        raise AssertionError(data)

    monkeypatch.setattr(json_path, "_scan_children", refuse)
    assert json.loads(descend(PLAIN, parse_path('$.a["b c"][1][0]'))[0]) == 20
    monkeypatch.setattr(json_path, "children", refuse)
    for path in ("$.list[*]", '$.a["b c"][1:]'):
        _, found, _ = find_elements(PLAIN, parse_path(path))
        assert len(found or ()) == 3
