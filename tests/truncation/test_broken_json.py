"""JSON that was broken off is cut by its structure up to where it is whole; what its harness said behind it stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole import truncate
from keepwhole.canonical.json_members import NotJson
from keepwhole.truncation.broken_json import begins_json, cut_broken, whole_part

HITS = json.dumps({"total": 900, "hits": [{"id": number, "at": f"city {number}"} for number in range(900)]})


@pytest.mark.parametrize(
    ("text", "stop", "closing"),
    [
        ("[1, 2", 2, "]"),
        ("[1, 2]", 6, ""),
        ("[1, 2] and more", 6, ""),
        ("[[1], [2", 7, "]]"),
        ('{"a": "b}", "c": [', 18, "]}"),
        ('{"a": "\\"}", "b": 1', 11, "}"),
        ('{"a": "never en', 1, "}"),
        ('{"a": 1, "b"\n[cut]', 7, "}"),
        ('{"a": 1, "b": 12\n[cut]', 7, "}"),
        ('{"a": [true]\n{cut}, sorry', 12, "}"),
        ('{"a": 1, "b": 12\ncut, sorry', 7, "}"),
        ('[null, -1.5e3\n"cut", sorry', 5, "]"),
    ],
)
def test_a_text_is_whole_up_to_its_last_bracket_or_comma(text: str, stop: int, closing: str) -> None:
    assert whole_part(text) == (stop, closing)


@pytest.mark.parametrize("text", ["", "words", '"only a string', "]", "[1}", ", 1"])
def test_what_does_not_begin_as_json_has_no_whole_part(text: str) -> None:
    assert (whole_part(text) or (0, ""))[0] == 0 or not begins_json(text)
    assert not begins_json(text)


@given(st.integers(1, len(HITS)))
def test_wherever_it_is_broken_off_the_part_that_is_whole_parses(at: int) -> None:
    part = whole_part(HITS[:at])
    assert part is not None
    stop, closing = part
    assert stop <= at
    json.loads(HITS[:stop] + closing)


@pytest.mark.parametrize(
    "said", ["\n[output truncated]", "\n{3 items, omitted}", "\ntruncated, sorry", '"…", she said', ""]
)
@given(at=st.integers(len(HITS) // 2, len(HITS) - 1))
def test_wherever_it_is_broken_off_it_is_known_whatever_its_harness_says_behind_it(said: str, at: int) -> None:
    assert begins_json(HITS[:at] + said)


def test_half_of_a_text_has_to_be_json() -> None:
    assert begins_json("[1,2," + "x" * 3)
    assert not begins_json("[1,2," + "x" * 4)
    assert begins_json("[1,2]" + "x" * 5)
    assert not begins_json("[1,2]" + "x" * 6)
    assert not begins_json("[1,oops]")


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_nothing_is_nested_deeper_than_200_times(opening: str) -> None:
    depth = 200 // (opening.count("[") + opening.count("{"))
    assert whole_part(opening * depth) is not None
    assert whole_part(opening * (depth + 1)) is None


def test_json_that_is_not_broken_is_not_cut_here() -> None:
    for text in (HITS, "words", "[1,2]" + "x" * 6):
        with pytest.raises(NotJson):
            cut_broken(text, 500, lambda *_: None)


def test_what_comes_behind_the_break_is_shown_whole_up_to_a_quarter_of_the_room() -> None:
    broken = HITS[: len(HITS) // 2]
    said = "\n[output truncated by the harness]"
    shown = truncate(broken + said, 1_000, tool="bash")
    assert len(shown) <= 1_000
    assert said.strip() in shown
    assert '"total": 900' in shown
    long = "\n".join(f"said {number}" for number in range(300))
    shown = truncate(f"{broken}\n{long}", 1_000, tool="bash")
    assert len(shown) <= 1_000
    assert "said 299" in shown
    assert "said 100\n" not in shown
    assert '"total": 900' in shown
