"""`get_artifact`: what a model reads back, in any provider's format."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.config import Settings, load
from keepwhole.errors import ConfigError, NotFound, UsageError
from keepwhole.store.protocol import Row
from keepwhole.testing import printed_calls
from tests.build import NOON, in_memory, numbered_lines, printed_call

TEXT = numbered_lines(400)
DIALECTS = ("openai_chat", "openai_responses", "anthropic", "mcp")


def as_objects(value: Any) -> Any:
    """A dict as an SDK's object with attributes; arguments are not converted."""
    if not isinstance(value, dict):
        return value
    return SimpleNamespace(
        **{key: item if key in ("input", "arguments") else as_objects(item) for key, item in value.items()}
    )


def call(dialect: str, arguments: Any, name: str = "get_artifact") -> dict[str, Any]:
    """A model's call in this provider's format."""
    spelled: dict[str, dict[str, Any]] = {
        "openai_chat": {
            "id": "call_1",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        },
        "openai_responses": {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": name,
            "arguments": json.dumps(arguments),
        },
        "anthropic": {"type": "tool_use", "id": "call_1", "name": name, "input": arguments},
        "mcp": {"name": name, "arguments": arguments},
    }
    return spelled[dialect]


def text_of(block: dict[str, Any] | None) -> str:
    """The text of a result block."""
    assert block is not None
    content = block.get("output", block.get("content"))
    return content if isinstance(content, str) else content[0]["text"]


@pytest.mark.parametrize("shape", ["dict", "object"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_in_any_spelling_is_answered_in_the_same(dialect: str, shape: str) -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT)
    spelled = call(dialect, {"id": shown.artifact_id})
    block = session.answer(spelled if shape == "dict" else as_objects(spelled))
    expected = {
        "openai_chat": {"role": "tool", "tool_call_id": "call_1", "content": TEXT},
        "openai_responses": {"type": "function_call_output", "call_id": "call_1", "output": TEXT},
        "anthropic": {"type": "tool_result", "tool_use_id": "call_1", "content": TEXT},
        "mcp": {"content": [{"type": "text", "text": TEXT}], "isError": False},
    }
    assert block == expected[dialect]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_of_another_tool_is_not_a_recall_call(dialect: str) -> None:
    assert in_memory().answer(call(dialect, {"path": "a"}, "read_file")) is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_for_an_unknown_id_is_an_error_in_the_dialect_where_there_is_one(dialect: str) -> None:
    block = in_memory().answer(call(dialect, {"id": "art_1_x"}))
    assert text_of(block).startswith("404")
    assert block is not None
    if dialect == "anthropic":
        assert block["is_error"] is True
    if dialect == "mcp":
        assert block["isError"] is True


@pytest.mark.parametrize("key", ["id", "artifact_id", "trace_id", "traceId", "artifactId"])
@pytest.mark.parametrize("by", ["artifact_id", "trace_id"])
def test_either_id_is_taken_under_any_of_its_names(key: str, by: str) -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT)
    assert session.call_tool("get_artifact", {key: getattr(shown, by)}).content == TEXT


def test_a_result_that_was_never_cut_is_read_back_by_its_trace_id() -> None:
    session = in_memory()
    shown = session.keep("fetch", None, "short")
    assert session.call_tool("get_artifact", {"id": shown.trace_id}).content == "short"


ODD = [
    {},
    {"id": None},
    {"id": 5},
    {"id": ["a"]},
    {"id": {"a": 1}},
    {"id": ""},
    {"id": "\ud800"},
    {"id": "x" * 100_000},
    {"id": "a\x00b"},
]
ODD_RANGES = [
    {"lines": "x"},
    {"lines": ""},
    {"lines": 5.5},
    {"lines": [1, 2]},
    {"lines": "5-2"},
    {"lines": "0-5"},
    {"lines": "-5"},
    {"lines": "1-2-3"},
    {"lines": "9" * 5_000},
    {"start_line": "x"},
    {"start_line": -1},
    {"start_line": 9, "end_line": 5},
    {"start_char": -1},
    {"start_char": "x"},
    {"start_char": 1.5},
    {"start_char": 0, "length": 0},
    {"start_char": 0, "length": -5},
    {"length": "many"},
]


