"""Messages and their parts read like plain JSON, be they dicts, other mappings or objects of an SDK.

Owns: what counts as an object, as a list, as JSON text; nothing here raises.
Must not know: any dialect.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

_OF_MESSAGES = ("role", "type", "content", "tool_calls", "tool_call_id", "function", "custom", "text", "refusal")
_OF_CALLS = ("id", "call_id", "tool_use_id", "name", "namespace", "arguments", "input", "action", "operation")
_OF_RESULTS = ("output", "is_error", "status", "outcome", "exit_code", "stdout", "stderr")
_NAMES = (*_OF_MESSAGES, *_OF_CALLS, *_OF_RESULTS)
"""What is asked of an object besides its own attributes; it may have them as properties or in slots."""

build = cast("Callable[[Any, tuple[Any, ...]], Any]", tuple.__new__)  # pyright: ignore[reportUnknownMemberType]
"""`build(Message, (…))` with all fields takes a third of the time of `Message(…)`, and there are thousands."""


def fields_of(value: Any) -> dict[str, Any]:
    """A dict, another mapping or an object of an SDK as a dict, one level deep; empty for anything else."""
    if isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType]
    if value is None or isinstance(value, str | bytes | int | float | list | tuple):
        return {}
    try:
        return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else _attributes(value)
    except Exception:  # whatever a foreign object raises, it is one that we do not understand
        return {}


def _attributes(value: Any) -> dict[str, Any]:
    own: dict[str, Any] = {**getattr(value, "__dict__", {}), **(getattr(value, "__pydantic_extra__", None) or {})}
    known = {name: found for name, found in own.items() if found is not None and not name.startswith("_")}
    asked = {name: found for name in _NAMES if (found := getattr(value, name, None)) is not None}
    return known | asked


def parts_of(content: Any) -> list[Any]:
    """The parts of a content that is a list; an iterator is nobody's to use up, so it has none."""
    if isinstance(content, list):
        return content  # pyright: ignore[reportUnknownVariableType]
    return list(cast("tuple[Any, ...]", content)) if isinstance(content, tuple) else []


def text_of(value: object) -> str:
    """The value if it is a text, else nothing."""
    return value if isinstance(value, str) else ""


def kind_of_part(part: Mapping[str, Any]) -> str:
    """The `type` of a part or an item; empty if it has none."""
    kind = part.get("type")
    return kind if isinstance(kind, str) else ""


def json_text(value: object) -> str:
    """A call's arguments as JSON text; a text is taken to be that already."""
    if isinstance(value, str):
        return value
    try:
        return "" if value is None else "".join(_encode(value, 0))
    except Exception:  # a cycle, names that are no strings, or whatever a foreign object raises
        return ""


def _plain(value: object) -> object:
    return fields_of(value) or str(value)


def _encoder() -> Callable[[Any, int], Iterable[str]]:
    """The pieces that `JSONEncoder.encode` joins, without the encoder that it makes anew for each call."""
    try:
        make = cast("Callable[..., Callable[[Any, int], Iterable[str]]]", vars(json.encoder)["c_make_encoder"])
        return make(None, _plain, json.encoder.encode_basestring, None, ": ", ", ", False, False, True)
    except (KeyError, TypeError):  # a Python that has none, or another one
        slow = json.JSONEncoder(ensure_ascii=False, default=_plain)
        return lambda value, _: slow.iterencode(value)


_encode = _encoder()
