"""What an answer says of itself, in any dialect: its id, the model that gave it, and why it ended.

Owns: the names that providers have for these three. Whatever a provider wrote, nothing here raises.
Must not know: what the answer says.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from keepwhole.wire.content import Json, fields_of, text_of
from keepwhole.wire.sse import Events

_EDGE = 16_384
"""Bytes at both ends of a stream that are read: the names are in the first event, the reason in one of the last."""
_IDS = ("id", "responseId", "response_id")
_MODELS = ("model", "modelVersion")
_REASONS = ("finish_reason", "stop_reason", "finishReason", "stopReason")
_LISTS = ("choices", "candidates")
"""Fields with several answers to one question."""
_INNER = ("message", "response", "delta")
"""Fields of events that have the answer in them, or a part of it."""


class AnswerNames(NamedTuple):
    """What an answer says of itself."""

    id: str = ""
    model: str = ""
    reasons: tuple[str, ...] = ()


def answer_names(data: bytes, is_stream: bool) -> AnswerNames:
    """The names in an answer; empty where it says nothing that is understood.

    >>> answer_names(b'{"id": "msg_1", "model": "claude-sonnet-5", "stop_reason": "end_turn"}', is_stream=False)
    AnswerNames(id='msg_1', model='claude-sonnet-5', reasons=('end_turn',))
    """
    names = AnswerNames()
    for body in _bodies(data, is_stream):
        for fields in (body, *(fields_of(body.get(name)) for name in _INNER)):
            names = AnswerNames(
                names.id or _first(fields, _IDS),
                names.model or _first(fields, _MODELS),
                _reasons(fields) or names.reasons,
            )
    return names


def _bodies(data: bytes, is_stream: bool) -> Iterator[Json]:
    if is_stream:
        last = max(data.rstrip().rfind(end) for end in (b"\n\n", b"\r\n\r\n"))  # it may have the whole answer in it
        tail = min(len(data) - _EDGE, last)
        edges = (data,) if tail <= _EDGE else (data[:_EDGE], data[tail:])
        yield from (event.data() for edge in edges for event in Events().feed(edge))
        return
    try:
        body: Any = json.loads(data)
    except (ValueError, RecursionError):
        return
    yield from map(fields_of, cast("list[Any]", body) if isinstance(body, list) else (body,))


def _first(fields: Json, names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := text_of(fields.get(name)))), "")


def _reasons(fields: Json) -> tuple[str, ...]:
    """Why the answers ended; where a response has a status, that is why it did."""
    lists = next((fields[name] for name in _LISTS if isinstance(fields.get(name), list)), None)
    answers = [fields] if lists is None else list(map(fields_of, lists))
    found = tuple(reason for answer in answers if (reason := _first(answer, _REASONS)))
    if found or fields.get("object") != "response":
        return found
    status = text_of(fields_of(fields.get("incomplete_details")).get("reason")) or text_of(fields.get("status"))
    return (status,) if status and status != "in_progress" else ()
