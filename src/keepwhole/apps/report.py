"""Sessions that were edited, compared with those that were held out: their figures, and what follows from them.

Owns: the figures of a session, the spread of a group's, and that nothing is claimed which the numbers do not bear out.
Must not know: how it is printed.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepwhole.apps import request_figures as figures
from keepwhole.apps.request_figures import Cost, ProfileOf
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.replay.intervals import Interval, interval

FEWEST = 5
"""Sessions that each group needs before they are compared."""
VIEWED, HELD_OUT = "viewed", "held out"
_VIEWED, _HELD_OUT = "on", "shadow"
"""The modes of their requests."""
_RESAMPLES, _SEED = 2_000, 5


class Measure(NamedTuple):
    """One figure of every session: its name, and its words in a sentence."""

    name: str
    words: str
    is_compared: bool = True


MEASURES = (
    Measure("steps", "requests per session"),
    Measure("tokens", "input tokens per request"),
    Measure("cached", "share of input from the cache"),
    Measure("cost", "input cost per session"),
    Measure("filled", "share of sessions that filled 90 % of the window"),
    Measure("full", "request at which they did", is_compared=False),  # those that never did have none
)


class Group(NamedTuple):
    """Sessions that were treated the same way."""

    sessions: int
    measures: Mapping[str, Interval]
    """The mean of each figure with its 95 % interval, over the sessions that have it."""
    counts: Mapping[str, int]
    """The number of sessions that have each figure."""
    cost: Cost | None
    """The cost of all sessions; None where no provider billed them."""


class Report(NamedTuple):
    """Both groups, and their differences."""

    groups: Mapping[str, Group]
    mixed: int
    """Sessions that were partly edited, and so belong to neither group."""
    ratios: Mapping[str, Interval]
    """The mean of edited sessions divided by that of held-out ones, where both groups are large enough."""
    says: tuple[str, ...]


def compare_sessions(sessions: Iterable[Sequence[LoggedRequest]], profile_of: ProfileOf) -> Report:
    """The figures of sessions by how they were treated, and the ratios between the groups."""
    values: dict[str, list[dict[str, float]]] = {VIEWED: [], HELD_OUT: []}
    costs: dict[str, list[Cost | None]] = {VIEWED: [], HELD_OUT: []}
    mixed = 0
    for steps in map(figures.turns, sessions):
        modes = {step.request.mode for step in steps}
        is_mixed = modes >= {_VIEWED, _HELD_OUT}
        if steps and not is_mixed:
            name, cost = VIEWED if _VIEWED in modes else HELD_OUT, figures.cost_of(steps, profile_of)
            values[name].append(_figures(steps, cost, profile_of))
            costs[name].append(cost)
        mixed += is_mixed
    groups = {name: _group(found, figures.sum_of(costs[name])) for name, found in values.items()}
    compared = ((measure.name, _ratio(measure.name, values)) for measure in MEASURES if measure.is_compared)
    ratios = {name: ratio for name, ratio in compared if ratio is not None}
    return Report(groups, mixed, ratios, tuple(_sentences(groups, ratios)))


def _figures(steps: Sequence[LoggedRequest], cost: Cost | None, profile_of: ProfileOf) -> dict[str, float]:
    """The figures of one session; those that the provider did not report are missing."""
    found = {"steps": float(len(steps)), "tokens": sum(figures.sizes(step)[0] for step in steps) / len(steps)}
    told = [(step.response.cached, total) for step in steps if (total := figures.billed(step)) and step.response]
    if told and all(cached is not None for cached, _ in told):
        found["cached"] = sum(cached or 0 for cached, _ in told) / sum(total for _, total in told)
    if cost is not None:
        found["cost"] = cost.paid
    full = [first for branch in figures.branches(steps) if (first := _full(branch, profile_of)) is not None]
    return found | {"filled": float(bool(full))} | ({"full": float(min(full))} if full else {})


def _full(branch: Sequence[LoggedRequest], profile_of: ProfileOf) -> int | None:
    return figures.first_full(branch, profile_of, whole=False)


def _group(sessions: Sequence[Mapping[str, float]], cost: Cost | None) -> Group:
    by_name = {measure.name: _values(measure.name, sessions) for measure in MEASURES}
    means = {name: interval([(value, 1.0) for value in found]) for name, found in by_name.items() if found}
    return Group(len(sessions), means, {name: len(found) for name, found in by_name.items()}, cost)


def _values(name: str, sessions: Sequence[Mapping[str, float]]) -> list[float]:
    return [session[name] for session in sessions if name in session]


def _ratio(name: str, values: Mapping[str, Sequence[Mapping[str, float]]]) -> Interval | None:
    """The ratio of the means with a bootstrap interval; None where there are too few sessions."""
    viewed, held_out = (_values(name, values[group]) for group in (VIEWED, HELD_OUT))
    if min(len(viewed), len(held_out)) < FEWEST or not any(held_out):
        return None
    chance = random.Random(_SEED)
    drawn = [
        _quotient(chance.choices(viewed, k=len(viewed)), chance.choices(held_out, k=len(held_out)))
        for _ in range(_RESAMPLES)
    ]
    drawn.sort()
    low, high = drawn[int(0.025 * _RESAMPLES)], drawn[int(0.975 * _RESAMPLES) - 1]
    return Interval(_quotient(viewed, held_out), low, high)


def _quotient(one: Sequence[float], other: Sequence[float]) -> float:
    below = sum(other) / len(other)
    return sum(one) / len(one) / below if below else float("inf")


def _sentences(groups: Mapping[str, Group], ratios: Mapping[str, Interval]) -> Iterable[str]:
    counts = {name: group.sessions for name, group in groups.items()}
    if min(counts.values()) < FEWEST:
        yield (
            f"Too few sessions to tell: {counts[VIEWED]} {VIEWED}, {counts[HELD_OUT]} {HELD_OUT}; "
            f"at least {FEWEST} of each are needed. `proxy.holdout: 0.1` holds out one in ten."
        )
        return
    for measure in MEASURES:
        if measure.name in ratios:
            yield _sentence(measure, ratios[measure.name])


def _sentence(measure: Measure, ratio: Interval) -> str:
    spread = f"between {_share(ratio.low)} and {_share(ratio.high)}"
    if ratio.low <= 1 <= ratio.high:
        return f"{measure.words.capitalize()}: no difference seen (95 % interval: {spread})."
    return f"{measure.words.capitalize()}: {_share(ratio.value)} where viewed, {spread}."


def _share(ratio: float) -> str:
    """A ratio as people say it.

    >>> _share(0.8), _share(1.25)
    ('20 % less', '25 % more')
    """
    return f"{abs(1 - ratio) * 100:.0f} % {'less' if ratio < 1 else 'more'}"
