"""A notice that prints the search for what the question names and the view hides."""

import json
import subprocess
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.config import Settings
from keepwhole.testing import printed_calls
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.question import hidden_name
from tests.build import in_memory

LINES = [f"row {number:05d} of the nightly report, nothing of note\n" for number in range(600)]


def cut_by_lines() -> Session:
    """With the strategy that does not look at the question."""
    limits = TruncationConfiguration(default_strategy="lines")
    return in_memory(settings=Settings(home="unused", policy="truncation", truncation=limits))


def report(*rows: str) -> str:
    return "".join([*LINES[:400], *rows, *LINES[400:]])


def test_the_first_printed_call_brings_the_name_that_was_asked_for() -> None:
    session = cut_by_lines()
    text = report("tenant delta-island-42 pays 7 a month\n")
    shown = session.keep("report", None, text, question="What does delta-island-42 pay?")
    assert "delta-island-42 pays" not in shown.content
    first, last = printed_calls(shown.content)
    assert first.arguments == {"id": shown.artifact_id, "pattern": "delta-island-42"}
    assert "delta-island-42 pays 7" in session.call_tool(first.name, first.arguments).content
    assert last.arguments == {"id": shown.artifact_id}, "the call that reads everything stays"


def test_a_view_that_shows_the_name_prints_no_search() -> None:
    text = "tenant delta-island-42 pays 7 a month\n" + report()
    shown = cut_by_lines().keep("report", None, text, question="What does delta-island-42 pay?")
    assert [sorted(call.arguments) for call in printed_calls(shown.content)] == [["id"]]


def test_plain_words_print_no_search() -> None:
    text = report("the tenant pays 7 a month\n")
    shown = cut_by_lines().keep("report", None, text, question="What does the tenant pay each month?")
    assert [sorted(call.arguments) for call in printed_calls(shown.content)] == [["id"]]


def test_the_rarest_name_is_taken_and_spelled_as_it_stands() -> None:
    hidden = "ERR_17 " * 5 + "Parse_Config "
    assert hidden_name("does parse_config raise err_17?", hidden, "") == "Parse_Config"
    assert hidden_name("does parse_config raise err_17?", hidden, "parse_config") == "ERR_17"
    assert hidden_name("does parse_config raise err_17?", "err_17 " * 21, "") == ""


def test_what_the_call_names_is_searched_for_where_no_question_is_known() -> None:
    session = in_memory()
    text = "Error: fetching report-3 failed\n" + report("retry with the ticket of report-3: TK-9\n")
    shown = session.keep("fetch", {"name": "report-3", "ticket": "none"}, text)
    assert "TK-9" not in shown.content
    first, last = printed_calls(shown.content)
    assert first.arguments == {"id": shown.artifact_id, "pattern": "report-3"}, "though the view shows the name too"
    assert "TK-9" in session.call_tool(first.name, first.arguments).content
    assert last.arguments == {"id": shown.artifact_id}


def test_what_a_call_names_is_not_shown_for_that_and_commands_and_paths_name_nothing() -> None:
    text = report("retry with the ticket of report-3: TK-9\n", "src/a.py failed\n")
    for given in ({"name": "report-3"}, {"command": "fetch report-3"}, {"path": "src/a.py"}, {"mode": "report"}):
        shown = in_memory().keep("fetch", given, text)
        assert "TK-9" not in shown.body
        assert len(printed_calls(shown.content)) == (2 if given == {"name": "report-3"} else 1)


def test_a_name_that_is_everywhere_is_not_searched_for() -> None:
    text = report(*["one more line of report-3\n"] * 4)
    assert len(printed_calls(in_memory().keep("fetch", {"name": "report-3"}, text).content)) == 1


def test_a_preview_prints_the_search_before_what_reads_everything() -> None:
    session = cut_by_lines()
    text = report("retry with the ticket of report-3: TK-9\n", *LINES, *LINES)
    shown = session.keep("fetch", {"name": "report-3", "ticket": "none"}, text)
    assert shown.content.index("specific portions") < shown.content.index("row 00000")
    first, whole, beginning = printed_calls(shown.content)
    assert first.arguments == {"id": shown.artifact_id, "pattern": "report-3"}
    assert "TK-9" in session.call_tool(first.name, first.arguments).content
    assert whole.arguments == {"id": shown.artifact_id}
    assert "lines" in beginning.arguments


@pytest.mark.parametrize("indent", [None, 1])
def test_a_shell_prints_what_belongs_to_the_name_and_no_line_of_any_length(tmp_path: Path, indent: int | None) -> None:
    rows = [{"account": f"acct-{number:04}", "plan": "x" * 20, "quota": number * 3} for number in range(500)]
    settings = Settings(home=str(tmp_path), policy="truncation", recall="path", recall_reader="sed")
    with Session("s", store=SqliteStore(str(tmp_path)), settings=settings) as session:
        shown = session.keep("fetch", {"name": "acct-0266"}, json.dumps(rows, indent=indent)).content
    command = shown.partition('they hold "acct-0266": ')[2].partition("; all of it: ")[0]
    printed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert '"quota": 798' in printed
    assert len(printed) < 700
