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
    """There is no text at the path, or its container cannot be copied."""


def apply(messages: Sequence[Any], edits: Mapping[int, Sequence[tuple[Path, str]]]) -> Applied:
    """The messages with the texts at the edits' paths replaced; a message is edited in all its places or in none."""
    edited = list(messages)
    skipped: set[int] = set()
    for index, changes in edits.items():
        try:
            edited[index] = _edited(edited, index, changes)
        except _Refused:
            skipped.add(index)
    return Applied(edited, frozenset(skipped))


def _edited(messages: list[Any], index: int, changes: Sequence[tuple[Path, str]]) -> Any:
    if not 0 <= index < len(messages):
        raise _Refused
    message = messages[index]
    for path, text in changes:
        if not path:
            raise _Refused
        message = _replaced(message, path, text)
    return message


def _replaced(value: Any, path: Path, text: str) -> Any:
    """A copy of `value` with `text` at `path`."""
    if not path:
        if isinstance(value, str):
            return text
        raise _Refused
    key, rest = path[0], path[1:]
    if isinstance(key, int):
        return _with_item(value, key, rest, text)
    if isinstance(value, dict):
        if key not in value:
            raise _Refused
        new = copy.copy(cast("dict[str, Any]", value))
        new[key] = _replaced(new[key], rest, text)
        return new
    return _with_attribute(value, key, rest, text)


def _with_item(value: Any, at: int, rest: Path, text: str) -> Any:
    if not isinstance(value, list | tuple) or not 0 <= at < len(cast("Sequence[Any]", value)):
        raise _Refused
    new = list(cast("Sequence[Any]", value))
    new[at] = _replaced(new[at], rest, text)
    return new if isinstance(value, list) else tuple(new)


def _with_attribute(value: Any, key: str, rest: Path, text: str) -> Any:
    """A copy of an SDK's object; one that raises is left alone."""
    try:
        part = _replaced(getattr(value, key), rest, text)
        if hasattr(value, "model_copy"):
            return value.model_copy(update={key: part})
        new = copy.copy(value)
        if new is value:
            raise _Refused
        setattr(new, key, part)
    except Exception as error:
        raise _Refused from error
    return new


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
