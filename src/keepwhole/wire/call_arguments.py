"""The arguments of a call inside the messages of a request: where they are, and the edits that cut or restore them.

Owns: from a call and its cuts to edits of a message, whether the arguments are an object or a text there.
Must not know: which calls are cut, and when.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from keepwhole.canonical.arguments import string_values
from keepwhole.canonical.message import Call, Path
from keepwhole.truncation.arguments import cut_arguments, cut_values
from keepwhole.truncation.cut import ArgumentCut
from keepwhole.wire.dialects import DEFAULT, dialect_of
from keepwhole.wire.fields import field_of, fields_of

Edit: TypeAlias = tuple[Path, str]


class ArgumentsPlace(NamedTuple):
    """Where a message has the arguments of a call."""

    path: Path
    form: Literal["object", "text"]
    is_signed: bool
    """Whether the answer that they are a part of has signed reasoning."""


def find_arguments(messages: Sequence[Any], index: int, call: Call) -> ArgumentsPlace | None:
    """Where the message at `index` has the arguments of a call; None where nothing of them may be changed.

    An answer may be several messages or items: reasoning, words and calls.
    """
    message = fields_of(messages[index])
    dialect = dialect_of((message,)) or DEFAULT
    path = dialect.arguments_path(message, call.call_id)
    if path is None:
        return None
    value = _value_at(message, path)
    is_object = isinstance(value, dict)
    if not is_object and not (isinstance(value, str) and (path[-1] != "arguments" or _is_object(value))):
        return None
    is_signed = False
    while index >= 0 and not is_signed and dialect.is_answer(fields := fields_of(messages[index])):
        is_signed = dialect.is_signed(fields)
        index -= 1
    return ArgumentsPlace(path, "object" if is_object else "text", is_signed)


def cut_edits(place: ArgumentsPlace, call: Call, cuts: Sequence[ArgumentCut]) -> list[Edit]:
    """The edits that cut the arguments of a call in its message."""
    if place.form == "text":
        return [(place.path, cut_arguments(call.arguments, cuts))]
    return [((*place.path, *path), text) for path, text in cut_values(call.arguments, cuts)]


def restoring_edits(place: ArgumentsPlace, original: str) -> list[Edit]:
    """The edits that put arguments back whole, which are cut in their message."""
    if place.form == "text":
        return [(place.path, original)]
    return [((*place.path, *path), text) for path, text in string_values(original)]


def _value_at(value: Any, path: Path) -> Any:
    for key in path:
        value = cast("list[Any]", value)[key] if isinstance(key, int) else field_of(value, key)
    return value


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
