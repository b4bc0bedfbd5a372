"""Which requests are ours to look at, and whose conversation one belongs to.

Owns: paths of providers, the names under which clients say what a session is.
Must not know: what is done with a request.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from holdfast.canonical.ids import is_session_id
from holdfast.wire.dialect import Dialect

SESSION_HEADER = "x-holdfast-session"
_HEADERS = (SESSION_HEADER, "x-claude-code-session-id", "session-id", "x-opencode-session")
_ENDS: dict[str, tuple[Dialect, bool]] = {
    "/chat/completions": ("openai_chat", False),
    "/responses": ("openai_responses", False),
    "/responses/input_tokens": ("openai_responses", True),
    "/messages": ("anthropic", False),
    "/messages/count_tokens": ("anthropic", True),
}


class Endpoint(NamedTuple):
    """What a path is for."""

    dialect: Dialect
    counts: bool
    """Whether it only counts tokens."""


def endpoint_of(path: str) -> Endpoint | None:
    """What a path is for; None for one that we have no part in.

    >>> endpoint_of("/v1/messages")
    Endpoint(dialect='anthropic', counts=False)
    """
    path = path.rstrip("/")
    return next((Endpoint(*kind) for end, kind in _ENDS.items() if path.endswith(end)), None)


def session_of(headers: Mapping[str, str], fields: Mapping[str, Any]) -> str | None:
    """The id under which a client says that its conversation goes; None where it says nothing."""
    metadata = fields.get("metadata")
    user = cast("Mapping[str, Any]", metadata).get("user_id") if isinstance(metadata, Mapping) else None
    told = [*(headers.get(name) for name in _HEADERS), _inner(user), fields.get("prompt_cache_key")]
    return next((_named(one) for one in told if isinstance(one, str) and one), None)


def _inner(user: object) -> object:
    """A user's id, or the session's where a client wraps both."""
    try:
        wrapped: object = json.loads(user) if isinstance(user, str) and user.startswith("{") else None
    except (ValueError, RecursionError):
        return user
    session = cast("dict[str, Any]", wrapped).get("session_id") if isinstance(wrapped, dict) else None
    return session if isinstance(session, str) else user


def _named(told: str) -> str:
    """What somebody calls a session as an id of ours."""
    return (
        told
        if is_session_id(told)
        else "told-" + hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    )
