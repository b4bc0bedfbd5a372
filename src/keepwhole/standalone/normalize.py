"""The result of a tool as text: whole for the record, limited if the caller asks for it for a view.

Owns: the two modes. `canonical` cleans up types and never limits: `canonical_tool_result_is_lossless`. `projection` may
be limited by a cut function that the caller gives.
Must not know: limits, strategies, where the text goes.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, cast, overload

from keepwhole.canonical.utf8 import decode, showable
from keepwhole.errors import UsageError

Mode: TypeAlias = Literal["canonical", "projection"]
CutText: TypeAlias = Callable[[str], str]


@overload
def normalize(result: object, mode: Literal["canonical"]) -> str | bytes: ...
@overload
def normalize(result: object, mode: Literal["projection"], cut: CutText | None = None) -> str: ...
def normalize(result: object, mode: Mode, cut: CutText | None = None) -> str | bytes:
    """Return the text of a tool's result; in `canonical` mode in full, with bytes that are not UTF-8 unchanged.

    >>> normalize({"rows": 2}, mode="canonical")
    '{"rows": 2}'
    """
    if mode == "canonical":
        if cut is not None:
            raise UsageError('A canonical result is never limited. Give `cut` with `mode="projection"` only.')
        return _text(result)
    if mode != "projection":
        raise UsageError(f'There is no mode `{mode}`. Use "canonical" for the record or "projection" for a view.')
    text = _text(result)
    shown = showable(decode(text, "bytes") if isinstance(text, bytes) else text)
    return shown if cut is None else cut(shown)


def _text(result: object) -> str | bytes:
    if result is None or isinstance(result, str):
        return result or ""
    if isinstance(result, bytes | bytearray | memoryview):
        return _decoded(bytes(cast("bytes", result)))
    only = _only_text(result)
    return _json(result) if only is None else only


def _decoded(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _only_text(result: object) -> str | None:
    """Return the text of a result that is nothing but one block of text, as MCP and the providers spell it."""
    if isinstance(result, list | tuple) and len(cast("list[object]", result)) == 1:
        result = cast("list[object]", result)[0]
    if not isinstance(result, Mapping):
        return None
    block = cast("Mapping[str, object]", result)
    text = block.get("text")
    is_text = set(block) == {"type", "text"} and block["type"] in ("text", "input_text", "output_text")
    return text if is_text and isinstance(text, str) else None


def _json(result: object) -> str:
    """Return a value as JSON text, or as Python prints it where JSON has no form for it."""
    try:
        return json.dumps(result, ensure_ascii=False, default=_json_form)
    except (TypeError, ValueError, RecursionError):
        return str(result)


def _json_form(value: Any) -> object:
    """Return the JSON form of an object: by its own method if it has one, else as text."""
    for name in ("model_dump", "as_dict", "to_dict", "_asdict"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return method()
    if isinstance(value, set | frozenset):
        return sorted(cast("set[object]", value), key=str)
    if isinstance(value, bytes | bytearray):
        return decode(value, "bytes")
    fields: object = getattr(value, "__dataclass_fields__", None)
    if isinstance(fields, dict) and not isinstance(value, type):
        return {name: getattr(value, name) for name in cast("dict[str, object]", fields)}
    return str(value)
