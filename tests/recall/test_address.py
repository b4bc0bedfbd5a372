"""Addresses inside JSON, NDJSON and CSV: what they lead to, in pages, without the rest."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole import Session
from keepwhole.config import Settings
from keepwhole.recall.json_path import IndexStep, KeyStep, SliceStep, parse_path, path_text
from keepwhole.testing import printed_calls
from tests.build import in_memory

ITEMS = [{"name": f"n{n}", "tags": [n, n + 1], "a key": {"deep": "x" * 40}} for n in range(400)]
DATA = {"meta": {"count": 400}, "items": ITEMS, "text": "one\ntwo\n" * 400}


def paged(limit: int = 2_000) -> Session:
    return in_memory(settings=Settings(home="unused", retrieval_limit=limit, policy="truncation"))


def at(text: str, path: str, limit: int = 2_000, **more: object) -> str:
    session = paged(limit)
    shown = session.keep("api", None, text)
    answer = session.call_tool("get_artifact", {"id": shown.trace_id, "path": path, **more})
    assert len(answer.content) <= limit
    return answer.content


def body(answer: str) -> Any:
    return json.loads(answer.rpartition("\n[")[0])


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.meta", {"count": 400}),
        ("meta.count", 400),
        ("$.items[3].name", "n3"),
        ('$.items[-1]["a key"].deep', "x" * 40),
        ("$['meta']['count']", 400),
    ],
)
def test_one_value_is_given_as_it_is_written(path: str, value: Any, indent: int | None) -> None:
    answer = at(json.dumps(DATA, indent=indent), path)
    assert answer == value if isinstance(value, str) else json.loads(answer) == value


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$.items[40:43].name", ["n40", "n41", "n42"]),
        ("$.items[-2:].tags[0]", [398, 399]),
        ("$.items[1:3].tags[*]", [[1, 2], [2, 3]]),
        ("$.items[0:2].nothing", [None, None]),
        ("$.meta[*]", [400]),
        ("$.items[10:10].name", []),
    ],
)
def test_a_slice_returns_a_json_array_of_its_elements(path: str, values: list[Any]) -> None:
    assert body(at(json.dumps(DATA), path)) == values


def test_following_the_printed_calls_reads_every_element_once() -> None:
    session = paged(1_000)
    shown = session.keep("api", None, json.dumps(DATA))
    arguments, names = {"id": shown.artifact_id, "path": "$.items[*].name"}, list[str]()
    while arguments:
        answer = session.call_tool("get_artifact", arguments).content
        assert len(answer) <= 1_000
        names += body(answer)
        calls = printed_calls(answer.rpartition("\n[")[2])
        arguments = calls[-1].arguments if calls else {}
    assert names == [item["name"] for item in ITEMS]


def test_an_array_that_is_too_long_is_paged_by_its_elements() -> None:
    answer = at(json.dumps(DATA), "$.items")
    assert body(answer) == ITEMS[: len(body(answer))]
    assert printed_calls(answer)[-1].arguments["path"].startswith(f"$.items[{len(body(answer))}:")


def test_an_object_that_is_too_long_is_told_by_its_keys() -> None:
    answer = at(json.dumps(DATA), "$")
    assert '"items": array, ' in answer
    assert "3 of 3 keys" in answer
    assert printed_calls(answer)[-1].arguments["path"] == "$.items"


def test_a_json_string_is_read_as_its_decoded_text_by_lines() -> None:
    assert at(json.dumps(DATA), "$.text", lines="2-3").startswith(
        "two\none\n[lines 2-3 of 800, all that was asked for]"
    )
    assert at(json.dumps(DATA), "$.text", pattern="two").startswith("2: two\n4: two\n")


def test_an_element_that_is_longer_than_a_page_is_paged_by_characters() -> None:
    session = paged(1_000)
    shown = session.keep("api", None, json.dumps([{"a": "b" * 5_000}, 2]))
    arguments, text = {"id": shown.trace_id, "path": "$[0:2].a"}, ""
    while arguments:
        answer = session.call_tool("get_artifact", arguments).content
        part, _, note = answer.rpartition("[characters")
        text += part.rstrip("\n")
        calls = printed_calls(note)
        arguments = calls[-1].arguments if calls else {}
    assert text == "b" * 5_000


def test_elements_of_elements_that_are_endless_are_addressed_one_by_one() -> None:
    session = in_memory(settings=Settings(home="unused", retrieval_limit=500_000, policy="truncation"))
    shown = session.keep("api", None, json.dumps([[1] * 300_000, [2]]))
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "path": "$[*][*]"}).content
    assert set(body(answer)) == {1}
    assert printed_calls(answer)[-1].arguments["path"] == f"$[0][{len(body(answer))}:300000]"


def test_too_many_values_are_refused_with_what_to_do() -> None:
    assert "Give a pattern or lines" in at("[" + "1," * 2_100_000 + "1]", "$[5]")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("$.nope", 'There is no key "nope" at $. There are: "meta", "items", "text".'),
        ("$.items[400]", "There is no element 400 at $.items: it has 400, the last at $.items[399]."),
        (
            "$.items.name",
            'What is at $.items is an array, so it has no key "name". Give an element, such as $.items[0].',
        ),
        ("$.meta.count[*]", "neither array nor object"),
        ("$.items[?(@.a)]", "is not an address"),
        ("$..name", "is not an address"),
        ("$" + "[0]" * 200, "is not an address"),
    ],
)
def test_an_address_that_leads_nowhere_says_what_there_is(path: str, says: str) -> None:
    answer = at(json.dumps(DATA), path)
    assert says in answer


def test_what_only_python_calls_json_is_addressed_too() -> None:
    assert at('{"a": [NaN, 1, Infinity], "b": "\\ud800"}', "$.a[0:2]").startswith("[\nNaN,\n1\n]")


@pytest.mark.parametrize("text", ["plain text", "<a><b/></a>", "", "{not json"])
def test_a_text_without_addresses_is_reported(text: str) -> None:
    assert "path" in at(text, "$.a")


def test_rows_of_a_table_come_with_their_header() -> None:
    text = "id,name,note\r\n" + "".join(f'{n},n{n},"a, ""b""\r\n{n}"\r\n' for n in range(300))
    answer = at(text, "$[7:9]")
    head, _, note = answer.rpartition("\n[")
    assert list(csv.reader(io.StringIO(head))) == [
        ["id", "name", "note"],
        *([str(n), f"n{n}", f'a, "b"\r\n{n}'] for n in (7, 8)),
    ]
    assert note.startswith("rows 7-8 of 300")
    assert at(text, "$[298:].name").startswith("name\nn298\nn299\n[rows 298-299 of 300")
    assert at(text, "$[-1].id") == "299"
    assert "There is no such column" in at(text, "$[0].nope")
    assert "There is no row 300" in at(text, "$[300]")


def test_records_of_ndjson_are_counted_from_zero() -> None:
    text = "".join(json.dumps({"n": n, "word": "hello"}) + "\n" for n in range(500))
    assert body(at(text, "$[3:6].n")) == [3, 4, 5]
    assert json.loads(at(text, "$[-1]")) == {"n": 499, "word": "hello"}
    assert "There is no record 500" in at(text, "$[500]")


names = st.text(min_size=1, max_size=12)
steps = st.one_of(
    names.map(KeyStep),
    st.integers(-99, 99).map(IndexStep),
    st.builds(SliceStep, st.none() | st.integers(-9, 9), st.none() | st.integers(-9, 9)),
)


@given(st.lists(steps, max_size=6))
def test_any_address_is_read_back_as_it_was_written(path: list[Any]) -> None:
    assert parse_path(path_text(path)) == path


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_is_refused(text: str) -> None:
    session = paged()
    shown = session.keep("api", None, "[1]")
    answer = session.call_tool("get_artifact", {"id": shown.trace_id, "path": text})
    assert answer.content
    assert answer.is_error or text.strip() == "" or parse_path(text) is not None


leaves = st.none() | st.integers() | st.text(max_size=8)
twigs = leaves | st.lists(leaves, max_size=3) | st.dictionaries(st.text(max_size=5), leaves, max_size=3)
branches = twigs | st.lists(twigs, max_size=3) | st.dictionaries(st.text(max_size=5), twigs, max_size=3)
trees = branches | st.lists(branches, max_size=3)


@settings(max_examples=60)
@given(trees, st.booleans())
def test_every_value_of_any_json_is_found_by_its_address(tree: Any, spaced: bool) -> None:
    session = paged(32_000)
    tree = {"root": tree}
    shown = session.keep("api", None, json.dumps(tree, indent=2 if spaced else None, ensure_ascii=spaced))
    for path, value in _walked(tree, []):
        answer = session.call_tool("get_artifact", {"id": shown.trace_id, "path": path_text(path)}).content
        assert answer == value if isinstance(value, str) else json.loads(answer) == value


def _walked(value: Any, path: list[Any]) -> list[tuple[list[Any], Any]]:
    found = [(path, value)]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _walked(inner, [*path, KeyStep(key)])
    if isinstance(value, list):
        for number, inner in enumerate(value):
            found += _walked(inner, [*path, IndexStep(number)])
    return found


def test_a_mark_of_the_byte_order_before_json_counts_for_nothing() -> None:
    assert at("\ufeff" + json.dumps(DATA), "$.meta") == '{"count": 400}'


@pytest.mark.parametrize(("written", "name"), [(r'$["a\u0062"]', "ab"), (r'$["a\x"]', r"a\x"), ("$['a\\x']", r"a\x")])
def test_a_quoted_key_is_read_as_json_or_else_as_it_is_written(written: str, name: str) -> None:
    assert parse_path(written) == [KeyStep(name)]