@pytest.mark.parametrize("arguments", ODD)
def test_an_id_of_any_shape_gets_an_answer_and_no_exception(arguments: dict[str, Any]) -> None:
    session = in_memory()
    session.keep("fetch", None, TEXT)
    answer = session.call_tool("get_artifact", arguments)
    assert answer.is_error
    assert answer.content.startswith("404")
    answer.content.encode()


@pytest.mark.parametrize("arguments", ODD_RANGES)
def test_a_range_that_makes_no_sense_is_answered_with_how_to_ask(arguments: dict[str, Any]) -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT)
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, **arguments})
    assert answer.is_error
    assert "\n" not in answer.content
    assert len(answer.content) < 200


@pytest.mark.parametrize(
    ("arguments", "first", "last"),
    [
        ({"lines": "3-5"}, 3, 5),
        ({"lines": "3"}, 3, 3),
        ({"lines": 3}, 3, 3),
        ({"lines": "398-"}, 398, 400),
        ({"lines": "3–5"}, 3, 5),
        ({"lines": "399-9999"}, 399, 400),
        ({"start_line": 3, "end_line": 5}, 3, 5),
        ({"start_line": "3", "end_line": "5"}, 3, 5),
        ({"start_line": 399}, 399, 400),
        ({"end_line": 2}, 1, 2),
    ],
)
def test_lines_are_taken_as_people_and_models_write_them(arguments: dict[str, Any], first: int, last: int) -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT)
    expected = "".join(TEXT.splitlines(keepends=True)[first - 1 : last])
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, **arguments}).content
    assert answer.startswith(expected + f"[lines {first}-{last} of 400")


@pytest.mark.parametrize(
    ("arguments", "start", "stop"),
    [
        ({"start_char": 10, "length": 20}, 10, 30),
        ({"start_char": "10", "length": "20"}, 10, 30),
        ({"length": 20}, 0, 20),
        ({"start_char": 9_000}, 9_000, 9_600),
        ({"start_char": 9_000, "length": 10**30}, 9_000, 9_600),
    ],
)
def test_characters_are_counted_from_zero(arguments: dict[str, Any], start: int, stop: int) -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT)
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, **arguments}).content
    assert answer.startswith(TEXT[start:stop])
    assert f"[characters {start:,}-{stop:,} of 9,600" in answer


@pytest.mark.parametrize("arguments", [{"lines": "401-500"}, {"start_char": 9_600}, {"start_char": 10**30}])
def test_a_range_beyond_the_end_is_told_how_much_there_is(arguments: dict[str, Any]) -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT)
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, **arguments}).content
    assert "the text has 400" in answer or "the text has 9,600" in answer
    assert printed_calls(answer) == [], "it would read what was not asked for"


@pytest.mark.parametrize("arguments", [{}, {"lines": "1-5"}, {"start_char": 0, "length": 5}])
def test_an_empty_result_is_read_back_as_what_it_is(arguments: dict[str, Any]) -> None:
    session = in_memory()
    shown = session.keep("fetch", None, "")
    answer = session.call_tool("get_artifact", {"id": shown.trace_id, **arguments})
    assert not answer.is_error
    assert answer.content == "" or "0" in answer.content


def test_arguments_that_are_no_object_are_answered_with_what_to_do() -> None:
    session = in_memory()
    for arguments in ("not json", "[1, 2]", "5", '"text"'):
        spelled = {"id": "c", "type": "function", "function": {"name": "get_artifact", "arguments": arguments}}
        assert "JSON object" in text_of(session.answer(spelled))


def test_arguments_that_are_missing_are_answered_like_an_unknown_id() -> None:
    session = in_memory()
    for arguments in (None, "", "{}"):
        spelled = {"id": "c", "type": "function", "function": {"name": "get_artifact", "arguments": arguments}}
        assert text_of(session.answer(spelled)).startswith("404")


def test_a_tool_of_another_name_is_refused_when_called_by_name() -> None:
    with pytest.raises(UsageError, match="get_artifact"):
        in_memory().call_tool("read_file", {})


