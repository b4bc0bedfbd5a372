"""Messages of OpenAI's Chat Completions, and of everyone who speaks like it.

Owns: `tool_calls` (functions and custom tools) and messages of role `tool`.
Must not know: the other dialects.
"""

from collections.abc import Mapping
from typing import Any

from keepwhole.canonical.message import Call, Message
from keepwhole.wire.as_dict import build, fields_of, json_text, parts_of
from keepwhole.wire.content import ROLES, results_in, size_of, spoken


def decode(message: Mapping[str, Any]) -> Message:
    """The message as policies see it; one that is not understood is of role `other` and has no results."""
    role = message.get("role")
    if role == "tool":
        return _result(message)
    known = ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        return Message("other", other=size_of(message.get("content")))
    said, other = spoken(message.get("content"))
    if known != "assistant":
        return build(Message, (known, said, (), (), other, False))
    if "reasoning_content" in message:
        other += size_of(message["reasoning_content"])
    calls = message.get("tool_calls")
    return build(Message, (known, said, _calls(calls) if calls else (), (), other, False))


def _result(message: Mapping[str, Any]) -> Message:
    call_id, content = message.get("tool_call_id"), message.get("content")
    if not isinstance(call_id, str):
        return Message("other", other=size_of(content))
    returned, other = results_in(call_id, ("content",), content)
    return build(Message, ("tool", "", (), returned, other, False))


def _calls(tool_calls: Any) -> tuple[Call, ...]:
    calls: list[Call] = []
    for spelled in parts_of(tool_calls):
        fields = fields_of(spelled)
        called, key = fields_of(fields.get("function")), "arguments"
        if not called:
            called, key = fields_of(fields.get("custom")), "input"
        call_id, name = fields.get("id"), called.get("name")
        if isinstance(call_id, str) and isinstance(name, str):
            calls.append(build(Call, (call_id, name, json_text(called.get(key)))))
    return tuple(calls)
