"""The instructions that a request gives its model, beside the conversation.

Owns: where each API has them.
Must not know: tools, messages of the conversation itself.
"""

import json
from typing import Any

from keepwhole.wire import dialects
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.request_body import RequestBody


def instructions_of(request: RequestBody) -> str:
    """Return a request's instructions: those beside the messages, and the messages of the system and the developer."""
    return "\n".join([instructions_beside(request), *_messages_of_system(request)])


def instructions_beside(request: RequestBody) -> str:
    """Return the instructions that stand in a field of their own; empty where none do."""
    fields = (request.fields.get(name) for name in dialects.TABLE.instructions_fields)
    return "\n".join(_as_text(value) for value in fields if value)


def _messages_of_system(request: RequestBody) -> list[str]:
    decoded = map(decode_message, request.messages)
    return [message.said for message in decoded if message.role == "system"]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
