"""The outcomes of one policy over many runs, summed up as figures with intervals.

Owns: the sums, the ratios to sending everything, and the names of the figures in reports.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from keepwhole.canonical.value import Value
from keepwhole.replay.cost import PRICES, CacheRule, Price, blind_search_cost, refetch_cost, sending_cost
from keepwhole.replay.evidence import is_recorded_under_masking
from keepwhole.replay.intervals import Interval, interval, ratio
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.replay import WINDOW
from keepwhole.replay.token_sources import TokenSources

_MASKED_RUNS = 5
"""Runs with late steps that are needed to tell how they were recorded."""


class ComparedRun(NamedTuple):
    """What a policy did to a run, beside the same run with everything sent."""

    outcome: Outcome
    baseline: Outcome


class Compactions(NamedTuple):
    """When requests first reach the threshold at which clients compact."""

    median_step: float | None
    """The median over the runs in which they do; None if they never do."""
    runs: float
    """The share of runs in which they do."""


class Repeated(NamedTuple):
    """Calls that were made again."""

    hidden: int
    """Repeated calls whose earlier result was not shown as it arrived."""
    calls: int
    """All calls."""


class EvidenceFigures(Value):
    """How much of the evidence a policy shows."""

    pieces: int
    visible: float
    """The share that the request of its step shows."""
    in_context: Interval
    """The share that it shows together with the text around it."""
    steps_ok: float
    """The share of steps with evidence of which all is visible."""
    by_kind: Mapping[str, float]
    """The share in context by kind of evidence, and of what is `old`."""
    after_compaction: float | None
    """The share that is shown of what was used after sending everything would have reached the threshold."""
    arguments: float | None
    """The share that is shown of what only an argument of an earlier call could have told; None if nothing was."""
    argument_pieces: int
    recorded_under_masking: bool
    """Whether the agents of these runs seem not to have seen old results: such runs are not to be tuned on."""


class CostFigures(Value):
    """What a policy costs, as ratios to sending everything. Rules of caches: `replay.cache`."""

    tokens: float
    """The ratio of tokens sent, without a cache."""
    prefix: Interval
    """The cost if the longest common prefix is cached."""
    by_price: Mapping[str, float]
    """The same by read price."""
    tail: float
    """The cost with breakpoints at request ends."""
    explicit: float
    """The cost with explicit breakpoints."""
    dollars: float | None
    """The dollars of all requests and of fetching what was missing in context, if the input price is known."""
    all_in: float
    """With an oracle that fetches what was not visible."""
    all_in_context: Interval
    """With an oracle that fetches what was missing in context."""
    all_in_blind: float
    """With blind searches for what was missing in context, and tools run again for what they do not find."""
    blind_hits: float | None
    """The share of what was missing in context that a blind search finds; None if nothing was missing."""
    rerun: float
    """With all tools run again whose results were missing something in context."""
    highest: float
    """The highest all-in cost of a single run."""


class RequestFigures(Value):
    """How large requests become, and how often a policy rewrites what was sent."""

    peak_median: float
    peak: int
    overflow: float
    """The share of runs with a request larger than the window."""
    over_200k: float
    first_compaction: Compactions
    sources: Mapping[str, int]
    """Tokens of all requests by where they come from."""
    rewrites: int
    repeated: Repeated


class PolicySummary(Value):
    """One policy over many runs. Intervals are by task."""

    policy: str
    runs: int
    evidence: EvidenceFigures
    cost: CostFigures
    requests: RequestFigures

    def as_json(self) -> dict[str, Any]:
        """Return the figures under their names in reports; a report's table is made of nothing else."""
        evidence, cost, requests = self.evidence, self.cost, self.requests
        return {
            "runs": self.runs,
            "evidence": evidence.pieces,
            "tokens": cost.tokens,
            "bare": evidence.visible,
            "steps_ok": evidence.steps_ok,
            "tail": cost.tail,
            "explicit": cost.explicit,
            "dollars": cost.dollars,
            "all_in": cost.all_in,
            "all_in_blind": cost.all_in_blind,
            "blind_hits": cost.blind_hits,
            "rerun": cost.rerun,
            "peak_median": requests.peak_median,
            "peak": requests.peak,
            "overflow": requests.overflow,
            "after_compaction": evidence.after_compaction,
            "arguments_kept": evidence.arguments,
            "arguments_evidence": evidence.argument_pieces,
            "sent_from": dict(requests.sources),
            "rewrites": requests.rewrites,
            "dearest": cost.highest,
            "recorded_under_masking": evidence.recorded_under_masking,
            "in_context": evidence.in_context._asdict(),
            "cost": cost.prefix._asdict(),
            "all_in_context": cost.all_in_context._asdict(),
            "first_compaction": requests.first_compaction._asdict(),
            "re_executed": requests.repeated._asdict(),
            "kinds": dict(evidence.by_kind),
        }


def summarize(
    runs: Sequence[ComparedRun],
    price: Price = PRICES[".10"],
    prices: Mapping[str, Price] = PRICES,
    window: int = WINDOW,
) -> PolicySummary:
    """Return the figures of one policy over these runs."""
    outcomes = [one.outcome for one in runs]
    return PolicySummary(
        outcomes[0].policy,
        len(outcomes),
        _evidence_figures(outcomes),
        _cost_figures(runs, price, prices),
        _request_figures(outcomes, window),
    )


