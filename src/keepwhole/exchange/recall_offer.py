"""When a request is offered the recall tools: at once, once something is left out, or not at all.

Owns: which tools are put in front of the client's own, and whether they wait.
Must not know: rounds, answers, how a request is edited.
"""

from typing import NamedTuple

from keepwhole.policies.kinds import works_on_files
from keepwhole.recall.names import NAMES
from keepwhole.session import Session
from keepwhole.wire.content import Json, fields_of
from keepwhole.wire.dialect import Dialect
from keepwhole.wire.request_body import RequestBody

_FEW_CHARS = 48_000
"""Length of a first request of which the recall tools are a hundredth."""
_ASKING = ("user", "system", "developer")


class RecallOffer(NamedTuple):
    """The recall tools that a request is offered."""

    tools: list[Json]
    """None, where it may not be offered any."""
    waits: bool
    """Whether they are offered only once something is left out."""
    is_record_read: bool | None = None
    """Whether the record could be read just now; None where it was not tried."""


def recall_offer(
    session: Session, dialect: Dialect, request: RequestBody, branch: str, *, may_hide_rounds: bool
) -> RecallOffer:
    """Return what a request is offered.

    The tools come before everything that a provider has cached. So once they were offered, by any process and under any
    settings, they always are; and from the first request on, where they are a small part of it or the client's own
    tools promise long results. Where the provider caches nothing, each request pays for them, so there they wait.
    """
    names = dialect.tool_names(request.fields)
    if not names or not may_hide_rounds or set(names) & set(NAMES):
        return RecallOffer([], waits=False)  # a client with a tool of such a name answers it itself
    tools = session.tools_to_offer(dialect.name)
    is_cached = not session.billing.has_no_cache
    if tools and (session.settings.recall_from == "start" or (is_cached and _is_likely_long(request, names))):
        return RecallOffer(tools, waits=False)
    is_read = session.conversations.catch_up()
    were_offered = session.conversations.has_offered_tools(branch)
    tools = session.tools_to_offer(dialect.name, were_offered=were_offered)
    return RecallOffer(tools, bool(tools) and not (were_offered and is_cached), is_read)


def _is_likely_long(request: RequestBody, names: list[str]) -> bool:
    """Whether a long conversation is likely: by the length before the model's first answer, and by the tools."""
    roles = (fields_of(message).get("role") for message in request.messages)
    answered = next((index for index, role in enumerate(roles) if role not in _ASKING), None)
    behind = 0 if answered is None or not request.starts else request.stops[-1] - request.starts[answered]
    return works_on_files(names) or len(request.text) - behind >= _FEW_CHARS
