"""Which requests are ours to look at.

Owns: paths of providers, and the header that is addressed to us. Whatever stands before a path (`/v1`, a token, a
gateway's own) does not matter.
Must not know: what is in a request, what is done with it.
"""

from typing import NamedTuple

from keepwhole.wire.dialect import Dialect

SESSION_HEADER = "x-keepwhole-session"


class Endpoint(NamedTuple):
    """What a path is for."""

    dialect: Dialect
    counts: bool = False
    """Whether it only counts tokens."""
    compacts: bool = False
    """Whether it gives back a shorter conversation."""


_ENDS = {
    "/chat/completions": Endpoint("openai_chat"),
    "/responses": Endpoint("openai_responses"),
    "/responses/input_tokens": Endpoint("openai_responses", counts=True),
    "/responses/compact": Endpoint("openai_responses", compacts=True),
    "/messages": Endpoint("anthropic"),
    "/messages/count_tokens": Endpoint("anthropic", counts=True),
}


def endpoint_of(path: str) -> Endpoint | None:
    """What a path is for; None for one that we have no part in.

    >>> endpoint_of("/v1/messages")
    Endpoint(dialect='anthropic', counts=False, compacts=False)
    """
    path = path.rstrip("/")
    return next((endpoint for end, endpoint in _ENDS.items() if path.endswith(end)), None)
