"""Whether a provider said all it had to say. Only its last words tell: a connection that was cut may end as quietly.

Owns: the last words of each dialect.
Must not know: what was said before.
"""

import json
import re

from keepwhole.wire.dialect import Dialect

_LAST = 4_096
"""Bytes at the end in which short last words are looked for."""
_ENDINGS: dict[Dialect, re.Pattern[bytes]] = {
    # At the start of a line, since a model may say the same words; with their data, which a cut may leave out.
    # The look behind comes second, so that the search for the letters before it stays fast.
    "anthropic": re.compile(rb"event:(?<![^\r\n]event:) ?message_stop\r?\n?data:[^\r\n]*[\r\n]"),
    "openai_chat": re.compile(rb"data:(?<![^\r\n]data:) ?\[DONE\] *[\r\n]"),
    "openai_responses": re.compile(
        rb"event:(?<![^\r\n]event:) ?response\.(?:completed|incomplete|failed)\r?\n?data:[^\r\n]*[\r\n]"
    ),
}


def is_whole(dialect: Dialect, data: bytes, is_stream: bool) -> bool:
    """Whether a response that came to its end is all of it.

    >>> is_whole("anthropic", b'event: message_stop\\ndata: {"type": "message_stop"}\\n\\n', True)
    True
    >>> is_whole("openai_chat", b'data: {"choices": [', True)
    False
    """
    if not is_stream:
        return _is_json(data)
    end = data if dialect == "openai_responses" else data[-_LAST:]
    return _ENDINGS[dialect].search(end) is not None


def is_between_events(data: bytes) -> bool:
    """Whether a stream that was cut here was cut between two events, so that one more can follow."""
    return not data or data.endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
        return True
    except (ValueError, RecursionError):
        return False
