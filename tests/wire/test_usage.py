"""What providers say they bill is read from whole and from streamed responses, and garbage tells nothing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.wire.dialect import Dialect
from keepwhole.wire.dialects import ANTHROPIC, CONVERSE, DIALECTS, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES
from keepwhole.wire.usage import Usage

CLAUDE = {
    "input_tokens": 7,
    "cache_read_input_tokens": 9_000,
    "cache_creation_input_tokens": 500,
    "output_tokens": 42,
}
EDITS = [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50_000}]


def events(*each: Any, end: str = "\n\n", named: bool = True) -> bytes:
    lines = [f"event: {one.get('type', '')}{end[: len(end) // 2]}" if named else "" for one in each]
    return "".join(f"{line}data: {json.dumps(one)}{end}" for line, one in zip(lines, each, strict=True)).encode()


def test_the_input_of_anthropic_is_what_was_read_written_and_neither() -> None:
    data = json.dumps({"usage": CLAUDE, "context_management": {"applied_edits": EDITS}}).encode()
    assert ANTHROPIC.usage_of(data, streamed=False) == Usage(9_507, 9_000, 500, 42, EDITS)


def test_what_anthropic_has_written_for_an_hour_is_told_apart() -> None:
    usage = {**CLAUDE, "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 400}}
    expected = Usage(9_507, 9_000, 500, 42, written_hour=400)
    assert ANTHROPIC.usage_of(json.dumps({"usage": usage}).encode(), streamed=False) == expected
    begun = {"type": "message_start", "message": {"usage": {**usage, "output_tokens": 1}}}
    ended = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 42}}
    assert ANTHROPIC.usage_of(events(begun, ended), streamed=True) == expected


def test_what_converse_has_written_for_an_hour_is_told_apart() -> None:
    details = [{"ttl": "1h", "inputTokens": 300}, {"ttl": "5m", "inputTokens": 200}]
    usage = {"inputTokens": 7, "cacheReadInputTokens": 0, "cacheWriteInputTokens": 500, "cacheDetails": details}
    found = CONVERSE.usage_of(json.dumps({"usage": usage}).encode(), streamed=False)
    assert found is not None
    assert (found.input, found.written, found.written_hour) == (507, 500, 300)


def test_iterations_say_the_same_again_and_are_not_added() -> None:
    turn = {**CLAUDE, "type": "message"}
    data = json.dumps({"usage": {**CLAUDE, "iterations": [turn, turn, {**turn, "type": "compaction"}]}}).encode()
    found = ANTHROPIC.usage_of(data, streamed=False)
    assert found is not None
    assert (found.input, found.cached, found.hops) == (9_507, 9_000, 2)


def test_chat_tells_what_was_cached_in_the_details() -> None:
    usage = {
        "prompt_tokens": 2_000,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 1_920, "cache_write_tokens": 64},
    }
    data = json.dumps({"usage": usage}).encode()
    assert OPENAI_CHAT.usage_of(data, streamed=False) == Usage(2_000, 1_920, 64, 5)


def test_responses_tell_the_same_by_other_names() -> None:
    usage = {"input_tokens": 2_000, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 1_920}}
    data = json.dumps({"usage": usage}).encode()
    assert OPENAI_RESPONSES.usage_of(data, streamed=False) == Usage(2_000, 1_920, 0, 5)


@pytest.mark.parametrize("dialect", [ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES], ids=repr)
def test_a_provider_that_says_nothing_of_a_cache_is_not_one_that_missed(dialect: Dialect) -> None:
    name = "prompt_tokens" if dialect is OPENAI_CHAT else "input_tokens"
    found = dialect.usage_of(json.dumps({"usage": {name: 12}}).encode(), streamed=False)
    assert found is not None
    assert not found.says_cached


@pytest.mark.parametrize("spelled", ["whole", "events", "array"])
def test_gemini_leaves_out_a_count_that_is_zero_and_counts_thoughts_as_output(spelled: str) -> None:
    counts = {"promptTokenCount": 2_000, "candidatesTokenCount": 5, "thoughtsTokenCount": 7}
    for cached, expected in (({}, 0), ({"cachedContentTokenCount": 1_500}, 1_500)):
        body = {"candidates": [], "usageMetadata": {**counts, **cached}}
        first = {"candidates": [], "usageMetadata": {"promptTokenCount": 1}}
        data = {
            "whole": json.dumps(body).encode(),
            "events": events(first, body).replace(b"\n", b"\r\n"),
            "array": json.dumps([first, body]).encode(),
        }[spelled]
        assert GEMINI.usage_of(data, streamed=spelled != "whole") == Usage(2_000, expected, 0, 12)


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n"])
def test_in_a_stream_of_anthropic_later_values_win(end: str) -> None:
    data = events(
        {"type": "message_start", "message": {"usage": {**CLAUDE, "output_tokens": 1}}},
        {"type": "content_block_delta", "delta": {"text": 'it says "usage": {"input_tokens": 1} here'}},
        {
            "type": "message_delta",
            "usage": {"output_tokens": 42, "input_tokens": 8, "cache_read_input_tokens": None},
            "context_management": {"applied_edits": EDITS},
        },
        {"type": "message_stop"},
        end=end,
    )
    assert ANTHROPIC.usage_of(data, streamed=True) == Usage(9_508, 9_000, 500, 42, EDITS)


def test_a_stream_of_chat_tells_at_its_end() -> None:
    usage = {"prompt_tokens": 2_000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1_920}}
    chunks: list[Any] = [{"choices": [{"delta": {"content": "x"}}], "usage": None} for _ in range(50)]
    data = events(*chunks, {"choices": [], "usage": usage}, named=False) + b"data: [DONE]\n\n"
    assert OPENAI_CHAT.usage_of(data, streamed=True) == Usage(2_000, 1_920, 0, 5)
    assert OPENAI_CHAT.usage_of(events(*chunks, named=False), streamed=True) is None


def test_a_stream_of_responses_tells_in_the_response_that_is_completed() -> None:
    usage = {"input_tokens": 2_000, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 1_920}}
    begun = {"type": "response.created", "response": {"usage": None}}
    data = events(begun, {"type": "response.completed", "response": {"usage": usage}})
    assert OPENAI_RESPONSES.usage_of(data, streamed=True) == Usage(2_000, 1_920, 0, 5)


def test_only_events_that_tell_something_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks: list[Any] = [{"choices": [{"delta": {"content": "usage"}}], "usage": None} for _ in range(500)]
    data = events(*chunks, {"usage": {"prompt_tokens": 3}}, named=False)
    read: list[str] = []
    monkeypatch.setattr(json, "loads", lambda text: read.append(text) or {})  # pyright: ignore
    OPENAI_CHAT.usage_of(data, streamed=True)
    assert len(read) == 1


def test_a_stream_that_broke_off_tells_what_it_told() -> None:
    data = events({"type": "message_start", "message": {"usage": CLAUDE}}) + b'data: {"type": "content_blo'
    assert ANTHROPIC.usage_of(data, streamed=True) == Usage(9_507, 9_000, 500, 42)


@pytest.mark.parametrize(
    "usage", [None, 3, [], {}, {"input_tokens": "7"}, {"input_tokens": True}, {"input_tokens": -1}]
)
@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_what_is_no_number_of_tokens_tells_nothing(dialect: Dialect, usage: Any) -> None:
    data = json.dumps({"usage": usage}).encode()
    assert dialect.usage_of(data, streamed=False) is None
    assert dialect.usage_of(b"data: " + data + b"\n\n", streamed=True) is None


@given(st.sampled_from(DIALECTS), st.binary() | st.text().map(str.encode), st.booleans())
def test_garbage_tells_nothing(dialect: Dialect, data: bytes, streamed: bool) -> None:
    assert dialect.usage_of(data, streamed) is None
    assert dialect.usage_of(b'data: {"usage": {' + data, streamed) is None
