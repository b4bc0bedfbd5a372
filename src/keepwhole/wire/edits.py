"""Messages that are Python values: compared with earlier ones, copied, and edited at a path.

Owns: copying along a path and nothing beside it, in dicts and in objects of SDKs; whether messages are those of an
earlier request, also where a client changed them in place since.
Must not know: dialects; requests as bytes (`request_body`).
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from keepwhole.canonical.message import Path


class Applied(NamedTuple):
    """Messages after edits."""

    messages: list[Any]
    skipped: frozenset[int]
    """Places of messages that could not be edited and are as they were."""


class _Refused(Exception):
    """There is nothing of the kind at the path, or its container cannot be copied."""


def apply(messages: Sequence[Any], edits: Mapping[int, Sequence[tuple[Path, Any]]]) -> Applied:
    """The messages with the values at the edits' paths replaced: a text by a text, a part by a part. A message is
    edited in all its places or in none."""
    edited = list(messages)
    skipped: set[int] = set()
    for index, changes in edits.items():
        try:
            edited[index] = _edited(edited, index, changes)
        except _Refused:
            skipped.add(index)
    return Applied(edited, frozenset(skipped))


def _edited(messages: list[Any], index: int, changes: Sequence[tuple[Path, Any]]) -> Any:
    if not 0 <= index < len(messages):
        raise _Refused
    message = messages[index]
    for path, new in changes:
        if not path:
            raise _Refused
        message = _replaced(message, path, new)
    return message


def _replaced(value: Any, path: Path, new: Any) -> Any:
    """A copy of `value` with `new` at `path`, where something of its kind is."""
    if not path:
        if isinstance(value, str) is isinstance(new, str) and not isinstance(value, list | tuple | int | float | None):
            return new
        raise _Refused
    key, rest = path[0], path[1:]
    if isinstance(key, int):
        return _with_item(value, key, rest, new)
    if isinstance(value, dict):
        if key not in value:
            raise _Refused
        copied = copy.copy(cast("dict[str, Any]", value))
        copied[key] = _replaced(copied[key], rest, new)
        return copied
    return _with_attribute(value, key, rest, new)


def _with_item(value: Any, at: int, rest: Path, new: Any) -> Any:
    if not isinstance(value, list | tuple) or not 0 <= at < len(cast("Sequence[Any]", value)):
        raise _Refused
    items = list(cast("Sequence[Any]", value))
    items[at] = _replaced(items[at], rest, new)
    return items if isinstance(value, list) else tuple(items)


def _with_attribute(value: Any, key: str, rest: Path, new: Any) -> Any:
    """A copy of an SDK's object; one that raises is left alone."""
    try:
        part = _replaced(getattr(value, key), rest, new)
        if hasattr(value, "model_copy"):
            return value.model_copy(update={key: part})
        shallow = copy.copy(value)
        if shallow is value:
            raise _Refused
        setattr(shallow, key, part)
    except Exception as error:
        raise _Refused from error
    return shallow


_DEEP = 6


def alike(messages: Sequence[Any], known: Sequence[Any]) -> int:
    """How many messages at the front are the same in both."""
    length = min(len(known), len(messages))
    if messages[:length] == known[:length]:
        return length
    return next((at for at in range(length) if messages[at] is not known[at] and messages[at] != known[at]), length)


def copied(value: Any, deep: int = _DEEP) -> Any:
    """A copy of the lists and dicts of a message, with the same texts in them."""
    if not deep:
        return value
    if isinstance(value, dict):
        return {key: copied(part, deep - 1) for key, part in cast("dict[Any, Any]", value).items()}
    return [copied(part, deep - 1) for part in cast("list[Any]", value)] if isinstance(value, list) else value
