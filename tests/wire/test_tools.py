"""A tool call in any provider's spelling, and the block that answers it."""

from types import SimpleNamespace
from typing import Any

import pytest

from keepwhole.errors import UsageError
from keepwhole.wire.dialects import ANTHROPIC, MCP, OPENAI_CHAT, OPENAI_RESPONSES, dialect_named, parse_call
from keepwhole.wire.tools import ToolCall

CALLS: list[tuple[dict[str, Any], ToolCall]] = [
    (
        {"id": "c", "type": "function", "function": {"name": "run", "arguments": '{"a": 1}'}},
        ToolCall(name="run", arguments='{"a": 1}', call_id="c", dialect=OPENAI_CHAT),
    ),
    (
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "run", "arguments": '{"a": 1}'},
        ToolCall(name="run", arguments='{"a": 1}', call_id="c", dialect=OPENAI_RESPONSES),
    ),
    (
        {"type": "tool_use", "id": "c", "name": "run", "input": {"a": 1}},
        ToolCall(name="run", arguments={"a": 1}, call_id="c", dialect=ANTHROPIC),
    ),
    (
        {"name": "run", "arguments": {"a": 1}},
        ToolCall(name="run", arguments={"a": 1}, call_id=None, dialect=MCP),
    ),
]


@pytest.mark.parametrize(("spelled", "call"), CALLS)
def test_every_spelling_is_read(spelled: dict[str, Any], call: ToolCall) -> None:
    assert parse_call(spelled) == call
    assert call.parsed() == {"a": 1}


@pytest.mark.parametrize(("spelled", "call"), CALLS)
def test_an_object_of_an_sdk_is_read_like_a_dict(spelled: dict[str, Any], call: ToolCall) -> None:
    fields = {key: SimpleNamespace(**value) if key == "function" else value for key, value in spelled.items()}
    assert parse_call(SimpleNamespace(**fields)) == call


@pytest.mark.parametrize("arguments", [None, "", "{}"])
def test_no_arguments_are_an_empty_object(arguments: str | None) -> None:
    assert ToolCall(name="t", arguments=arguments, call_id=None, dialect=MCP).parsed() == {}


@pytest.mark.parametrize("arguments", ["not json", "[1]", "5", "null", '"text"'])
def test_arguments_that_are_no_object_are_refused(arguments: str) -> None:
    with pytest.raises(UsageError, match="JSON object") as refused:
        ToolCall(name="t", arguments=arguments, call_id=None, dialect=MCP).parsed()
    assert "JSON object" in refused.value.for_model


@pytest.mark.parametrize(
    "thing",
    [
        None,
        5,
        "text",
        {},
        [],
        {"type": "text", "text": "hi"},
        {"function": {"arguments": "{}"}},
        {"function": {"name": None}},
        {"function": "run"},
        {"type": "tool_use", "name": 5},
    ],
)
def test_what_is_no_call_is_refused(thing: object) -> None:
    with pytest.raises(UsageError, match="not a tool call"):
        parse_call(thing)


def test_a_result_block_is_spelled_as_the_provider_wants_it() -> None:
    assert ANTHROPIC.result_block("c", "x") == {"type": "tool_result", "tool_use_id": "c", "content": "x"}
    assert ANTHROPIC.result_block("c", "x", is_error=True)["is_error"] is True
    assert OPENAI_CHAT.result_block("c", "x") == {"role": "tool", "tool_call_id": "c", "content": "x"}
    assert OPENAI_RESPONSES.result_block("c", "x") == {
        "type": "function_call_output",
        "call_id": "c",
        "output": "x",
    }
    assert MCP.result_block(None, "x", is_error=True) == {
        "content": [{"type": "text", "text": "x"}],
        "isError": True,
    }


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("openai", "openai_chat"),
        ("OpenAI-Chat", "openai_chat"),
        ("responses", "openai_responses"),
        ("openai-responses", "openai_responses"),
        ("Anthropic", "anthropic"),
        ("mcp", "mcp"),
    ],
)
def test_a_dialect_goes_by_its_usual_names(name: str, dialect: str) -> None:
    assert dialect_named(name).name == dialect
