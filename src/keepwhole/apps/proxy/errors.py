"""What the proxy says itself, in the words of whoever asks.

Owns: the shape of an error in each dialect.
Must not know: what went wrong.
"""

import json

from aiohttp import web

from keepwhole.wire.endpoint import Endpoint

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    408: "timeout_error",
    413: "request_too_large",
    426: "invalid_request_error",
}


def refusal(status: int, message: str, endpoint: Endpoint | None = None) -> web.Response:
    """An answer of our own that is an error."""
    headers = {"content-type": "application/json", "x-keepwhole-error": "1"}
    return web.Response(status=status, body=error_body(status, message, endpoint), headers=headers)


def error_body(status: int, message: str, endpoint: Endpoint | None = None) -> bytes:
    """The body of an error, as the dialect has it."""
    kind = _TYPES.get(status, "api_error")
    message = f"keepwhole: {message}"
    if endpoint is not None and endpoint.dialect == "anthropic":
        return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}}).encode()
