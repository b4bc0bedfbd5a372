"""Results that do not say which call they answer.

A provider would refuse them, so the dialects decode them as something else. In a log they are still what a tool
returned: here they get an empty call id, with which they are decoded as results.
Must not know: clients.
"""

from typing import Any, cast

from keepwhole.canonical.message import Message
from keepwhole.wire.content import fields_of, kind_of_part
from keepwhole.wire.dialects import decode_message


def decode_logged(message: object) -> Message:
    """Decode a message of a log; results without a call id are results too."""
    return decode_message(_with_call_ids(message))


def _with_call_ids(message: object) -> object:
    fields = fields_of(message)
    if fields.get("role") in ("tool", "function") and "content" in fields:
        return {**fields, "role": "tool", "tool_call_id": _id(fields.get("tool_call_id"))}
    if kind_of_part(fields).endswith("_call_output"):
        return {**fields, "call_id": _id(fields.get("call_id"))}
    content: Any = fields.get("content")
    if isinstance(content, list) and any(_lacks_id(block) for block in cast("list[Any]", content)):
        blocks = cast("list[Any]", content)
        return {**fields, "content": [{**block, "tool_use_id": ""} if _lacks_id(block) else block for block in blocks]}
    return message


def _lacks_id(block: object) -> bool:
    fields = fields_of(block)
    return kind_of_part(fields) == "tool_result" and not isinstance(fields.get("tool_use_id"), str)


def _id(value: object) -> str:
    return value if isinstance(value, str) else ""
