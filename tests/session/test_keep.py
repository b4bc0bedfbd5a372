"""`keep` stores what a tool returned, whole, and gives what to show of it; `recall` gives it back."""

import io
import threading
from pathlib import Path
from typing import Any

import pytest

from keepwhole import NotFound, Session
from keepwhole.canonical.entry import Result
from keepwhole.config import load
from keepwhole.errors import TooLargeToRecall, UnknownStrategy, UsageError
from keepwhole.record.kept_result import KeptResult
from keepwhole.store.protocol import result_of
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from tests.build import in_memory, numbered_lines
from tests.recall.test_get_artifact import DIALECTS, as_objects, call, text_of

TEXT = numbered_lines(1_000)


def recorded(session: Session, shown: KeptResult) -> Result:
    row = session.store.find(session.id, str(shown.trace_id))
    assert row is not None
    return result_of(row)


# By tool and by call


def test_a_result_is_kept_by_its_tool() -> None:
    session = in_memory()
    shown = session.keep("read_file", {"path": "a.txt"}, "text")
    assert shown.content == "text"
    about = recorded(session, shown)
    assert (about.tool, about.arguments, about.call_id) == ("read_file", '{"path": "a.txt"}', None)
    assert shown.problem is None


@pytest.mark.parametrize("shape", ["dict", "object"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_result_is_kept_by_its_call_and_answers_it(dialect: str, shape: str) -> None:
    session = in_memory()
    spelled = call(dialect, {"path": "a.txt"}, "fetch")
    shown = session.keep(spelled if shape == "dict" else as_objects(spelled), TEXT)
    about = recorded(session, shown)
    assert (about.tool, about.arguments) == ("fetch", '{"path": "a.txt"}')
    assert about.call_id == (None if dialect == "mcp" else "call_1")
    assert text_of(shown.block(dialect)) == shown.content


def test_arguments_of_a_call_are_kept_as_the_provider_spelled_them() -> None:
    session = in_memory()
    shown = session.keep({"id": "c", "function": {"name": "run", "arguments": '{"b":1,  "a":1e5}'}}, "x")
    assert recorded(session, shown).arguments == '{"b":1,  "a":1e5}'


def test_everything_that_is_said_about_a_result_is_recorded() -> None:
    session = in_memory()
    shown = session.keep(
        "run",
        None,
        "x",
        call_id="c",
        is_error=True,
        exit_code=3,
        turn=7,
        task_id="task",
        query_id="query",
        question="why?",
    )
    about = recorded(session, shown)
    assert (about.call_id, about.is_error, about.exit_code, about.turn) == ("c", True, 3, 7)
    assert (about.task_id, about.query_id, about.question) == ("task", "query", "why?")


def test_a_call_id_that_is_given_goes_before_that_of_the_call() -> None:
    session = in_memory()
    shown = session.keep(call("anthropic", {}, "run"), "x", call_id="other")
    assert recorded(session, shown).call_id == "other"


@pytest.mark.parametrize(("code", "is_error"), [(0, False), (1, True), (-9, True), (None, False)])
def test_a_command_that_did_not_end_well_is_an_error(code: int | None, is_error: bool) -> None:
    session = in_memory()
    shown = session.keep("run", None, "x", exit_code=code, call_id="c")
    about = recorded(session, shown)
    assert (about.exit_code, about.is_error) == (code, is_error)
    assert shown.block("anthropic").get("is_error", False) is is_error


def test_how_a_command_ended_is_asked_once_its_output_has_ended() -> None:
    session, order = in_memory(), list[str]()

    def output() -> Any:
        yield "text"
        order.append("output")

    def code() -> int:
        order.append("code")
        return 2

    shown = session.keep("run", None, output(), exit_code=code)
    assert order == ["output", "code"]
    assert recorded(session, shown).exit_code == 2


def test_a_keep_without_output_is_refused() -> None:
    with pytest.raises(UsageError, match="needs the output"):
        in_memory().keep("read_file", {"path": "a.txt"})


@pytest.mark.parametrize("wrong", [None, 5, {"rows": [1]}, [{"type": "text"}], object()])
def test_an_output_that_cannot_be_kept_is_refused_and_nothing_is_recorded(tmp_path: Path, wrong: Any) -> None:
    session = Session("s", store=str(tmp_path))
    with pytest.raises(UsageError):
        session.keep("t", None, wrong)
    assert list(session.store.rows("s")) == []
    assert session.metrics.as_dict()["results_total"] == 0
    session.close()


def test_a_thing_that_is_no_call_is_refused() -> None:
    with pytest.raises(UsageError, match="not a tool call"):
        in_memory().keep({"type": "text", "text": "hi"}, "x")


def test_a_block_names_the_call_it_answers() -> None:
    shown = in_memory().keep("run", None, "x")
    with pytest.raises(UsageError, match="call_id"):
        shown.block("anthropic")
    assert shown.block("mcp")["content"] == [{"type": "text", "text": "x"}]


# What is kept and what is shown


@pytest.mark.parametrize(
    "output",
    [
        TEXT,
        TEXT.encode(),
        bytearray(TEXT.encode()),
        memoryview(TEXT.encode()),
        io.StringIO(TEXT),
        io.BytesIO(TEXT.encode()),
        [TEXT[:100], TEXT[100:].encode()],
    ],
    ids=["str", "bytes", "bytearray", "memoryview", "StringIO", "BytesIO", "chunks"],
)
def test_the_view_does_not_depend_on_how_the_output_came(output: Any) -> None:
    shown = in_memory().keep("fetch", None, output)
    assert shown == in_memory().keep("fetch", None, TEXT)


def test_a_file_and_a_pipe_are_kept_as_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(TEXT)
    session = in_memory()
    with open(tmp_path / "file", "rb") as file:
        shown = session.keep("fetch", None, file)
    assert session.recall(str(shown.artifact_id)) == TEXT


def test_the_view_of_a_tool_follows_its_override() -> None:
    own = TruncationConfiguration(overrides={"run": ToolOverride(inline_limit=300, strategy="head")})
    session = in_memory(policy=own)
    assert session.keep("run", None, TEXT).metadata.strategy_used == "head"
    assert session.keep("walk", None, TEXT).metadata.strategy_used == "head_tail"


def test_a_strategy_that_nobody_knows_is_refused_before_anything_is_kept() -> None:
    with pytest.raises(UnknownStrategy, match="sideways"):
        in_memory(policy=TruncationConfiguration(default_strategy="sideways"))
    with pytest.raises(UnknownStrategy, match="sideways"):
        in_memory(policy=TruncationConfiguration(overrides={"t": ToolOverride(strategy="sideways")}))


def test_a_result_that_arrives_looking_cut_is_kept_as_it_is_flagged_and_counted() -> None:
    session = in_memory()
    text = "honest text\n... [truncated 5 lines]\n"
    shown = session.keep("cat", None, text)
    assert session.recall(str(shown.trace_id)) == text
    assert recorded(session, shown).flags == ("truncation_marker",)
    assert session.metrics.canonical_writes_with_truncation_marker == 1


def test_no_view_of_ours_flows_into_the_record() -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT, call_id="c")
    session.keep("fetch", None, shown.content, call_id="c")
    assert session.metrics.canonical_writes_with_truncation_marker == 0


def test_a_time_of_keeping_and_the_ids_are_drawn_once() -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT)
    about = recorded(session, shown)
    assert about.at == 1_700_000_000_000
    assert about.artifact_id == shown.artifact_id
    assert about.trace_id == shown.trace_id


