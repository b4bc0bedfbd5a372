"""Units of any text: they cover it without holes, none is too long, and each kind of text has its own."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.truncation.unit_bounds import unit_bounds

KINDS = ("json", "ndjson", "csv", "xml", "diff", "log", "code", "search", "listing", "text")


def units(text: str, longest: int = 800) -> list[str]:
    return [text[start:stop] for start, stop in pairwise(unit_bounds(text, longest=longest))]


@given(st.text(alphabet=st.sampled_from('ab{}[]",:\n\r <>/@-+=.é漢🙂\u0301'), max_size=600), st.sampled_from(KINDS))
def test_units_cover_any_text_taken_for_any_kind(text: str, kind: str) -> None:
    bounds = unit_bounds(text, kind, longest=64)
    assert (bounds[0], bounds[-1]) == (0, len(text))
    assert all(start < stop for start, stop in pairwise(bounds)) or not text


@pytest.mark.parametrize("text", ["word " * 2_000, "x" * 9_000, json.dumps(["y" * 5_000, {"z": "w" * 5_000}])])
def test_no_unit_is_longer_than_asked_for(text: str) -> None:
    assert max(map(len, units(text, 300))) <= 300


def test_units_of_json_are_its_elements_however_deep() -> None:
    data = {"page": 1, "groups": [{"items": [{"id": n, "note": "w" * 90} for n in range(20)]} for _ in range(3)]}
    found = units(json.dumps(data))
    assert sum(unit.count('"id"') == 1 for unit in found) >= 57


def test_a_short_object_is_one_unit() -> None:
    assert len(units(json.dumps({f"key{n}": n for n in range(40)}))) == 1


def test_units_of_csv_are_records_even_over_several_lines() -> None:
    text = 'id,day,note\n1,monday,"two\nlines"\n2,tuesday,one\n' + "".join(f"{n},friday,row\n" for n in range(3, 30))
    assert '1,monday,"two\nlines"\n' in units(text)


def test_units_of_a_log_are_events_with_the_lines_that_hang_on_them() -> None:
    text = "".join(f"2026-01-01 10:00:{n:02d} ERROR it broke {n}\n    at run (main.ts:{n})\n" for n in range(40))
    assert units(text)[7] == "2026-01-01 10:00:07 ERROR it broke 7\n    at run (main.ts:7)\n"


def test_units_of_a_diff_are_hunks() -> None:
    hunks = "".join(f"@@ -{n},2 +{n},2 @@\n-old {n}\n+new {n}\n" for n in range(1, 60, 3))
    found = units(f"diff --git a/x b/x\n--- a/x\n+++ b/x\n{hunks}")
    assert "@@ -4,2 +4,2 @@\n-old 4\n+new 4\n" in found


def test_units_of_xml_are_elements_with_their_tags() -> None:
    text = "<root>" + "".join(f"<item id='{n}'><name>{'w' * 300}</name></item>" for n in range(20)) + "</root>"
    assert all(unit.lstrip().startswith("<") for unit in units(text))


def test_a_heading_stays_with_what_follows_it() -> None:
    text = "".join(f"Heading {n}\n\n{'Some words of a paragraph. ' * 12}\n\n" for n in range(8))
    assert all(unit.startswith("Heading") for unit in units(text))


def test_events_of_a_text_with_other_line_ends_are_its_lines() -> None:
    text = "".join(f"09:00:0{number} INFO start\r  more of it\r" for number in range(9))
    assert list(unit_bounds(text, "log"))[:3] == [0, len("09:00:00 INFO start\r"), len(text) // 9]
    units_by_event = list(unit_bounds(text.replace("\r", "\n"), "log"))
    assert units_by_event[:2] == [0, len(text) // 9]
