"""Messages of Anthropic's Messages API.

Owns: `tool_use` and `tool_result` blocks. Everything that Anthropic runs, signs or encrypts itself (server tools and
their results, thinking, compaction) is sized and left alone.
Must not know: the other dialects.
"""

from collections.abc import Mapping
from typing import Any

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.wire.as_dict import build, fields_of, json_text, kind_of_part, parts_of
from keepwhole.wire.content import ROLES, WORDS, results_in, size_of

_OURS = ("tool_use", "tool_result", "image", "document", "search_result")
_THEIRS = ("thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "mcp_tool_result", "compaction")
BLOCKS = frozenset((*_OURS, *_THEIRS))
"""Types of blocks that no other dialect has in a message's content."""


def decode(message: Mapping[str, Any]) -> Message:
    """The message as policies see it; one that is not understood is of role `other` and has no results."""
    role, content = message.get("role"), message.get("content")
    known = ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        return Message("other", other=size_of(content))
    if isinstance(content, str):
        return build(Message, (known, content, (), (), 0, False))
    words: list[str] = []
    calls: list[Call] = []
    returned: list[ResultText] = []
    other = 0
    for at, block in enumerate(parts_of(content)):
        fields = block if block.__class__ is dict else fields_of(block)
        kind = fields.get("type")
        if kind == "tool_result":
            other += _add_results(fields, at, returned)
        elif kind == "tool_use":
            _add_call(fields, calls)
        elif kind == "text" and isinstance(text := fields.get("text"), str):
            words.append(text)
        else:
            other += _add_words(block, fields, words)
    if returned and not words:
        known = "tool"
    return build(Message, (known, "\n".join(words), tuple(calls), tuple(returned), other, False))


def _add_call(block: dict[str, Any], calls: list[Call]) -> None:
    call_id, name = block.get("id"), block.get("name")
    if isinstance(call_id, str) and isinstance(name, str):
        calls.append(build(Call, (call_id, name, json_text(block.get("input")))))


def _add_results(block: dict[str, Any], at: int, returned: list[ResultText]) -> int:
    """Add the texts of a result; gives the tokens of the rest."""
    call_id, content = block.get("tool_use_id"), block.get("content")
    if not isinstance(call_id, str):
        return size_of(content)
    path, is_error = ("content", at, "content"), block.get("is_error") is True
    if isinstance(content, str):
        returned.append(build(ResultText, (call_id, path, content, is_error)))
        return 0
    found, other = results_in(call_id, path, content, is_error)
    returned += found
    return other


def _add_words(block: Any, fields: dict[str, Any], words: list[str]) -> int:
    """Add a block's text; gives the tokens of a block that is no text."""
    text = block if isinstance(block, str) else fields.get(WORDS.get(kind_of_part(fields), ""))
    if not isinstance(text, str):
        return size_of(fields)
    words.append(text)
    return 0
