"""Many outcomes of one policy as one row, with intervals.

Owns: sums, and ratios to sending everything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from keepwhole.canonical.value import Value
from keepwhole.replay.cost import PRICES, Mode, Price, buying_back, buying_blind, sending
from keepwhole.replay.evidence import recorded_under_masking
from keepwhole.replay.intervals import Interval, interval, ratio
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.replay import WINDOW

_MASKED_RUNS = 5
"""Runs with late steps that it takes to tell how they were recorded."""


class Pair(NamedTuple):
    """What a policy did to a run, beside the run as it came."""

    outcome: Outcome
    full: Outcome


class Compactions(NamedTuple):
    """When requests first reach the threshold at which clients compact."""

    median_step: float | None
    """Over the runs in which they do; None where there is none."""
    runs: float
    """The share of runs in which they do."""


class Repeated(NamedTuple):
    """Calls that were made again."""

    hidden: int
    """While the earlier result was not shown as it came."""
    calls: int
    """Calls in all."""


class Row(Value):
    """One policy over many runs. Costs are ratios to sending everything; intervals are by task."""

    policy: str
    runs: int
    evidence: int
    bare: float
    in_context: Interval
    steps_ok: float
    tokens: float
    cost: Interval
    """Longest common prefix."""
    by_price: Mapping[str, float]
    """The same by read price."""
    tail: float
    explicit: float
    dollars: float | None
    """What the requests cost, where the input price is known."""
    all_in: float
    """With an oracle's refetch of what was missing."""
    all_in_context: Interval
    """With an oracle's refetch of what was missing in context."""
    all_in_blind: float
    """With searches for what was missing in context, and tools run again for what they did not find."""
    blind_hits: float | None
    """Share of what was missing in context that the first page of such a search shows; None if nothing was missing."""
    rerun: float
    peak_median: float
    peak: int
    overflow: float
    """Share of runs with a request over the window."""
    over_200k: float
    first_compaction: Compactions
    after_compaction: float | None
    """Share shown of what was used after sending everything would have reached the threshold; None for no such use."""
    re_executed: Repeated
    rewrites: int
    dearest: float
    """The highest all-in cost of a single run."""
    kinds: Mapping[str, float]
    """Recall in context by kind of evidence, and of what is `old`."""
    recorded_under_masking: bool
    """Whether these runs seem to come from agents that could not see old results: not to be tuned on."""


def summarise(
    pairs: Sequence[Pair],
    price: Price = PRICES[".10"],
    prices: Mapping[str, Price] = PRICES,
    window: int = WINDOW,
) -> Row:
    """The row of one policy."""
    outcomes = [pair.outcome for pair in pairs]
    peaks = [outcome.peak for outcome in outcomes]
    all_in = [_all_in(pair, price) for pair in pairs]
    tasks = [(outcome.source, outcome.task) for outcome in outcomes]
    return Row(
        policy=outcomes[0].policy,
        runs=len(outcomes),
        evidence=sum(outcome.evidence for outcome in outcomes),
        bare=ratio((outcome.visible, outcome.evidence) for outcome in outcomes),
        in_context=interval([(outcome.in_context, outcome.evidence) for outcome in outcomes], tasks),
        steps_ok=ratio((outcome.steps_ok, outcome.steps) for outcome in outcomes),
        tokens=ratio((_tokens(pair.outcome), _tokens(pair.full)) for pair in pairs),
        cost=interval([_sent(pair, price) for pair in pairs], tasks),
        by_price={name: ratio(_sent(pair, one) for pair in pairs) for name, one in prices.items()},
        tail=ratio(_sent(pair, price, "tail") for pair in pairs),
        explicit=ratio(_sent(pair, price, "explicit") for pair in pairs),
        dollars=_dollars(outcomes, price),
        all_in=ratio(_all_in(pair, price, in_context=False) for pair in pairs),
        all_in_context=interval(all_in, tasks),
        all_in_blind=ratio(_blind(pair, price) for pair in pairs),
        blind_hits=_share((one.hits, one.missing) for outcome in outcomes for one in outcome.asked),
        rerun=ratio(_all_in(pair, price, rerun=True) for pair in pairs),
        peak_median=median(peaks),
        peak=max(peaks),
        overflow=sum(peak > window for peak in peaks) / len(peaks),
        over_200k=sum(peak > 200_000 for peak in peaks) / len(peaks),
        first_compaction=_first_compaction(outcomes),
        after_compaction=_share(outcome.after_compaction for outcome in outcomes),
        re_executed=Repeated(sum(one.calls_again for one in outcomes), sum(one.calls for one in outcomes)),
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


def _kinds(outcomes: Sequence[Outcome]) -> dict[str, float]:
    names = sorted({name for outcome in outcomes for name in outcome.kinds})
    return {name: ratio(outcome.kinds[name] for outcome in outcomes if name in outcome.kinds) for name in names}


def _recorded_under_masking(outcomes: Sequence[Outcome]) -> bool:
    late, recent = (sum(one.late for one in outcomes), sum(one.late_recent for one in outcomes))
    return sum(one.late > 0 for one in outcomes) >= _MASKED_RUNS and recorded_under_masking(recent, late)


def _share(pairs: Iterable[tuple[float, float]]) -> float | None:
    """The ratio; None where there is nothing to divide."""
    found = [pair for pair in pairs if pair[1]]
    return ratio(found) if found else None


def _first_compaction(outcomes: Sequence[Outcome]) -> Compactions:
    steps = [outcome.first_compaction for outcome in outcomes if outcome.first_compaction is not None]
    return Compactions(median(steps) if steps else None, len(steps) / len(outcomes))


def _dollars(outcomes: Sequence[Outcome], price: Price) -> float | None:
    if price.input is None:
        return None
    return sum(sending(outcome.requests, price) for outcome in outcomes) * price.input / 1e6


def _tokens(outcome: Outcome) -> int:
    return sum(request.total for request in outcome.requests)


def _sent(pair: Pair, price: Price, mode: Mode = "prefix") -> tuple[float, float]:
    return sending(pair.outcome.requests, price, mode), sending(pair.full.requests, price, mode)


def _all_in(pair: Pair, price: Price, in_context: bool = True, rerun: bool = False) -> tuple[float, float]:
    outcome = pair.outcome
    cost, full = _sent(pair, price)
    losses = outcome.losses_in_context if in_context else outcome.losses
    return cost + buying_back(outcome.requests, losses, price, rerun), full


def _blind(pair: Pair, price: Price) -> tuple[float, float]:
    cost, full = _sent(pair, price)
    return cost + buying_blind(pair.outcome.requests, pair.outcome.asked, price), full