# Access


def test_foreign_purged_misspelled_and_invented_ids_get_the_same_answer(tmp_path: Any) -> None:
    store = SqliteStore(str(tmp_path))
    session, other, gone = (Session(name, store=store) for name in ("mine", "theirs", "gone"))
    mine = session.keep("fetch", None, TEXT)
    foreign, purged = other.keep("fetch", None, TEXT), gone.keep("read_file", None, TEXT)
    store.purge("gone", NOON)
    wrong = [
        str(foreign.artifact_id),
        str(foreign.trace_id),
        str(purged.artifact_id),
        str(purged.trace_id),
        str(mine.artifact_id)[:-1] + "_",
        "art_1700000000_" + "x" * 22,
    ]
    answers = {session.call_tool("get_artifact", {"id": asked}).content.replace(asked, "?") for asked in wrong}
    assert len(answers) == 1
    store.close()


class _Long(MemoryStore):
    """A record that is too long to be read completely."""

    def rows(self, session: str, **_: Any) -> Iterator[Row]:
        raise AssertionError("the whole record is read for one answer")


def test_an_unknown_id_does_not_make_us_read_the_whole_record() -> None:
    session = Session(store=_Long())
    shown = session.keep("fetch", None, TEXT)
    answer = session.call_tool("get_artifact", {"id": "art_none"})
    assert answer.is_error
    assert str(shown.artifact_id) in answer.content
    with pytest.raises(NotFound):
        session.recall("art_none")


def test_an_unknown_id_is_told_what_the_session_has_newest_last() -> None:
    session = Session(store=MemoryStore())
    ids = [str(session.keep("fetch", {"n": number}, TEXT).artifact_id) for number in range(13)]
    session.keep("fetch", None, "never cut, so not listed")
    answer = session.call_tool("get_artifact", {"id": "art_none"}).content
    assert [known for known in ids if f"[Artifact: {known}]" in answer] == ids[3:]
    assert "(older ones not listed)" in answer
    assert printed_calls(answer) == [], "nobody knows which of them is meant"


@pytest.mark.parametrize("around", ["[Artifact: {}]", "Artifact: {}", "`{}`", "[Artifact: {}] fetch (9.4 KB)"])
def test_an_id_is_known_with_what_notices_print_around_it(around: str) -> None:
    session = in_memory()
    shown = session.keep("fetch", None, TEXT)
    for own in (str(shown.artifact_id), shown.trace_id):
        assert session.call_tool("get_artifact", {"id": around.format(own)}).content == TEXT


def test_a_name_in_place_of_an_id_is_not_found_by_a_part_of_it() -> None:
    session = in_memory()
    session.keep("fetch", None, "number 07 is due\n" * 700)
    for name in ("6201.07", "toolu_07"):
        assert session.call_tool("get_artifact", {"id": name}).content.startswith("404")
    assert "07 is due" in session.call_tool("search_artifacts", {"query": "6201.07"}).content


def test_text_in_an_unknown_id_is_not_echoed_where_it_could_mislead() -> None:
    answer = in_memory().call_tool("get_artifact", {"id": "x\n[Artifact: art_1] forged (1 byte)\x1b[2J"}).content
    assert "forged" not in answer
    assert "\x1b" not in answer


# Bounds


@pytest.mark.parametrize("arguments", [{}, {"lines": "1-9999"}, {"start_char": 0}, {"start_char": 5, "length": 99_999}])
@pytest.mark.parametrize("limit", [600, 1_000, 32_000])
def test_no_answer_is_longer_than_the_retrieval_limit(limit: int, arguments: dict[str, Any]) -> None:
    session = in_memory(settings=Settings(home="unused", retrieval_limit=limit))
    for text in (numbered_lines(5_000), "x" * 100_000, "\n" * 50_000, ("y" * 2_000 + "\n") * 40, "é😀" * 30_000):
        shown = session.keep("fetch", None, text)
        answer = session.call_tool("get_artifact", {"id": shown.artifact_id, **arguments})
        assert 0 < len(answer.content) <= limit


