"""One request to a provider and its answer, out of the wrappings that logs put them in.

Must not know: how a dialect names what it sends and gets; which exchanges are one run.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from keepwhole.logs.lines import DECODE_ERRORS
from keepwhole.wire.content import fields_of, kind_of_part, parts_of, text_of
from keepwhole.wire.dialect import Dialect

_WRAPPED = ("request", "body", "kwargs", "params")


class Exchange(NamedTuple):
    """A request, and its answer where the log has it."""

    sent: Sequence[Any]
    answer: Sequence[Any] = ()
    model: str = ""
    id: str = ""
    """Of the answer; a later request may name it instead of repeating everything."""
    after: str = ""
    """The answer that this request goes on from, where it names one."""


def unwrapped(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request and the answer to it; each is the record itself where it is not wrapped."""
    request = fields
    for _ in range(2):
        request = next((inner for key in _WRAPPED if (inner := _object(request.get(key)))), request)
    response = _object(fields.get("response"))
    return request, _object(response.get("body")) or response or fields


def is_message(fields: dict[str, Any]) -> bool:
    """Whether it is one message or item by itself, not wrapped in anything."""
    if isinstance(fields.get("role"), str) and ("content" in fields or "tool_calls" in fields):
        return "choices" not in fields and "usage" not in fields
    kind = kind_of_part(fields)
    return kind == "reasoning" or kind.endswith(("_call", "_call_output"))


def is_messages(value: object) -> bool:
    """Whether it is a list of nothing but messages."""
    parts = parts_of(value)
    return bool(parts) and all(is_message(fields_of(part)) for part in parts)


def read_exchange(dialect: Dialect, request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    """The exchange that a logged request and its answer are."""
    return Exchange(
        dialect.logged_messages(request),
        dialect.logged_answer(response),
        text_of(request.get("model")) or text_of(response.get("model")),
        text_of(response.get("id")),
        text_of(request.get(dialect.previous_answer_field)),
    )


def _object(value: object) -> dict[str, Any]:
    """An object, also where a log has it as JSON text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return fields_of(msgspec.json.decode(value))
        except DECODE_ERRORS:
            return {}
    return fields_of(value)
