"""A notice that prints the search for what the question names and the view hides."""

from keepwhole import Session
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
    assert "lines" in last.arguments, "the call that reads everything left out stays"


def test_a_view_that_shows_the_name_prints_no_search() -> None:
    text = "tenant delta-island-42 pays 7 a month\n" + report()
    shown = cut_by_lines().keep("report", None, text, question="What does delta-island-42 pay?")
    assert [sorted(call.arguments) for call in printed_calls(shown.content)] == [["id", "lines"]]


def test_plain_words_print_no_search() -> None:
    text = report("the tenant pays 7 a month\n")
    shown = cut_by_lines().keep("report", None, text, question="What does the tenant pay each month?")
    assert [sorted(call.arguments) for call in printed_calls(shown.content)] == [["id", "lines"]]


def test_the_rarest_name_is_taken_and_spelled_as_it_stands() -> None:
    hidden = "ERR_17 " * 5 + "Parse_Config "
    assert hidden_name("does parse_config raise err_17?", hidden, "") == "Parse_Config"
    assert hidden_name("does parse_config raise err_17?", hidden, "parse_config") == "ERR_17"
    assert hidden_name("does parse_config raise err_17?", "err_17 " * 21, "") == ""
