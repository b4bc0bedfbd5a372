"""Recall: whatever a view leaves out comes back with one call, and every call that we print runs as printed."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole import MemoryStore, Session
from keepwhole.canonical.utf8 import showable
from keepwhole.config import Settings
from keepwhole.recall.answer import RecallAnswer
from keepwhole.record.kept_result import KeptResult
from keepwhole.testing import PrintedCall, printed_calls
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.strategy import STRATEGIES
from tests.build import in_memory, numbered_lines
from tests.promises import conversations as talk
from tests.promises.recorded_outputs import NAMES, read_output


def run(session: Session, call: PrintedCall) -> RecallAnswer:
    answer = session.call_tool(call.name, call.arguments)
    assert not answer.is_error, (call, answer.content)
    assert len(answer.content) <= session.settings.retrieval_limit
    return answer


def check_every_gap(session: Session, shown: KeptResult) -> None:
    """Any place that is not shown is in the answer to one call."""
    assert shown.cut is not None
    text = session.recall(str(shown.trace_id))
    for gap in shown.cut.left_out:
        for at in {gap.start, (gap.start + gap.stop) // 2, gap.stop - 1}:
            length = min(20, gap.stop - at)
            call = PrintedCall("get_artifact", {"id": shown.artifact_id, "start_char": at, "length": length})
            assert run(session, call).content.startswith(showable(text[at : at + length]))


def check_printed(session: Session, shown: KeptResult) -> None:
    """The calls in a view's own notices give what they say."""
    text = session.recall(str(shown.trace_id))
    assert shown.cut is not None
    for call in printed_calls(shown.cut.above + shown.cut.below):
        answer = run(session, call).content
        if "start_char" in call.arguments:
            start = call.arguments["start_char"]
            assert answer[:200] == showable(text[start : start + call.arguments["length"]])[: len(answer[:200])]
        elif "lines" in call.arguments:
            first = int(call.arguments["lines"].partition("-")[0])
            line = session.recall(str(shown.trace_id), lines=(first, first))
            assert answer.startswith(showable(line)[:200])


@pytest.mark.parametrize("limit", [600, 3_000])
@pytest.mark.parametrize("strategy", [None, *STRATEGIES])
def test_whatever_a_view_of_real_output_leaves_out_is_one_call_away(strategy: str | None, limit: int) -> None:
    options: dict[str, Any] = {} if strategy is None else {"default_strategy": strategy}
    session = in_memory(policy=TruncationConfiguration(inline_limit=limit, preview_limit=400, **options))
    cut = 0
    for name in NAMES:
        shown = session.keep(name, None, read_output(name))
        if shown.artifact_id is None or shown.metadata.strategy_used == "binary":
            continue
        cut += 1
        check_every_gap(session, shown)
        check_printed(session, shown)
    assert cut > 15


@settings(max_examples=40)
@given(st.binary(min_size=1, max_size=400), st.integers(256, 3_000), st.sampled_from(("\n", "\r\n", "\r", " ")))
def test_whatever_a_view_of_any_text_leaves_out_is_one_call_away(raw: bytes, limit: int, end: str) -> None:
    atoms = ("word", "é", "😀", "\ud800", "line of text", "x" * 300, '{"a": 1}', "")
    text = "".join(atoms[byte % len(atoms)] + end for byte in raw)
    session = in_memory(policy=TruncationConfiguration(inline_limit=limit))
    shown = session.keep("t", None, text)
    if shown.artifact_id is not None:
        check_every_gap(session, shown)
        check_printed(session, shown)


@pytest.mark.parametrize("limit", [1_000, 8_000])
@pytest.mark.parametrize("name", NAMES)
def test_the_calls_that_answers_print_run_as_printed_to_the_end(name: str, limit: int) -> None:
    session = in_memory(settings=Settings(home="unused", retrieval_limit=limit, policy="truncation"))
    shown = session.keep(name, None, read_output(name))
    ways: list[dict[str, Any]] = [{}, {"from_end": 5}, {"pattern": "e"}, {"path": "$"}, {"start_char": 0, "length": 50}]
    for way in ways:
        arguments: dict[str, Any] = {"id": shown.trace_id, **way}
        for _ in range(60):
            answer = session.call_tool("get_artifact", arguments)
            assert len(answer.content) <= limit
            calls = printed_calls(answer.content.rpartition("\n")[2])
            if answer.is_error or not calls or calls[-1].arguments == arguments:
                break
            arguments = calls[-1].arguments
            assert not session.call_tool(calls[-1].name, arguments).is_error


def conversation(dialect: str) -> list[dict[str, Any]]:
    messages = [talk.user_message("find out why the build fails", dialect)]
    for number in range(30):
        name = ("read_file", "bash", "grep", "get_build")[number % 4]
        messages += talk.call_messages(dialect, [(f"c{number}", name, {"n": number % 7})])
        messages += talk.result_messages(
            dialect, [(f"c{number}", numbered_lines(100 + 150 * (number % 4)) + str(number % 9))]
        )
    return messages


@pytest.mark.parametrize("policy", ["truncation", "retention", "rolling", "auto"])
@pytest.mark.parametrize("dialect", talk.DIALECTS)
def test_every_call_in_a_conversation_that_is_sent_runs_as_printed(dialect: str, policy: str) -> None:
    settings = Settings(home="unused", models={"small": {"window": 40_000}})
    session = Session("s", store=MemoryStore(), settings=settings)
    sent = session.view(conversation(dialect), model="small", policy=policy)
    calls = [call for _, text in talk.result_texts(dialect, sent) for call in printed_calls(text)]
    assert calls or policy == "rolling"
    assert all(len(run(session, call).content) > 0 for call in calls)


def test_every_call_in_a_summary_of_old_steps_runs_as_printed() -> None:
    session = Session("s", store=MemoryStore(), settings=Settings(home="unused", models={"small": {"window": 3_000}}))
    projection = session.projection(conversation("openai_chat"), model="small", policy="auto")
    assert projection.account.compacted > 0
    calls = printed_calls("\n".join(str(message["content"]) for message in projection.messages))
    assert len(calls) > 3
    assert all(run(session, call).content for call in calls)


@pytest.mark.parametrize("call_id", ["c0", "c1"], ids=["the same id", "another id"])
@pytest.mark.parametrize("dialect", talk.DIALECTS)
def test_what_is_read_back_whole_stays_whole_where_a_server_numbers_calls_anew(dialect: str, call_id: str) -> None:
    store, whole = MemoryStore(), numbered_lines(1_200)
    messages = [talk.user_message("go", dialect), *talk.call_messages(dialect, [("c0", "bash", {"command": "ls"})])]
    messages += talk.result_messages(dialect, [("c0", whole)])
    first = Session("s", store=store)
    sent = first.view(messages)
    [(_, cut)] = talk.result_texts(dialect, sent)
    read = PrintedCall("get_artifact", {"id": printed_calls(cut)[0].arguments["id"]})
    messages += talk.call_messages(dialect, [(call_id, read.name, read.arguments)])
    messages += talk.result_messages(dialect, [(call_id, run(first, read).content)])
    for session in (first, Session("s", store=store)):
        assert talk.result_texts(dialect, session.view(messages)) == [("c0", cut), (call_id, whole)]