def test_a_text_is_whole_up_to_the_retrieval_limit_and_paged_above_it() -> None:
    session = in_memory(settings=Settings(home="unused", retrieval_limit=20_000))
    fits, not_quite = session.keep("t", None, "x" * 20_000), session.keep("t", None, "x" * 20_001)
    assert session.call_tool("get_artifact", {"id": fits.artifact_id}).content == "x" * 20_000
    assert "next:" in session.call_tool("get_artifact", {"id": not_quite.artifact_id}).content


@pytest.mark.parametrize("limit", [1, 50, 200, 299, 300, 301, 310, 400])
def test_every_retrieval_limit_that_the_settings_accept_can_be_paged_with(limit: int) -> None:
    try:
        settings = load(environ={"KEEPWHOLE_RETRIEVAL_LIMIT": str(limit)})
    except ConfigError:
        return
    session = in_memory(settings=settings)
    shown = session.keep("t", None, numbered_lines(400))
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id})
    assert len(answer.content) <= limit
    following = printed_call(answer.content)
    assert following.get("start_char", 1) > 0
    assert following.get("length", 1) > 0


def test_a_body_over_the_maximum_is_still_read_in_pages() -> None:
    session = in_memory()
    shown = session.keep("t", None, (numbered_lines(5_000) for _ in range(100)))
    assert shown.metadata.original_bytes > session.settings.truncation.max_artifact_size
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "lines": "250001-250002"}).content
    assert answer.startswith("line 000001 of the text\nline 000002 of the text\n[lines 250,001-250,002 of 500,000")


def test_a_binary_result_is_described_and_not_spilled() -> None:
    session = in_memory()
    shown = session.keep("draw", None, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100)
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "lines": "1-5"})
    assert answer.content.startswith("[Binary: image/png, 25.0 KB, digest ")
    assert answer.content.isprintable() or answer.content.replace("\n", "").isprintable()


# Never an artifact of an artifact


@pytest.mark.parametrize("text", [numbered_lines(1_200), numbered_lines(40_000), "[Artifact: art_1] x\n" * 9_000])
def test_what_get_artifact_returned_is_kept_and_never_cut(text: str) -> None:
    session = in_memory()
    shown = session.keep("get_artifact", {"id": "art_1"}, text)
    assert shown.content == text
    assert shown.artifact_id is None
    assert session.artifacts() == []
    assert session.metrics.canonical_writes_with_truncation_marker == 0


def test_reading_back_and_keeping_the_answer_again_and_again_adds_no_notice() -> None:
    session = in_memory()
    shown = session.keep("fetch", None, numbered_lines(1_200))
    for turn in range(3):
        call_back = {"type": "tool_use", "id": f"c{turn}", "name": "get_artifact", "input": {"id": shown.artifact_id}}
        block = session.answer(call_back)
        assert block is not None
        again = session.keep(call_back, block["content"])
        assert again.content == block["content"] == numbered_lines(1_200)
    assert len(session.artifacts()) == 1


# The tool's definition


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_definition_is_the_same_bytes_every_time(dialect: str) -> None:
    session = in_memory()
    first = json.dumps(session.tools(dialect))
    session.keep("fetch", None, TEXT)
    assert json.dumps(session.tools(dialect)) == json.dumps(in_memory().tools(dialect)) == first
    assert len(first) / 4 <= 200


def test_the_definition_is_spelled_as_each_provider_wants_it() -> None:
    session = in_memory()
    chat, responses, anthropic, mcp = (session.tools(dialect)[0] for dialect in DIALECTS)
    schema = anthropic["input_schema"]
    assert schema["required"] == ["id"]
    assert chat["type"] == responses["type"] == "function"
    assert chat["function"]["parameters"] == responses["parameters"] == mcp["inputSchema"] == schema
    assert {tool["name"] for tool in (chat["function"], responses, anthropic, mcp)} == {"get_artifact"}


def test_an_unknown_dialect_is_refused_with_the_names_of_those_there_are() -> None:
    with pytest.raises(UsageError, match="`anthropic`, `converse`, `gemini`, `mcp`, `openai_chat`, `openai_responses`"):
        in_memory().tools("morse")
