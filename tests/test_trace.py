"""Everything that the five documents ask has a test, and the pages that say so are fresh."""

import pytest

from docs.trace import pages as trace


def test_everything_that_is_asked_has_a_test() -> None:
    assert trace.untested() == []


def test_the_pages_are_fresh() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in trace.FOLDER.glob("*.md")}
    assert written == trace.pages(), "docs/reference/trace is stale: run `make docs`"


def test_the_criteria_and_qualities_of_the_truncation_document_are_all_there() -> None:
    (table,) = (table for table in trace.tables() if table.name == "truncation")
    asked = " ".join(row.id for row in table.rows)
    for kind, last in (("FR", 75), ("AC", 70), ("NFR", 19), ("scenario", 6)):
        sign = " " if kind == "scenario" else "-"
        width = 1 if kind == "scenario" else 3
        assert all(f"{kind}{sign}{number:0{width}d}" in asked for number in range(1, last + 1)), kind
    assert sum(row.id == "list of tests" for row in table.rows) == 21


def test_there_is_a_table_for_each_document() -> None:
    assert {table.name for table in trace.tables()} >= {"retention", "rolling", "truncation", "canonical", "contexts"}


@pytest.mark.parametrize("line", ["T1 | asked", "T1 | asked | test_that_is_nowhere", "T1 | asked | test_nowhere_*"])
def test_a_row_without_a_test_is_found(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "tables", lambda: (trace.read_table("made_up", f"# Made up\n\n{line}"),))
    assert len(trace.untested()) == 1
    with pytest.raises(LookupError, match="made_up T1"):
        trace.pages()


def test_a_name_in_a_table_is_of_one_test() -> None:
    """A page would name all of them, also those that show something else."""
    names = {name for table in trace.tables() for row in table.rows for name, _ in trace.showing_tests(row)}
    assert {name: trace.tests()[name] for name in names if len(trace.tests()[name]) > 1} == {}


def test_every_reason_is_one_sentence() -> None:
    reasons = [row.reason for table in trace.tables() for row in table.rows if row.reason]
    assert [reason for reason in reasons if ". " in reason or len(reason) > 200] == []