def summarize_by_source(
    runs: Iterable[ComparedRun], summarize: Callable[[Sequence[ComparedRun]], PolicySummary] = summarize
) -> dict[str, PolicySummary]:
    """Return the figures of one policy for each source."""
    groups: dict[str, list[ComparedRun]] = {}
    for one in runs:
        groups.setdefault(one.outcome.source, []).append(one)
    return {source: summarize(group) for source, group in groups.items()}


def _evidence_figures(outcomes: Sequence[Outcome]) -> EvidenceFigures:
    return EvidenceFigures(
        pieces=sum(one.evidence for one in outcomes),
        visible=ratio((one.visible, one.evidence) for one in outcomes),
        in_context=interval([(one.in_context, one.evidence) for one in outcomes], _tasks(outcomes)),
        steps_ok=ratio((one.steps_ok, one.steps) for one in outcomes),
        by_kind=_by_kind(outcomes),
        after_compaction=_share(one.after_compaction for one in outcomes),
        arguments=_share(one.arguments for one in outcomes),
        argument_pieces=sum(one.arguments.total for one in outcomes),
        recorded_under_masking=_is_recorded_under_masking(outcomes),
    )


def _cost_figures(runs: Sequence[ComparedRun], price: Price, prices: Mapping[str, Price]) -> CostFigures:
    outcomes = [one.outcome for one in runs]
    all_in = [_with_refetch(one, price) for one in runs]
    searches = (search for outcome in outcomes for search in outcome.blind_searches)
    return CostFigures(
        tokens=ratio((_tokens(one.outcome), _tokens(one.baseline)) for one in runs),
        prefix=interval([_costs_of_sending(one, price) for one in runs], _tasks(outcomes)),
        by_price={name: ratio(_costs_of_sending(one, other) for one in runs) for name, other in prices.items()},
        tail=ratio(_costs_of_sending(one, price, "tail") for one in runs),
        explicit=ratio(_costs_of_sending(one, price, "explicit") for one in runs),
        dollars=_dollars(all_in, price),
        all_in=ratio(_with_refetch(one, price, in_context=False) for one in runs),
        all_in_context=interval(all_in, _tasks(outcomes)),
        all_in_blind=ratio(_with_blind_search(one, price) for one in runs),
        blind_hits=_share((search.hits, search.missing) for search in searches),
        rerun=ratio(_with_refetch(one, price, rerun=True) for one in runs),
        highest=max(ratio([one]) for one in all_in),
    )


def _request_figures(outcomes: Sequence[Outcome], window: int) -> RequestFigures:
    peaks = [one.peak for one in outcomes]
    return RequestFigures(
        peak_median=median(peaks),
        peak=max(peaks),
        overflow=sum(peak > window for peak in peaks) / len(peaks),
        over_200k=sum(peak > 200_000 for peak in peaks) / len(peaks),
        first_compaction=_first_compaction(outcomes),
        sources=_sum_sources(outcomes),
        rewrites=sum(one.rewrites for one in outcomes),
        repeated=Repeated(sum(one.hidden_repeats for one in outcomes), sum(one.calls for one in outcomes)),
    )


def _sum_sources(outcomes: Sequence[Outcome]) -> dict[str, int]:
    found = TokenSources()
    for one in outcomes:
        found += one.sources
    return found._asdict()


def _tasks(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    return [(one.source, one.task) for one in outcomes]


def _by_kind(outcomes: Sequence[Outcome]) -> dict[str, float]:
    names = sorted({name for outcome in outcomes for name in outcome.kinds})
    return {name: ratio(one.kinds[name] for one in outcomes if name in one.kinds) for name in names}


def _is_recorded_under_masking(outcomes: Sequence[Outcome]) -> bool:
    late, recent = (sum(one.late for one in outcomes), sum(one.late_recent for one in outcomes))
    return sum(one.late > 0 for one in outcomes) >= _MASKED_RUNS and is_recorded_under_masking(recent, late)


def _share(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Return the ratio of sums; None if there is nothing to divide by."""
    found = [pair for pair in pairs if pair[1]]
    return ratio(found) if found else None


def _first_compaction(outcomes: Sequence[Outcome]) -> Compactions:
    steps = [one.first_compaction for one in outcomes if one.first_compaction is not None]
    return Compactions(median(steps) if steps else None, len(steps) / len(outcomes))


def _dollars(all_in: Iterable[tuple[float, float]], price: Price) -> float | None:
    """Return the dollars of the all-in costs of runs, so that they are the share that the column beside them says."""
    return None if price.input is None else sum(cost for cost, _ in all_in) * price.input / 1e6


def _tokens(outcome: Outcome) -> int:
    return sum(request.total for request in outcome.requests)


def _costs_of_sending(run: ComparedRun, price: Price, rule: CacheRule = "prefix") -> tuple[float, float]:
    """Return the cost of sending under the policy and of sending everything."""
    return sending_cost(run.outcome.requests, price, rule), sending_cost(run.baseline.requests, price, rule)


def _with_refetch(run: ComparedRun, price: Price, in_context: bool = True, rerun: bool = False) -> tuple[float, float]:
    """Return the all-in cost with an oracle, or with `rerun` by running tools again, and of sending everything."""
    outcome = run.outcome
    cost, whole = _costs_of_sending(run, price)
    losses = outcome.losses_in_context if in_context else outcome.losses
    return cost + refetch_cost(outcome.requests, losses, price, rerun), whole


def _with_blind_search(run: ComparedRun, price: Price) -> tuple[float, float]:
    """Return the all-in cost with blind searches, and of sending everything."""
    cost, whole = _costs_of_sending(run, price)
    return cost + blind_search_cost(run.outcome.requests, run.outcome.blind_searches, price), whole
