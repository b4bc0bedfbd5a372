"""Large JSON is read in short steps, and means the same as read at once: also where a step ends inside a number."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical import json_members, json_steps, json_text
from keepwhole.canonical.json_members import LargeContainer, members_from
from keepwhole.canonical.json_steps import value_stop
from keepwhole.canonical.json_text import find_strings, read_in_large_text, read_value

_FAILURES = (ValueError, StopIteration, IndexError, RecursionError)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5), max_leaves=30
)
spellings = st.sampled_from(
    [{}, {"indent": 2}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"separators": (" ,\r\n", " :  ")}]
)
broken = st.text(alphabet='[]{}",: 01-.eE\\u/nNaItrufls\n\x01é', max_size=40)


@pytest.fixture(params=[18, 19, 40], autouse=True)
def _short_steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text is large; no step is shorter than three escapes."""
    monkeypatch.setattr(json_steps, "_SHORT", -1)
    for module, name in ((json_steps, "_STEP"), (json_text, "_STEP"), (json_members, "_PART")):
        monkeypatch.setattr(module, name, request.param)


def stop_at_once(text: str) -> int | None:
    """Where the value at the beginning ends; None where there is none."""
    try:
        return json.JSONDecoder().scan_once(text, 0)[1]  # type: ignore[attr-defined]
    except _FAILURES:
        return None


def stop_in_steps(text: str) -> int | None:
    try:
        return value_stop(text, 0)
    except _FAILURES:
        return None


def read(reader: Callable[[str, int], tuple[Any, int]], text: str) -> tuple[Any, int] | None:
    try:
        value, stop = reader(text, 1)
    except _FAILURES:
        return None
    return repr(value), stop


def spans(found: Any) -> list[tuple[int, int, int]]:
    return [(member.start, member.value, member.stop) for member in found]


@given(value=values, spelling=spellings, after=st.sampled_from(["", " ", ",1", "]", "0", ".", "e"]))
def test_a_value_ends_where_it_does_for_python(value: Any, spelling: dict[str, Any], after: str) -> None:
    text = json.dumps(value, **spelling) + after
    assert stop_in_steps(text) == stop_at_once(text)


@given(text=broken | values.map(json.dumps).flatmap(lambda text: st.sampled_from([text[:-1], text[1:], text + "]"])))
def test_what_python_refuses_is_refused(text: str) -> None:
    assert stop_in_steps(text) == stop_at_once(text)


@pytest.mark.parametrize(
    "text", [r'["\q"]', '["\x1f"]', "[01]", "[1.]", "[-]", "[1,]", '{"a":1,}', "[1 2]", r'["\u12g4"]']
)
def test_known_mistakes_are_refused(text: str) -> None:
    assert stop_in_steps(text) is stop_at_once(text) is None


@given(value=st.lists(values) | st.dictionaries(st.text(), values), spelling=spellings)
def test_the_members_of_a_large_container_are_those_of_a_small_one(value: Any, spelling: dict[str, Any]) -> None:
    text = json.dumps(value, **spelling)
    large = LargeContainer(text, 0, len(text), {})
    small = members_from(text, 0)[0]
    assert len(large) == len(small)
    assert spans(large) == spans(small) == spans(large[:])
    assert spans(large[number - len(small)] for number in range(len(small))) == spans(small)


@given(opening=st.sampled_from("[{"), rest=broken.filter(bool))
def test_a_broken_container_has_no_members(opening: str, rest: str) -> None:
    text = opening + rest
    stop = stop_at_once(text)
    if stop == len(text):
        LargeContainer(text, 0, len(text), {})
        return
    with pytest.raises(_FAILURES):
        LargeContainer(text, 0, len(text), {})


@given(text=st.text(alphabet='"\\ab\n', max_size=60))
def test_strings_are_the_same_in_steps(text: str) -> None:
    found, at = list[tuple[int, int]](), text.find('"')
    while at >= 0:
        stop = at + 1
        while stop < len(text) and text[stop] != '"':
            stop += 2 if text[stop] == "\\" else 1
        found.append((at, stop := min(stop + 1, len(text))))
        at = text.find('"', stop)
    assert list(find_strings(text)) == found


@given(value=values, spelling=spellings, after=st.sampled_from(["", " ", ",1", "]", "0", "."]))
def test_a_value_is_read_in_steps_as_at_once(value: Any, spelling: dict[str, Any], after: str) -> None:
    text = "," + json.dumps(value, **spelling) + after
    assert read(read_in_large_text, text) == read(read_value, text)


@given(text=broken | st.text(alphabet='"\\u0dD8cEn😀', max_size=60).map('"{}"'.format))
def test_what_cannot_be_read_at_once_cannot_be_read_in_steps(text: str) -> None:
    assert read(read_in_large_text, f",{text}") == read(read_value, f",{text}")


def test_what_is_too_deep_is_refused() -> None:
    with pytest.raises(RecursionError):
        value_stop("[" * 2_000 + "]" * 2_000, 0)
    assert value_stop("[" * 800 + "]" * 800, 0) == 1_600
