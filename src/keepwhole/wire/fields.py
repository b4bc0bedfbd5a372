"""Values of messages read alike, whether they are dicts, other mappings or objects of an SDK. Nothing here raises.

Owns: reading one field, all fields, the parts of a list, a text, a type.
Must not know: what any of them means.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

Json: TypeAlias = dict[str, Any]
"""A JSON object."""
Wire: TypeAlias = Mapping[str, Any]
"""A message, an input item or a block as it is sent."""

_OF_MESSAGES = ("role", "type", "content", "tool_calls", "tool_call_id", "function", "custom", "text", "refusal")
_OF_CALLS = ("id", "call_id", "tool_use_id", "name", "namespace", "arguments", "input", "action", "operation")
_OF_RESULTS = ("output", "is_error", "status", "outcome", "exit_code", "stdout", "stderr")
_NAMES = (*_OF_MESSAGES, *_OF_CALLS, *_OF_RESULTS)
"""Attributes that are read from an object besides its `__dict__`; it may have them as properties or in slots."""


def fields_of(value: Any) -> Json:
    """A dict, another mapping or an object of an SDK as a dict, one level deep; empty for anything else."""
    if isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType]
    if value is None or isinstance(value, str | bytes | int | float | list | tuple):
        return {}
    try:
        return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else _attributes(value)
    except Exception:  # whatever a foreign object raises, it is one that cannot be understood
        return {}


def _attributes(value: Any) -> Json:
    own: Json = {**getattr(value, "__dict__", {}), **(getattr(value, "__pydantic_extra__", None) or {})}
    known = {name: found for name, found in own.items() if found is not None and not name.startswith("_")}
    asked = {name: found for name in _NAMES if (found := getattr(value, name, None)) is not None}
    return known | asked


def field_of(value: object, key: str) -> Any:
    """One field of a mapping or of an SDK's object; None where it has none."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(key)
    return getattr(value, key, None)


def parts_of(content: Any) -> list[Any]:
    """The parts of a content that is a list; an iterator would be used up by reading it, so it has none."""
    if isinstance(content, list):
        return content  # pyright: ignore[reportUnknownVariableType]
    return list(cast("tuple[Any, ...]", content)) if isinstance(content, tuple) else []


def text_of(value: object) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def kind_of_part(part: Wire) -> str:
    """The `type` of a part or an item; empty if it has none."""
    kind = part.get("type")
    return kind if isinstance(kind, str) else ""
