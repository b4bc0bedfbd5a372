"""Results of a log that do not say which call they answer are results all the same."""

from typing import Any

import pytest

from keepwhole.logs.unnamed_results import decode_logged


def block(**fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "content": "text", **fields}


@pytest.mark.parametrize(
    ("message", "ids"),
    [
        ({"role": "tool", "content": "text"}, [""]),
        ({"role": "tool", "content": "text", "tool_call_id": 5}, [""]),
        ({"role": "tool", "content": "text", "tool_call_id": "c1"}, ["c1"]),
        ({"role": "function", "name": "f", "content": "text"}, [""]),
        ({"role": "tool"}, []),
        ({"type": "function_call_output", "output": "text"}, [""]),
        ({"type": "function_call_output", "output": "text", "call_id": "c1"}, ["c1"]),
        ({"type": "custom_tool_call_output", "output": "text"}, [""]),
        ({"role": "user", "content": [block()]}, [""]),
        ({"role": "user", "content": [block(tool_use_id="c1"), block(tool_use_id=None)]}, ["c1", ""]),
        ({"role": "user", "content": [block(tool_use_id="c1")]}, ["c1"]),
        ({"role": "user", "content": [{"type": "text", "text": "tool_result"}]}, []),
        ({"role": "user", "content": "text"}, []),
        ({"role": "user", "content": 5}, []),
        ("text", []),
        (None, []),
    ],
)
def test_each_result_is_read_with_its_call_or_with_none(message: object, ids: list[str]) -> None:
    returned = decode_logged(message).returned
    assert [(one.call_id, one.text) for one in returned] == [(id, "text") for id in ids]


def test_the_message_itself_is_not_changed() -> None:
    message = {"role": "user", "content": [block(), {"type": "text", "text": "and"}]}
    decoded = decode_logged(message)
    assert (decoded.said, len(decoded.returned)) == ("and", 1)
    assert message == {"role": "user", "content": [block(), {"type": "text", "text": "and"}]}