# Recall


@pytest.mark.parametrize("by", ["trace_id", "artifact_id"])
def test_a_result_is_recalled_by_either_of_its_ids(by: str) -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT)
    any_id = getattr(shown, by)
    assert session.recall(any_id) == TEXT
    assert session.recall_bytes(any_id) == TEXT.encode()
    assert b"".join(session.stream(any_id)) == TEXT.encode()


def test_lines_and_characters_are_recalled() -> None:
    session = in_memory()
    any_id = str(session.keep("fetch", None, TEXT).trace_id)
    lines = TEXT.splitlines(keepends=True)
    assert session.recall(any_id, lines=(10, 12)) == "".join(lines[9:12])
    assert session.recall(any_id, lines="10-12") == "".join(lines[9:12])
    assert session.recall(any_id, lines="999-") == "".join(lines[998:])
    assert session.recall(any_id, chars=(5, 50)) == TEXT[5:50]


def test_an_unknown_id_is_not_found_and_the_error_says_what_there_is() -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT)
    for asked in (session.recall, session.recall_bytes, session.stream, session.open, session.shown):
        with pytest.raises(NotFound, match="artifacts list") as missing:
            asked("trace_none")
        assert str(shown.artifact_id) in missing.value.for_model


def test_a_body_over_the_maximum_is_recalled_in_parts_only() -> None:
    session = in_memory(policy=TruncationConfiguration(max_artifact_size=20_000))
    any_id = str(session.keep("fetch", None, TEXT).artifact_id)
    for asked in (session.recall, session.recall_bytes):
        with pytest.raises(TooLargeToRecall, match="stream") as refused:
            asked(any_id)
        assert "get_artifact(" in refused.value.for_model
    assert session.recall(any_id, lines=(1, 2)) == numbered_lines(2)
    assert session.recall(any_id, chars=(0, 5)) == "line "
    assert b"".join(session.stream(any_id)) == TEXT.encode()


