"""Questions of servers (sampling, elicitation, roots), each with the name of the server that asks.

A client shows them as questions of the gateway, so a person could not tell which server wants to know something.
Must not know: connections.
"""

from typing import Any, cast

import mcp_types as types
from pydantic import TypeAdapter

SERVER = "keepwhole/server"
"""In `_meta` of a question: the server that asks."""
_WORDS = {"elicitation/create": "message", "sampling/createMessage": "systemPrompt"}
"""By method, the field that says what is asked."""
_QUESTION: TypeAdapter[Any] = TypeAdapter(types.InputRequest)


def signed(request: types.InputRequest, server: str) -> types.InputRequest:
    """The question with the server's name before its words."""
    fields = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    return _QUESTION.validate_python(_signed_fields(fields, server), by_name=False)


def signed_result(result: dict[str, Any], server: str) -> dict[str, Any]:
    """An answer of a server that asks by answering, with its name in each question."""
    asked: Any = result.get("inputRequests")
    if result.get("resultType") != "input_required" or not isinstance(asked, dict):
        return result
    requests = cast("dict[str, Any]", asked)
    return {**result, "inputRequests": {key: _signed_fields(value, server) for key, value in requests.items()}}


def _signed_fields(request: Any, server: str) -> Any:
    if not isinstance(request, dict):
        return request
    fields = cast("dict[str, Any]", request)
    field, given = _WORDS.get(str(fields.get("method"))), fields.get("params")
    if field is None:
        return fields
    params = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    words = f"The MCP server `{server}` asks: {params.get(field) or ''}".rstrip()
    before: dict[str, Any] = params.get("_meta") or {}
    meta = {**before, SERVER: server}
    return {**fields, "params": {**params, field: words, "_meta": meta}}
