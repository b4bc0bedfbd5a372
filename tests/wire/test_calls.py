"""A tool call in any provider's spelling, and the block that answers it."""

from types import SimpleNamespace
from typing import Any

import pytest

from keepwhole.errors import UsageError
from keepwhole.wire.calls import Call, parse_call, result_block
from keepwhole.wire.dialect import dialect_named

CALLS: list[tuple[dict[str, Any], Call]] = [
    (
        {"id": "c", "type": "function", "function": {"name": "run", "arguments": '{"a": 1}'}},
        Call(name="run", arguments='{"a": 1}', call_id="c", dialect="openai_chat"),
    ),
    (
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "run", "arguments": '{"a": 1}'},
        Call(name="run", arguments='{"a": 1}', call_id="c", dialect="openai_responses"),
    ),
    (
        {"type": "tool_use", "id": "c", "name": "run", "input": {"a": 1}},
        Call(name="run", arguments={"a": 1}, call_id="c", dialect="anthropic"),
    ),
    (
        {"name": "run", "arguments": {"a": 1}},
        Call(name="run", arguments={"a": 1}, call_id=None, dialect="mcp"),
    ),
]


@pytest.mark.parametrize(("spelled", "call"), CALLS)
def test_every_spelling_is_read(spelled: dict[str, Any], call: Call) -> None:
    assert parse_call(spelled) == call
    assert call.parsed() == {"a": 1}


@pytest.mark.parametrize(("spelled", "call"), CALLS)
def test_an_object_of_an_sdk_is_read_like_a_dict(spelled: dict[str, Any], call: Call) -> None:
    fields = {key: SimpleNamespace(**value) if key == "function" else value for key, value in spelled.items()}
    assert parse_call(SimpleNamespace(**fields)) == call


@pytest.mark.parametrize("arguments", [None, "", "{}"])
def test_no_arguments_are_an_empty_object(arguments: str | None) -> None:
    assert Call(name="t", arguments=arguments, call_id=None, dialect="mcp").parsed() == {}


@pytest.mark.parametrize("arguments", ["not json", "[1]", "5", "null", '"text"'])
def test_arguments_that_are_no_object_are_refused(arguments: str) -> None:
    with pytest.raises(UsageError, match="JSON object") as refused:
        Call(name="t", arguments=arguments, call_id=None, dialect="mcp").parsed()
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
    assert result_block("anthropic", "c", "x") == {"type": "tool_result", "tool_use_id": "c", "content": "x"}
    assert result_block("anthropic", "c", "x", is_error=True)["is_error"] is True
    assert result_block("openai_chat", "c", "x") == {"role": "tool", "tool_call_id": "c", "content": "x"}
    assert result_block("openai_responses", "c", "x") == {
        "type": "function_call_output",
        "call_id": "c",
        "output": "x",
    }
    assert result_block("mcp", None, "x", is_error=True) == {
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
    assert dialect_named(name) == dialect