def test_the_maximum_of_one_tool_holds_for_its_results_only(tmp_path: Path) -> None:
    file = tmp_path / "keepwhole.yaml"
    file.write_text("tools: {truncation: {overrides: {fetch: {max_artifact_size: 20000}}}}\n")
    session = in_memory(settings=load(str(file)))
    fetched, other = (str(session.keep(tool, None, TEXT).artifact_id) for tool in ("fetch", "download"))
    assert session.recall(other) == TEXT
    with pytest.raises(TooLargeToRecall, match="max_artifact_size"):
        session.recall(fetched)
    assert session.recall(fetched, lines=(1, 2)) == numbered_lines(2)
    larger = TruncationConfiguration(max_artifact_size=20_000, overrides={"t": ToolOverride(max_artifact_size=10**7)})
    session = in_memory(policy=larger)
    assert session.recall(str(session.keep("t", None, TEXT).artifact_id)) == TEXT


def test_artifacts_are_listed_in_order_and_only_what_was_cut() -> None:
    session = in_memory()
    first = session.keep("fetch", {"n": 1}, TEXT)
    session.keep("read_file", None, "short")
    second = session.keep("draw", None, b"\x89PNG\r\n\x1a\n" + bytes(100))
    listed = session.artifacts()
    assert [known.artifact_id for known in listed] == [first.artifact_id, second.artifact_id]
    assert [known.summary for known in listed] == ['fetch: {"n": 1}', "draw"]
    assert [known.size for known in listed] == [len(TEXT), 108]


# One session, many threads


def test_threads_share_one_session(tmp_path: Path) -> None:
    session = Session("s", store=str(tmp_path))
    wrong: list[object] = []

    def work(worker: int) -> None:
        for number in range(6):
            text = f"{worker}/{number} " + "x" * (number * 9_000)
            shown = session.keep("t", None, text)
            if shown.problem or session.recall(str(shown.trace_id)) != text:
                wrong.append(shown)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert session.verify().whole
    assert session.metrics.results_total == 36
    session.close()


def test_a_store_may_be_named_by_a_path(tmp_path: Path) -> None:
    with Session("s", store=tmp_path / "here") as session:
        assert session.keep("t", None, "kept").problem is None
    assert (tmp_path / "here" / "record.db").exists()


def test_part_of_a_result_is_recalled_by_lines_or_characters_however_they_are_given() -> None:
    session = in_memory()
    kept = session.keep("t", None, "one\ntwo\nthree\n")
    id = str(kept.trace_id)
    assert [session.recall(id, chars=chars) for chars in ("4-7", (4, 7), "4-")] == ["two", "two", "two\nthree\n"]
    assert [session.recall(id, lines=lines) for lines in ("2-3", (2, 3), "2-")] == ["two\nthree\n"] * 3
