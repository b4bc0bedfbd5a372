"""Whether a provider said all it had to say. Only its last words tell: a connection that was cut may end as quietly.

Owns: the last words of each dialect.
Must not know: what was said before.
"""

import json

from holdfast.wire.dialect import Dialect

_LAST = 4_096
"""Bytes at the end in which short last words are looked for."""
_WORDS: dict[Dialect, tuple[bytes, ...]] = {
    "anthropic": (b"message_stop",),
    "openai_chat": (b"[DONE]",),
    "openai_responses": (b"response.completed", b"response.incomplete", b"response.failed"),
}
_FIELDS = (b"event: ", b"event:", b"data: ", b"data:")


def is_whole(dialect: Dialect, data: bytes, is_stream: bool) -> bool:
    """Whether a response that came to its end is all of it.

    >>> is_whole("anthropic", b'event: message_stop\\ndata: {"type": "message_stop"}\\n\\n', True)
    True
    >>> is_whole("openai_chat", b'data: {"choices": [', True)
    False
    """
    if not is_stream:
        return _is_json(data)
    if not data.rstrip(b" ").endswith((b"\n", b"\r")):
        return False
    end = data if dialect == "openai_responses" else data[-_LAST:]  # that one repeats the whole answer at its end
    return any(field + words in end for words in _WORDS[dialect] for field in _FIELDS)


def is_between_events(data: bytes) -> bool:
    """Whether a stream that was cut here was cut between two events, so that one more can follow."""
    return not data or data.endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
        return True
    except (ValueError, RecursionError):
        return False
