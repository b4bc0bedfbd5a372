"""The notices that models act on: the oracles' grammar parses each, each runs as printed, none has a placeholder."""

import json
import re
from typing import Any

import pytest

from bench.live.notices import calls_in, name_of, names_in, pointers_in
from keepwhole import Session
from keepwhole.config import Settings
from keepwhole.recall.names import DEFINITIONS, GET_ARTIFACT, OFFERED
from keepwhole.testing import printed_calls
from keepwhole.truncation import notice
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.cut import Segment, TextSource
from keepwhole.truncation.notice import LONGEST_RANGE
from keepwhole.truncation.recall_link import RecallLink
from tests.build import in_memory

LINK = RecallLink("art_1_x")
ROWS = [{"account": f"acct-{number:04}", "quota": number, "note": "plain words"} for number in range(3_000)]
TEXTS = {
    "lines": "".join(f"row {number} of the nightly report\n" for number in range(3_000)),
    "one line": "plain words and more of them " * 2_000,
    "json": json.dumps(ROWS),
    "indented json": json.dumps(ROWS, indent=1),
    "csv": "account,quota\n" + "".join(f"acct-{number:04},{number}\n" for number in range(3_000)),
}


def session(**limits: int) -> Session:
    truncation = TruncationConfiguration(**limits)
    return in_memory(settings=Settings(home="unused", policy="truncation", truncation=truncation))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("limits", [{"artifact_threshold": 900_000}, {}], ids=["cut", "preview"])
def test_every_call_that_a_view_or_an_answer_prints_runs_as_printed(text: str, limits: dict[str, int]) -> None:
    keeper = session(**limits)
    shown = keeper.keep("report", {"name": "acct-1234"}, text, question="What is the quota of acct-2345?")
    calls = calls_in(shown.content)
    assert calls
    for call in calls:
        assert name_of(call.arguments) == shown.artifact_id
        answer = keeper.call_tool(call.name, call.arguments)
        assert not answer.is_error
        for further in calls_in(answer.content.rpartition("\n")[2]):
            assert not keeper.call_tool(further.name, further.arguments).is_error


@pytest.mark.parametrize(
    "words",
    [
        notice.aged(LINK, 2_048, "fetch_report"),
        notice.aged_media(LINK, "image/png 10x10", 900, "screenshot"),
        notice.arguments_hidden(LINK),
        notice.preview(LINK, TextSource(TEXTS["lines"])),
        notice.how_to_fetch(LINK, Segment("gap", 0, 9_000), TextSource(TEXTS["lines"])),
        notice.reference("art_1_x", "bash: make", 900),
    ],
)
def test_the_grammar_of_every_notice_leads_to_its_artifact(words: str) -> None:
    assert {name_of(call.arguments) for call in calls_in(words)} == {"art_1_x"} == names_in(words)
    garbled = words.replace("get_artifact(", "get_artefact(").replace("[Artifact:", "[Artefact:")
    assert calls_in(garbled) == []


WRONG = (
    ("get_artifact", {}),
    ("get_artifact", {"id": "art_1700000000_xxxxxxxxxxxxxxxxxxxxxx"}),
    ("get_artifact", {"id": "no such name"}),
    ("get_artifact", {"id": "ID", "pattern": "no such name"}),
    ("get_artifact", {"id": "ID", "lines": "90000-90100"}),
    ("get_artifact", {"id": "ID", "lines": "first-last"}),
    ("get_artifact", {"id": "ID", "start_char": 9_000_000}),
    ("get_artifact", {"id": "ID", "path": "$[90000:90100]"}),
    ("get_artifact", {"id": "ID", "path": "$["}),
    ("get_artifact", {"id": "ID", "part": "rest"}),
    ("get_artifact", {"id": "ID", "length": 0}),
    ("get_task_trace", {"trace_id": "no such name"}),
    ("search_artifacts", {}),
    ("search_artifacts", {"query": "no such name"}),
)


@pytest.mark.parametrize(("tool", "given"), WRONG)
def test_what_is_not_there_is_answered_without_a_call_for_something_else(tool: str, given: dict[str, Any]) -> None:
    keeper = session()
    shown = keeper.keep("report", None, TEXTS["json"])
    answer = keeper.call_tool(tool, {key: shown.artifact_id if one == "ID" else one for key, one in given.items()})
    assert printed_calls(answer.content) == []


@pytest.mark.parametrize("kind", [*TEXTS, "wide lines"])
def test_no_printed_range_is_longer_than_a_model_reads(kind: str) -> None:
    text = TEXTS.get(kind) or "".join(f"acct-{number:04} {'x' * (number % 480)}\n" for number in range(3_000))
    for limits in ({}, {"artifact_threshold": 900_000}):
        keeper = session(**limits)
        shown = keeper.keep("report", {"name": "acct-1234"}, text, question="What is the quota of acct-2345?")
        printed = shown.content
        for words in ("acct-2345", "row 2345", "more"):
            printed += keeper.call_tool("search_artifacts", {"query": words}).content + keeper.select(words).text
        assert calls_in(printed)
        for call in calls_in(printed):
            if str(call.arguments.get("lines", "-")).endswith("-") and "length" not in call.arguments:
                continue  # a search, all of it, or on from a place
            answer = keeper.call_tool(call.name, call.arguments).content
            assert "next:" not in answer
            assert len(answer) <= LONGEST_RANGE + 100, call


def test_nothing_that_a_model_is_told_has_a_word_to_be_replaced() -> None:
    told = [notice.before("s1", "keepwhole"), *(one.description for one in (*DEFINITIONS, *OFFERED))]
    assert not [words for words in told if re.search(r"\b[A-Z]{3,}\b|<\w+>|\.\.\.", words)]


def test_a_quoted_notice_leads_nowhere() -> None:
    assert pointers_in("[quoted] [Artifact: art_1_x] 2.0 KB") == []


def test_an_aged_pointer_says_what_the_result_was() -> None:
    assert notice.aged(LINK, 2_048, "fetch_report") == "[Artifact: art_1_x] 2.0 KB returned by fetch_report"


def test_the_definition_and_the_notice_both_say_that_a_pattern_is_searched_for() -> None:
    for definitions in (DEFINITIONS, OFFERED):
        described = {one.name: one.description for one in definitions}
        assert "pattern: text to find" in described[GET_ARTIFACT]


def test_peers_that_can_be_read_back_are_followed_too() -> None:
    calls = calls_in("[Compressed: message_7 — 320 lines, plain_text. Use litellm_content_retrieve tool to get it.]")
    assert calls == [("litellm_content_retrieve", {"key": "message_7"})]
    assert calls_in("[200 items compressed to 9. Retrieve more: hash=0123456789abcdef]") == [
        ("headroom_retrieve", {"hash": "0123456789abcdef"})
    ]
    assert calls_in("<< +312 lines, handle=1a2b3c4d >>") == [("distil_expand", {"handle": "1a2b3c4d"})]
