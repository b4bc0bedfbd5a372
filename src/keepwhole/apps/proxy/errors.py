"""What the proxy says itself, in the words of whoever asks.

Owns: the type of error that a status is.
Must not know: what went wrong.
"""

import json

from aiohttp import web

from keepwhole.wire.dialects import DEFAULT, Endpoint

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
    dialect = endpoint.dialect if endpoint is not None else DEFAULT
    return json.dumps(dialect.error_body(kind, f"keepwhole: {message}")).encode()
