"""The providers' own types accept what we send: before edits and after, as values and as bytes."""

import copy
import json
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from keepwhole.wire import dialects as wire
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.edits import apply
from keepwhole.wire.request_body import read_request
from tests.wire.requests import ANTHROPIC, CHAT, RESPONSES

DIALECTS = [
    pytest.param("messages", CHAT, "openai.types.chat.ChatCompletionMessageParam", id="chat"),
    pytest.param("input", RESPONSES, "openai.types.responses.ResponseInputItemParam", id="responses"),
    pytest.param("messages", ANTHROPIC, "anthropic.types.MessageParam", id="anthropic"),
]
dialects = pytest.mark.parametrize(("key", "messages", "adapter"), DIALECTS, indirect=["adapter"])


@pytest.fixture
def adapter(request: pytest.FixtureRequest) -> TypeAdapter[Any]:
    """The SDK's type of that name."""
    return _adapter(request.param)


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    module, _, kind = name.rpartition(".")
    return TypeAdapter(getattr(import_module(module), kind))


def accepted(adapter: TypeAdapter[Any], message: Any) -> Any:
    """The message as the SDK's type sees it; its iterables are checked only as they are read."""
    return plain(adapter.validate_python(message))


def plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return plain(value.model_dump(exclude_unset=True))
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if hasattr(value, "__iter__") and not isinstance(value, str) else value


def edits_of(messages: list[dict[str, Any]]) -> dict[int, list[tuple[Any, str]]]:
    found = {
        at: [
            (returned.path, returned.replacement(f"cut – {returned.call_id}"))
            for returned in decode_message(message).returned
        ]
        for at, message in enumerate(messages)
    }
    return {at: changes for at, changes in found.items() if changes}


@dialects
def test_the_conversations_here_are_what_the_sdk_sends(
    key: str, messages: list[dict[str, Any]], adapter: TypeAdapter[Any]
) -> None:
    for message in messages:
        assert accepted(adapter, message) == message


def test_the_types_refuse_what_is_wrong() -> None:
    for case in DIALECTS:
        adapter = _adapter(str(case.values[2]))
        with pytest.raises(ValidationError):
            accepted(adapter, {"role": "nobody", "content": 5})


@dialects
def test_edited_messages_are_accepted_and_differ_in_nothing_but_the_edits(
    key: str, messages: list[dict[str, Any]], adapter: TypeAdapter[Any]
) -> None:
    edits = edits_of(messages)
    assert edits
    expected = copy.deepcopy(messages)
    for at, changes in edits.items():
        for path, text in changes:
            value: Any = expected[at]
            for step in path[:-1]:
                value = value[step]
            value[path[-1]] = text
    applied = apply(messages, edits)
    assert (applied.messages, applied.skipped) == (expected, frozenset())
    request = read_request(json.dumps({"model": "m", key: messages}).encode())
    assert request is not None
    sent = json.loads(request.splice(edits))
    assert (sent, request.skipped) == ({"model": "m", key: expected}, [])
    for message in sent[key]:
        assert accepted(adapter, message) == message


def test_result_blocks_are_accepted_and_read_back() -> None:
    chat = wire.OPENAI_CHAT.result_block("c", "x")
    item = wire.OPENAI_RESPONSES.result_block("c", "x")
    message = {"role": "user", "content": [wire.ANTHROPIC.result_block("c", "x", is_error=True)]}
    for case, spelled in zip(DIALECTS, (chat, item, message), strict=True):
        adapter = _adapter(str(case.values[2]))
        assert accepted(adapter, spelled) == spelled
        (returned,) = decode_message(spelled).returned
        assert (returned.call_id, returned.text) == ("c", "x")
