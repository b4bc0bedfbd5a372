"""A unit of a selection says where it is from and how to read around it."""

import pytest

from keepwhole.recall.selection import SelectedUnit, Selection, units_text
from keepwhole.truncation.recall_link import RecallLink

UNIT = SelectedUnit(
    trace_id="trace_1",
    artifact_id="art_1_x",
    tool="grep",
    summary="grep: x",
    start=3_000,
    stop=3_040,
    first_line=40,
    last_line=44,
    text="five\nlines\n\n",
    score=1.0,
    size=2_048,
)


@pytest.mark.parametrize(
    ("changed", "place", "call"),
    [
        ({}, "lines 40-44", 'get_artifact(id="art_1_x", lines="40-44")'),
        ({"last_line": 40}, "line 40", 'get_artifact(id="art_1_x", lines="40-40")'),
        ({"near": (30, 60)}, "lines 40-44", 'get_artifact(id="art_1_x", lines="30-60")'),
        ({"near": (0, 60)}, "lines 40-44", 'get_artifact(id="art_1_x", lines="40-44")'),
        (
            {"first_line": 1_040, "last_line": 2_040},
            "lines 1,040-2,040",
            'get_artifact(id="art_1_x", lines="1040-2040")',
        ),
        (
            {"in_long_line": True},
            "characters 3,000-3,040",
            'get_artifact(id="art_1_x", start_char=2000, length=2040)',
        ),
        (
            {"in_long_line": True, "start": 900, "stop": 940},
            "characters 900-940",
            'get_artifact(id="art_1_x", start_char=0, length=1940)',
        ),
        (
            {"reachable": RecallLink("art_1_x", "/f.txt", "Read"), "near": (30, 60)},
            "lines 40-44",
            'Read(file_path="/f.txt", offset=30, limit=31)',
        ),
        (
            {"reachable": RecallLink("art_1_x", "/f.txt", "Read"), "in_long_line": True},
            "characters 3,000-3,040",
            'Read(file_path="/f.txt")',
        ),
    ],
)
def test_a_unit_names_its_place_and_the_call_that_reads_around_it(
    changed: dict[str, object], place: str, call: str
) -> None:
    unit = UNIT.replace(**changed)
    assert (unit.place, unit.call) == (place, call)
    assert unit.heading == f"[grep: x; {place} of 2.0 KB; more: {call}]"


def test_units_are_told_one_below_the_other_without_their_empty_ends() -> None:
    two = (UNIT, UNIT.replace(text="more", last_line=40))
    assert Selection(query="x", units=two).text == units_text(two)
    assert (Selection(query="x").units, Selection(query="x").tokens, Selection(query="x").is_all) == ((), 0, True)
    assert units_text(two) == f"{UNIT.heading}\nfive\nlines\n\n{two[1].heading}\nmore\n"
