"""A table that a shell's wrapper prints something before: its header stays, and its rows are addressed."""

import csv
import json

import pytest

import keepwhole
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.rows import record_bounds
from keepwhole.truncation.sniff import sniff

BEFORE = {
    "Claude Code": "Exit code 1\n",
    "Codex": "Exit code: 0\nWall time: 0.2 seconds\nOutput:\n",
    "Codex, long": (
        "Chunk ID: 1a2b\nWall time: 0.2 seconds\nProcess exited with code 0\nOutput:\nTotal output lines: 3001\n\n"
    ),
    "Gemini": "Command: cat a.csv\nDirectory: (root)\nOutput: ",
}
TABLES = {
    "two columns": "id,score\n" + "".join(f"{n},{n * 7}\n" for n in range(3_000)),
    "tabs": "city\tinhabitants\n" + "".join(f"city {n}\t{n * 70}\n" for n in range(2_000)),
    "quoted": "id,name,note\n" + "".join(f'{n},"a, b {n}","two\nlines"\n' for n in range(1_500)),
    "no quotes": "id,name,note\n" + "".join(f"{n},name {n},note of {n}\n" for n in range(6_000)),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_the_header_stays_and_rows_are_whole(before: str, table: str) -> None:
    text = before + table
    assert sniff(TextSource(text)) == "csv"
    shown = keepwhole.truncate(text, limit=4_000, tool="bash")
    assert shown.startswith(before + table.split("\n")[0] + "\n")
    rows = list(csv.reader(shown[len(before) :].splitlines(keepends=True), delimiter="\t" if "\t" in table else ","))
    known = list(csv.reader(table.splitlines(keepends=True), delimiter="\t" if "\t" in table else ","))
    assert sum(row in known for row in rows) > 20


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_rows_and_columns_are_addressed(before: str) -> None:
    with keepwhole.session("tables") as s:
        kept = s.keep("bash", {"command": "cat a.csv"}, before + TABLES["no quotes"])
        rows = s.call_tool("get_artifact", {"id": kept.artifact_id, "path": "$[10:12]"}).content
        assert "id,name,note\n10,name 10,note of 10\n11,name 11,note of 11" in rows
        column = s.call_tool("get_artifact", {"id": kept.artifact_id, "path": "$[5999].note"}).content
        assert "note of 5999" in column
        found = s.call_tool("get_artifact", {"id": kept.artifact_id, "pattern": "name 777,"}).content
        assert "id,name,note" in found
        assert "777,name 777,note of 777" in found


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_values_of_json_are_addressed(before: str) -> None:
    value = {"rows": [{"id": n, "name": f"item {n}"} for n in range(9_000)]}
    with keepwhole.session("wrapped") as s:
        kept = s.keep("bash", {"command": "cat a.json"}, before + json.dumps(value))
        assert "item 700" in s.call_tool("get_artifact", {"id": kept.artifact_id, "path": "$.rows[700]"}).content


def test_columns_in_capitals_are_named_behind_a_wrapper() -> None:
    table = "NAME READY STATUS\n" + "".join(f"pod-{n} 1/1 Running\n" for n in range(900))
    with keepwhole.session("pods") as s:
        kept = s.keep("bash", {"command": "kubectl get pods"}, BEFORE["Codex"] + table)
        found = s.call_tool("get_artifact", {"id": kept.artifact_id, "pattern": "pod-500 "}).content
        assert "NAME READY STATUS" in found


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("name", ["quoted", "no quotes"])
def test_records_begin_at_the_beginning_of_the_text_and_the_wrapper_belongs_to_the_header(
    name: str, before: str
) -> None:
    bounds = record_bounds(before + TABLES[name], "\n", quoted=True)
    assert list(bounds[:2]) == [0, len(before) + TABLES[name].index("\n") + 1]
