"""What a session's requests cost, whole and as they were sent, under the page's names.

Owns: the names. The arithmetic is `apps.steps`, so that the page, a receipt and a report say the same.
Must not know: stores, sockets.
"""

from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any

from keepwhole.apps import steps as figures
from keepwhole.apps.inspector.timeline import Step
from keepwhole.config import Settings
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.models.profiles import profile_for

_NOTHING: dict[str, Any] = {"cost_whole": None, "cost_sent": None, "cost_unit": None}


def cost_of(steps: Iterable[Step], settings: Settings) -> dict[str, Any]:
    """What the requests cost, in dollars or, where a price is not known, in tokens at the price of uncached input;
    nothing where no provider billed them."""
    sent = [LoggedRequest(step.seq, step.request, step.response) for step in steps if step.request is not None]
    cost = figures.cost_of(sent, lru_cache(partial(profile_for, overrides=settings.models)))
    if cost is None:
        return _NOTHING
    if cost.dollars is None or cost.dollars_whole is None:
        return _described(cost.whole, cost.paid, "tokens")
    return _described(cost.dollars_whole, cost.dollars, "usd")


def _described(whole: float, sent: float, unit: str) -> dict[str, Any]:
    return {"cost_whole": round(whole, 6), "cost_sent": round(sent, 6), "cost_unit": unit}
