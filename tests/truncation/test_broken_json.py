"""JSON that was broken off is cut by its structure up to where it is whole; what its harness said behind it stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole import truncate
from keepwhole.canonical.json_members import NotJson
from keepwhole.truncation.broken_json import begins_json, cut_broken, whole_part
from keepwhole.truncation.cut import Cut, TextSource, render, whole

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


def test_numbers_and_words_that_json_does_not_have_are_no_json() -> None:
    assert begins_json("[10, 20, 30, ")
    assert not begins_json("[01, 02, 03, ")


def cut_whole(text: str, budget: int) -> Cut | None:
    """JSON that is shown whole or not at all."""
    return whole(len(text)) if len(text) <= budget else None


@pytest.mark.parametrize(
    ("text", "budget", "shown"),
    [
        ("[[1], [2]", 10, "[[1], [2]"),
        ("[[1], [2]", 9, "[[1], [2]"),
        ("[[1], [2]", 8, None),
        ("[[1], [2]\ncut", 30, "[[1], [2]\ncut"),
        ('{"a": [1, 2, 3, 4, 5]} and so on', 200, '{"a": [1, 2, 3, 4, 5]} and so on'),
    ],
)
def test_what_is_broken_off_is_shown_without_the_brackets_that_it_lacks(
    text: str, budget: int, shown: str | None
) -> None:
    cut = cut_broken(text, budget, cut_whole)
    assert (None if cut is None else render(cut, TextSource(text))) == shown


@pytest.mark.parametrize("text", ["[[1], [2]]", "[1, 2] and much more than half", "words"])
def test_what_is_whole_or_mostly_no_json_is_not_cut_as_broken_json(text: str) -> None:
    with pytest.raises(NotJson):
        cut_broken(text, 100, cut_whole)


def test_of_a_long_text_behind_broken_json_the_last_whole_lines_are_shown() -> None:
    json_part = "[" + ", ".join(["[1]"] * 400)
    said = "".join(f"\nline {number} of what was said" for number in range(60))
    cut = cut_broken(json_part + said, 3_000, cut_whole)
    assert cut is not None
    shown = render(cut, TextSource(json_part + said))
    assert shown.startswith(json_part)
    assert shown.endswith("\nline 59 of what was said")
    assert "omitted" in shown
    last = shown.partition("omitted")[2].partition("\n")[2]
    assert last in said
    assert last.startswith("line ")
