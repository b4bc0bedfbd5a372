"""What a request is for: a turn of the agent, the client's own compaction, a call beside the conversation, a count.

Owns: the signs of each.
Must not know: whose request it is, what is done about it.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from keepwhole.wire.as_dict import fields_of, text_of
from keepwhole.wire.decode import decode_message
from keepwhole.wire.endpoint import Endpoint
from keepwhole.wire.pairs import contents
from keepwhole.wire.request_body import RequestBody

Purpose: TypeAlias = Literal["turn", "compaction", "side", "count"]

_METADATA = "x-codex-turn-metadata"
_INSTRUCTIONS = (
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
    "You are performing a CONTEXT CHECKPOINT COMPACTION.",
)
"""How the text begins with which Claude Code and Codex ask for a summary."""
_HISTORY = "Here is the conversation so far:"
"""How opencode begins the one text that it wants summarised; it offers no tools with it."""


def purpose_of(endpoint: Endpoint, headers: Mapping[str, str], request: RequestBody) -> Purpose:
    """What a request is for."""
    if endpoint.counts:
        return "count"
    if endpoint.compacts or _asks_for_summary(headers, request):
        return "compaction"
    return "side" if not has_tools(request) and not continues(request) and _is_plain(request) else "turn"


def continues(request: RequestBody) -> bool:
    """Whether a request goes on with one that the provider has, and so holds half of its conversation."""
    return any(request.fields.get(key) for key in ("previous_response_id", "conversation"))


def has_tools(request: RequestBody) -> bool:
    """Whether a request offers tools."""
    return bool(request.fields.get("tools") or request.fields.get("functions"))


def _asks_for_summary(headers: Mapping[str, str], request: RequestBody) -> bool:
    """Whether a client says so, or else its last words do."""
    kind = _kind(headers.get(_METADATA)) or _kind(request.fields.get("client_metadata"))
    if kind:
        return kind == "compaction"
    words = _last_words(request)
    return words.startswith(_INSTRUCTIONS) or (words.startswith(_HISTORY) and not has_tools(request))


def _kind(metadata: object) -> str:
    """The kind of request that Codex names: in JSON, or in JSON inside of that."""
    try:
        fields = fields_of(json.loads(metadata) if isinstance(metadata, str) else metadata)
    except (ValueError, RecursionError):
        return ""
    return text_of(fields.get("request_kind")) or (_kind(fields[_METADATA]) if _METADATA in fields else "")


def _last_words(request: RequestBody) -> str:
    """The last text in the last message of the user."""
    users = (fields for each in reversed(request.messages) if (fields := fields_of(each)).get("role") == "user")
    blocks: list[Any] = contents(next(users, {"content": request.fields.get("input")}))
    return next((text for block in reversed(blocks) if (text := text_of(fields_of(block).get("text")))), "")


def _is_plain(request: RequestBody) -> bool:
    """Whether no tool was called in a conversation."""
    decoded = map(decode_message, request.messages)
    return not any(message.calls or message.returned for message in decoded)
