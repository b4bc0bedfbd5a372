"""What it takes to show a result whole again: the tokens that it adds, and what the provider's cache serves no more.

Owns: these figures, for `keepwhole undo`, pins and the inspector.
Must not know: how a decision is recorded (`Session.undo`).
"""

from typing import Any, NamedTuple

from keepwhole.apps.conversations import current_request
from keepwhole.apps.kept_words import shown_tokens, tokens_as_sent
from keepwhole.apps.request_figures import profiles_with, sizes
from keepwhole.canonical.entry import Result
from keepwhole.errors import StoreError
from keepwhole.exchange.request_log import LoggedRequest, RequestLog
from keepwhole.models.profiles import input_price
from keepwhole.models.tokens import estimate
from keepwhole.policies.policy import SHOWN
from keepwhole.policies.transcript import Transcript
from keepwhole.session import Session
from keepwhole.store.protocol import Row, decision_of, entry_of
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.request_body import read_request


class UndoFigures(NamedTuple):
    """What showing a result whole again changes in the next request."""

    tokens: int
    """Tokens that the next request has more, about."""
    whole: int
    """Tokens of the result itself."""
    reread: int
    """Tokens behind the result that the cache serves no more, once."""
    dollars: float | None
    """What the next request costs more for both; None where no price is known."""
    changed: bool
    """Whether anything changes: a result that is shown in full stays as it is."""

    @property
    def cost(self) -> str | None:
        """The cost in words; None where it is unknown or nothing changes.

        >>> UndoFigures(323, 2_929, 40_000, 0.1392, True).cost
        '≈ $0.139 once'
        """
        return f"≈ ${self.dollars:.3f} once" if self.dollars and self.changed else None

    def as_dict(self) -> dict[str, Any]:
        """The figures for programs."""
        return {**self._asdict(), "cost": self.cost}


def foresee_undo(session: Session, row: Row) -> UndoFigures:
    """The figures of showing a result of a session whole again from now on."""
    entry, store = entry_of(row), session.store
    assert isinstance(entry.header, Result)
    made = [decision_of(each) for each in store.rows(row.session, kind="decision") if each.trace_id == row.trace_id]
    whole = tokens_as_sent(entry.header, entry.facts, made)
    if not made or made[-1].rule in SHOWN:
        return UndoFigures(0, whole, 0, 0.0, False)
    more = max(0, whole - shown_tokens(made[-1]))
    log = RequestLog(session)
    current = current_request(log.all(), log.body)
    if current is None:
        return UndoFigures(more, whole, 0, None, True)
    reread = _tokens_behind(log, current, entry.header.call_id)
    price, profile = input_price(current.model), profiles_with(session.settings.models)(current)
    cost = (profile.write - profile.read) * reread + profile.write * more
    return UndoFigures(more, whole, reread, None if price is None else price * cost / 1e6, True)


def _tokens_behind(log: RequestLog, current: LoggedRequest, call_id: str | None) -> int:
    """The tokens from a result to the end of the request that fills the window, as billed."""
    try:
        request = read_request(log.body(current.request.trace_id))
    except StoreError:
        request = None
    transcript = Transcript()
    transcript.extend(map(decode_message, request.messages if request is not None else ()))
    at = next((item.index for item in transcript.items if item.returned.call_id == call_id), None)
    if request is None or at is None:
        return 0
    tokens = [estimate(str(message)) for message in request.messages]
    share = sum(tokens[at:]) / max(1, sum(tokens))
    return round(share * sizes(current)[0])
