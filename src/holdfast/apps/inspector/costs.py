"""What a session's requests cost, whole and as they were sent.

Owns: the two sums, by the same prices: what is cached is cheap, what is new is written.
Must not know: stores, sockets.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from holdfast.apps.inspector.timeline import Step
from holdfast.canonical.entry import Request
from holdfast.config import Settings
from holdfast.projection.profiles import Profile, input_price, profile_for


class Cost(NamedTuple):
    """The cost of some requests, in dollars or, where a price is not known, in tokens at the input price."""

    whole: float
    sent: float
    unit: str

    def as_dict(self) -> dict[str, Any]:
        """The fields under the page's names."""
        return {"cost_whole": round(self.whole, 6), "cost_sent": round(self.sent, 6), "cost_unit": self.unit}


NOTHING: dict[str, Any] = {"cost_whole": None, "cost_sent": None, "cost_unit": None}


def cost_of(steps: Iterable[Step], settings: Settings) -> Cost | None:
    """What the requests cost; None where there were none."""
    made = [step for step in steps if step.request is not None]
    if not made:
        return None
    models = {step.request.model for step in made if step.request is not None}
    profiles = {model: profile_for(model, settings.models) for model in models}
    prices = {model: input_price(model) for model in models}
    is_known = all(price is not None for price in prices.values())
    whole = sent = 0.0
    before: dict[str, Request] = {}
    for step in made:
        request = step.request
        assert request is not None
        profile = profiles[request.model]
        each = ((prices[request.model] or 0.0) / 1e6) if is_known else 1.0
        last = before.get(request.branch)
        whole += each * _priced(request.tokens_whole, _prefix(last, request, profile), profile)
        sent += each * _priced(request.tokens_sent, _cached(step, last, profile), profile)
        before[request.branch] = request
    return Cost(whole, sent, "usd" if is_known else "tokens")


def _priced(tokens: int, cached: int, profile: Profile) -> float:
    cached = min(cached, tokens) if cached >= profile.minimum else 0
    return profile.read * cached + profile.write * (tokens - cached)


def _prefix(last: Request | None, request: Request, profile: Profile) -> int:
    """Tokens of the request before that a provider would still have, had all been sent whole."""
    if last is None or request.at - last.at > profile.lifetime * 1000:
        return 0
    return min(last.tokens_whole, request.tokens_whole)


def _cached(step: Step, last: Request | None, profile: Profile) -> int:
    """Tokens that came from the cache: as billed, else as foreseen."""
    request, response = step.request, step.response
    assert request is not None
    if response is not None and response.cached is not None:
        return response.cached
    return _prefix(last, request, profile) if request.predicted is None else request.predicted
