"""Many outcomes of one policy as one row, with intervals.

Owns: sums, ratios to sending everything, and resampling by run.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from holdfast.canonical.value import Value
from holdfast.replay.cost import PRICES, Mode, Price, buying_back, sending
from holdfast.replay.evidence import recorded_under_masking
from holdfast.replay.replay import Outcome

RESAMPLES = 1_000
_SEED = 5
_MASKED_RUNS = 5
"""Runs with late steps that it takes to tell how they were recorded."""


class Interval(NamedTuple):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


class Pair(NamedTuple):
    """What a policy did to a run, beside the run as it came."""

    outcome: Outcome
    full: Outcome


class Row(Value):
    """One policy over many runs. Costs are ratios to sending everything."""

    policy: str
    runs: int
    evidence: int
    bare: float
    in_context: Interval
    steps_ok: float
    tokens: float
    cost: Mapping[str, float]
    """By read price, longest common prefix."""
    tail: float
    explicit: float
    all_in: float
    """With an oracle's refetch of what was missing."""
    all_in_context: Interval
    """With an oracle's refetch of what was missing in context."""
    rerun: float
    peak_median: float
    peak: int
    over_128k: float
    over_200k: float
    rewrites: int
    dearest: float
    """The highest all-in cost of a single run."""
    kinds: Mapping[str, float]
    """Recall in context by kind of evidence, and of what is `old`."""
    recorded_under_masking: bool
    """Whether these runs seem to come from agents that could not see old results: not to be tuned on."""


def summarise(pairs: Sequence[Pair], price: Price = PRICES[".10"], prices: Mapping[str, Price] = PRICES) -> Row:
    """The row of one policy."""
    outcomes = [pair.outcome for pair in pairs]
    peaks = [outcome.peak for outcome in outcomes]
    kept = [_share_in_context(outcome) for outcome in outcomes]
    all_in = [_all_in(pair, price) for pair in pairs]
    tokens = [(_tokens(pair.outcome), _tokens(pair.full)) for pair in pairs]
    return Row(
        policy=outcomes[0].policy,
        runs=len(outcomes),
        evidence=sum(outcome.evidence for outcome in outcomes),
        bare=ratio((outcome.visible, outcome.evidence) for outcome in outcomes),
        in_context=interval(kept),
        steps_ok=ratio((outcome.steps_ok, outcome.steps) for outcome in outcomes),
        tokens=ratio(tokens),
        cost={name: ratio(_sent(pair, one) for pair in pairs) for name, one in prices.items()},
        tail=ratio(_sent(pair, price, "tail") for pair in pairs),
        explicit=ratio(_sent(pair, price, "explicit") for pair in pairs),
        all_in=ratio(_all_in(pair, price, in_context=False) for pair in pairs),
        all_in_context=interval(all_in),
        rerun=ratio(_all_in(pair, price, rerun=True) for pair in pairs),
        peak_median=median(peaks),
        peak=max(peaks),
        over_128k=sum(peak > 128_000 for peak in peaks) / len(peaks),
        over_200k=sum(peak > 200_000 for peak in peaks) / len(peaks),
        rewrites=sum(outcome.rewrites for outcome in outcomes),
        dearest=max(ratio([one]) for one in all_in),
        kinds=_kinds(outcomes),
        recorded_under_masking=_recorded_under_masking(outcomes),
    )


def by_source(pairs: Iterable[Pair], row: Callable[[Sequence[Pair]], Row] = summarise) -> dict[str, Row]:
    """The row of one policy for each source."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.outcome.source, []).append(pair)
    return {source: row(group) for source, group in groups.items()}


def ratio(pairs: Iterable[tuple[float, float]]) -> float:
    """The sum of the first over the sum of the second; 1 where there is nothing to divide.

    >>> ratio([(1, 2), (2, 2)])
    0.75
    """
    above, below = map(sum, zip((0.0, 0.0), *pairs, strict=True))
    return above / below if below else 1.0


def interval(pairs: Sequence[tuple[float, float]], resamples: int = RESAMPLES) -> Interval:
    """The ratio, and where 95 % of its resamples by run lie; the same for the same runs."""
    chance = random.Random(_SEED)
    drawn = sorted(ratio(chance.choices(pairs, k=len(pairs))) for _ in range(resamples))
    return Interval(ratio(pairs), drawn[int(0.025 * resamples)], drawn[int(0.975 * resamples) - 1])


def _kinds(outcomes: Sequence[Outcome]) -> dict[str, float]:
    names = sorted({name for outcome in outcomes for name in outcome.kinds})
    return {name: ratio(outcome.kinds[name] for outcome in outcomes if name in outcome.kinds) for name in names}


def _recorded_under_masking(outcomes: Sequence[Outcome]) -> bool:
    late, recent = (sum(one.late for one in outcomes), sum(one.late_recent for one in outcomes))
    return sum(one.late > 0 for one in outcomes) >= _MASKED_RUNS and recorded_under_masking(recent, late)


def _share_in_context(outcome: Outcome) -> tuple[float, float]:
    return outcome.in_context, outcome.evidence


def _tokens(outcome: Outcome) -> int:
    return sum(request.total for request in outcome.requests)


def _sent(pair: Pair, price: Price, mode: Mode = "prefix") -> tuple[float, float]:
    return sending(pair.outcome.requests, price, mode), sending(pair.full.requests, price, mode)


def _all_in(pair: Pair, price: Price, in_context: bool = True, rerun: bool = False) -> tuple[float, float]:
    outcome = pair.outcome
    cost, full = _sent(pair, price)
    losses = outcome.losses_in_context if in_context else outcome.losses
    return cost + buying_back(outcome.requests, losses, price, rerun), full
