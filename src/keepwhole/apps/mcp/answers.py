"""A server's answer made valid for a revision of the protocol, so that one malformed part does not cost the rest.

The library validates an answer as a whole and raises where any part of it is malformed. Here the malformed parts are
found one by one: an item of a list is dropped, an item of a tool's result is passed on as text.
Must not know: servers, connections.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from mcp_types.methods import validate_server_result

from keepwhole.apps.mcp.recall_tools import text_item

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The methods that list something, and the field with the items."""
_CALL = "tools/call"
_DEFAULTS = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What the newest revision requires; earlier ones ignore it."""
_IsValid = Callable[[dict[str, Any]], bool]


def valid_answer(method: str, version: str, result: dict[str, Any]) -> dict[str, Any] | None:
    """The answer as it is where it is valid, else what can be made valid of it; None where nothing can."""
    is_valid = partial(_is_valid, method, version)
    if is_valid(result):
        return result
    whole = {**_DEFAULTS, **result}
    if is_valid(whole):
        return whole
    if method in LISTS:
        return _valid_list(whole, LISTS[method], is_valid)
    return _valid_call(whole, is_valid) if method == _CALL else None


def _is_valid(method: str, version: str, result: dict[str, Any]) -> bool:
    try:
        validate_server_result(method, version, result)
    except KeyError:  # the revision does not define the method, so there is nothing to check
        return True
    except (ValueError, RecursionError):
        return False
    return True


def _valid_list(result: dict[str, Any], key: str, is_valid: _IsValid) -> dict[str, Any] | None:
    frame = _valid_frame(result, key, is_valid)
    if frame is None:
        return None
    return {**frame, key: [item for item in _list(result.get(key)) if is_valid({**frame, key: [item]})]}


def _valid_call(result: dict[str, Any], is_valid: _IsValid) -> dict[str, Any]:
    frame = _valid_frame(result, "content", is_valid)
    if frame is None:
        return {**_DEFAULTS, "content": [text_item(_as_text(result))], "isError": result.get("isError") is True}
    given = result.get("content")
    items = _list(given) if isinstance(given, list | None) else [given]
    content = [item if is_valid({**frame, "content": [item]}) else text_item(_as_text(item)) for item in items]
    if "structuredContent" in result and "structuredContent" not in frame:
        content.append(text_item(_as_text(result["structuredContent"])))
    return {**frame, "content": content}


def _valid_frame(result: dict[str, Any], key: str, is_valid: _IsValid) -> dict[str, Any] | None:
    """The answer with nothing in the list `key`, and without fields that are malformed; None if that is not valid."""
    empty: dict[str, Any] = {**_DEFAULTS, key: []}
    frame = {name: value for name, value in result.items() if name != key and is_valid({**empty, name: value})}
    frame = {**empty, **frame}
    return frame if is_valid(frame) else None


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
