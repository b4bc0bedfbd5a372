"""The three recall tools: their definitions, traces, and search."""

import json

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.config import Settings
from keepwhole.recall.names import NAMES
from keepwhole.testing import printed_calls
from tests.build import in_memory, numbered_lines

DIALECTS = ("openai_chat", "openai_responses", "anthropic", "mcp")


def paged(limit: int = 2_000) -> Session:
    return in_memory(settings=Settings(home="unused", retrieval_limit=limit, policy="truncation"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_definitions_take_no_more_than_200_tokens_together(dialect: str) -> None:
    compact = json.dumps(in_memory().tools(dialect), separators=(",", ":"))
    assert len(compact) / 4 <= 200
    splintr = pytest.importorskip("splintr")
    assert len(splintr.Tokenizer.from_pretrained("o200k_base").encode(compact)) <= 200


def test_all_three_are_offered_from_the_beginning_in_the_same_order() -> None:
    tools = in_memory().tools("anthropic")
    assert tuple(tool["name"] for tool in tools) == NAMES
    assert all(tool["description"] for tool in tools)


def test_every_range_that_notices_print_is_in_the_definition() -> None:
    known = in_memory().tools("anthropic")[0]["input_schema"]["properties"]
    assert set(known) == {"id", "lines", "start_char", "length", "pattern", "path", "part"}


# Traces


def test_a_trace_shows_the_call_its_outcome_and_its_output() -> None:
    session = paged()
    shown = session.keep("bash", {"command": "make"}, "boom\n", exit_code=2, turn=3)
    answer = session.call_tool("get_task_trace", {"trace_id": shown.trace_id})
    assert answer.content == (
        '[Call: bash {"command": "make"}]\n[Status: error, exit code 2, turn 3; output 5 bytes, 1 lines]\nboom\n'
    )


@pytest.mark.parametrize("key", ["id", "artifact_id", "trace_id", "traceId"])
def test_a_trace_is_found_by_either_id_under_any_name(key: str) -> None:
    session = paged()
    shown = session.keep("bash", None, numbered_lines(400))
    for own in (shown.trace_id, shown.artifact_id):
        assert session.call_tool("get_task_trace", {key: own}).content.startswith("[Call: bash ]")


def test_following_the_calls_of_a_trace_reads_all_of_its_output() -> None:
    session = paged()
    shown = session.keep("bash", {"command": "x" * 2_000}, numbered_lines(400))
    name, arguments, text = "get_task_trace", {"traceId": shown.trace_id}, ""
    while True:
        answer = session.call_tool(name, arguments).content
        assert len(answer) <= 2_000
        body, _, note = answer.rpartition("[lines ")
        text += body.split("\n", 2)[2]
        calls = printed_calls(note)
        if not calls:
            break
        name, arguments = calls[-1]
    assert text == numbered_lines(400)


def test_long_arguments_are_read_by_another_call() -> None:
    session = paged()
    shown = session.keep("write_file", {"content": "y" * 1_500}, "ok")
    answer = session.call_tool("get_task_trace", {"trace_id": shown.trace_id}).content
    (call,) = printed_calls(answer)
    assert session.call_tool(*call).content == json.dumps({"content": "y" * 1_500})


def test_an_unknown_trace_is_told_what_there_is() -> None:
    assert paged().call_tool("get_task_trace", {"trace_id": "trace_x"}).content.startswith("404")


# Search


@pytest.fixture(params=["memory", "sqlite"])
def session(request: pytest.FixtureRequest, tmp_path: object) -> Session:
    if request.param == "memory":
        return paged()
    settings = Settings(home=str(tmp_path), retrieval_limit=2_000, policy="truncation")
    return Session("s", store=SqliteStore(str(tmp_path)), settings=settings)


def test_a_search_names_results_with_a_line_and_the_call_that_reads_round_it(session: Session) -> None:
    session.keep("bash", {"n": 1}, numbered_lines(300) + "ERROR upstream timeout\n" + numbered_lines(300))
    session.keep("bash", {"n": 2}, numbered_lines(300))
    answer = session.call_tool("search_artifacts", {"query": "upstream timeout"}).content
    assert "line 301: ERROR upstream timeout" in answer
    assert "[1 found" in answer
    assert "ERROR upstream timeout" in session.call_tool(*printed_calls(answer)[-1]).content
    session.close()


def test_where_not_every_word_is_found_those_that_are_count(session: Session) -> None:
    session.keep("bash", None, "the refund INV-20431 was declined\n" * 2)
    answer = session.call_tool("search_artifacts", {"query": "why did INV-20431 explode yesterday?"}).content
    assert "INV-20431 was declined" in answer
    session.close()


def test_a_search_without_words_says_what_to_give(session: Session) -> None:
    for query in ("", "?!", None, [], {}):
        assert "Give words" in session.call_tool("search_artifacts", {"query": query}).content
    session.close()


def test_a_search_takes_its_words_under_any_name_and_names_none_of_its_own(session: Session) -> None:
    session.keep("bash", None, "the refund INV-20431 was declined\n" * 2)
    for key in ("query", "pattern", "id", "text"):
        assert "declined" in session.call_tool("search_artifacts", {key: "INV-20431"}).content
    assert printed_calls(session.call_tool("search_artifacts", {}).content) == []
    session.close()


@pytest.mark.parametrize("width", [40, 300, 450])
def test_no_range_around_a_match_is_longer_than_what_a_model_reads(session: Session, width: int) -> None:
    session.keep("bash", None, "".join(f"{number:05} {'x' * width}\n" for number in range(200)))
    answer = session.call_tool("search_artifacts", {"query": "00120"}).content
    first, _, last = printed_calls(answer)[0].arguments["lines"].partition("-")
    assert int(first) <= 121 <= int(last)
    assert (int(last) - int(first) + 1) * (width + 7) <= 4_000
    session.close()


def test_a_search_does_not_find_what_was_read_back(session: Session) -> None:
    shown = session.keep("bash", None, numbered_lines(300) + "needle\n")
    session.keep("get_artifact", {"id": shown.artifact_id}, "needle\n" * 50)
    session.keep("mcp__keepwhole__get_task_trace", {"id": shown.artifact_id}, "needle\n" * 50)
    assert "[1 found" in session.call_tool("search_artifacts", {"query": "needle"}).content
    session.close()


def test_a_match_in_a_giant_line_is_read_by_its_pattern(session: Session) -> None:
    session.keep("fetch", None, "x" * 300 + " Needle " + "x " * 20_000)
    answer = session.call_tool("search_artifacts", {"query": "needle"}).content
    call = printed_calls(answer)[-1]
    assert call.arguments["pattern"] == "Needle"
    assert "1 match shown" in session.call_tool(*call).content
    session.close()


def test_many_results_are_listed_as_far_as_they_fit(session: Session) -> None:
    for number in range(30):
        session.keep("bash", {"n": number, "why": "w" * 80}, f"needle {number}\n")
    answer = session.call_tool("search_artifacts", {"query": "needle"}).content
    assert len(answer) <= 2_000
    assert " of 20 found" in answer
    session.close()


# Arguments of calls

SCRIPT = {
    "path": "deploy.sh",
    "content": "".join(f"echo stage {number}\n" for number in range(400)) + "echo zanzibar\n",
}


@pytest.mark.parametrize("tool", ["get_artifact", "get_task_trace"])
def test_the_arguments_of_a_call_are_read_back_page_by_page(tool: str) -> None:
    session = paged()
    kept = session.keep("write", SCRIPT, "File written.")
    answer = session.call_tool(tool, {"id": kept.trace_id, "part": "arguments", "path": "$.content"})
    assert answer.content.startswith("echo stage 0\necho stage 1\n")
    (*_, following) = printed_calls(answer.content)
    assert following.name == tool
    assert following.arguments["part"] == "arguments"
    assert "echo stage 0\n" not in session.call_tool(following.name, following.arguments).content


def test_the_arguments_of_a_call_are_what_it_was_given() -> None:
    session = paged()
    kept = session.keep("write", SCRIPT, "File written.")
    assert json.loads(session.recall(kept.trace_id, part="arguments")) == SCRIPT
    assert session.recall(kept.trace_id, part="arguments", chars=(0, 9)) == '{"path": '
    assert session.recall(kept.trace_id) == "File written."


def test_a_part_that_there_is_not_is_refused_with_the_parts_that_there_are() -> None:
    session = paged()
    kept = session.keep("write", SCRIPT, "File written.")
    answer = session.call_tool("get_artifact", {"id": kept.trace_id, "part": "everything"})
    assert answer.is_error
    assert 'part="arguments"' in answer.content


def test_a_call_without_arguments_says_so() -> None:
    session = paged()
    kept = session.keep("bash", None, "done")
    answer = session.call_tool("get_artifact", {"id": kept.trace_id, "part": "arguments"})
    assert answer.content == "[No arguments of this call are on record]"


def test_a_search_finds_words_that_only_a_call_was_given_and_prints_the_call_that_reads_them() -> None:
    session = paged()
    session.keep("bash", {"command": "ls"}, numbered_lines(30))
    kept = session.keep("write", SCRIPT, "File written.")
    answer = session.call_tool("search_artifacts", {"query": "zanzibar echo"})
    assert "arguments of the call: echo zanzibar" in answer.content
    asked = printed_calls(answer.content)[0]
    assert asked.arguments["part"] == "arguments"
    assert session.recall(str(asked.arguments["id"])) == session.recall(kept.trace_id)
    assert "zanzibar" in session.call_tool(asked.name, asked.arguments).content


def test_a_search_lists_what_results_have_before_what_calls_were_given() -> None:
    session = paged()
    session.keep("write", {"content": "a walrus"}, "File written.")
    told = session.keep("bash", {"command": "ls"}, "walrus.txt")
    found = session.store.search(session.id, "walrus")
    assert [(match.trace_id == told.trace_id, match.part) for match in found] == [
        (True, "result"),
        (False, "arguments"),
    ]


# A name in place of an id


def test_a_name_in_place_of_an_id_is_searched_for() -> None:
    session = paged()
    shown = session.keep("sql", None, numbered_lines(300) + "delta-island-42 pays 7 a month\n" + numbered_lines(300))
    answer = session.call_tool("get_artifact", {"id": "delta-island-42"})
    assert not answer.is_error
    assert answer.content.startswith('[There is no artifact "delta-island-42"; results that have these words:]')
    (first, *_) = printed_calls(answer.content)
    assert first.arguments["id"] == shown.artifact_id
    assert "delta-island-42 pays 7" in session.call_tool(first.name, first.arguments).content


def test_an_id_that_nobody_has_is_not_searched_for() -> None:
    session = paged()
    session.keep("bash", None, "art_1_aaaaaaaaaaaaaaaaaaaaaa and rare-word-9\n" + numbered_lines(300))
    assert session.call_tool("get_artifact", {"id": "art_1_aaaaaaaaaaaaaaaaaaaaaa"}).is_error
    assert session.call_tool("get_artifact", {"id": "nowhere-77"}).is_error
