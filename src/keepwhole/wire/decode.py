"""Any message in, the same value out: which dialect it is in shows in its shape.

Owns: telling the dialects apart, message by message, since a history may be mixed or say nothing of its dialect.
Must not know: how a dialect spells calls and results.
"""

from collections.abc import Iterable
from typing import Any

from keepwhole.canonical.message import Message
from keepwhole.wire import anthropic, openai_chat, openai_responses
from keepwhole.wire.as_dict import fields_of, kind_of_part, parts_of
from keepwhole.wire.dialect import Dialect

_CHAT_PARTS = frozenset(("image_url", "input_audio", "file", "refusal"))
_RESPONSES_PARTS = frozenset(("input_text", "output_text", "input_image", "input_file"))
_chat, _item = openai_chat.decode, openai_responses.decode
_any_blocks = anthropic.decode
"""Blocks tell by their types what they are, so the decoder that knows most of them reads them for all dialects."""


def decode_message(message: object, pinned: bool = False) -> Message:
    """The message as policies see it, whoever spelled it; never raises.

    >>> decode_message({"role": "tool", "tool_call_id": "c", "content": "a.txt"}).returned[0].path
    ('content',)
    """
    fields = fields_of(message)
    if fields.get("role") == "tool" or "tool_calls" in fields:
        decoded = _chat(fields)
    elif "role" in fields and isinstance(fields.get("content"), (list, tuple)):
        decoded = _any_blocks(fields)
    elif "type" in fields:
        decoded = _item(fields)
    else:
        decoded = _chat(fields)
    return decoded._replace(pinned=True) if pinned else decoded


def dialect_of(messages: Iterable[object]) -> Dialect | None:
    """The dialect of the first message that only one of them has; `None` if all would do."""
    for message in messages:
        if dialect := _dialect(fields_of(message)):
            return dialect
    return None


def _dialect(fields: dict[str, Any]) -> Dialect | None:
    if fields.get("role") == "tool" or "tool_calls" in fields:
        return "openai_chat"
    content = fields.get("content") if "role" in fields else None
    kinds = {kind_of_part(fields_of(part)) for part in parts_of(content)}
    if kinds & anthropic.BLOCKS:
        return "anthropic"
    if kinds & _CHAT_PARTS:
        return "openai_chat"
    return "openai_responses" if kinds & _RESPONSES_PARTS or kind_of_part(fields) else None
