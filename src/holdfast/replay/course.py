"""How replayed runs went, for people to look at: tokens request by request, what became of large results, totals.

Owns: what is picked out of outcomes, under the names that reports use.
Must not know: how it is drawn.

A run replayed under several policies is given as its pairs, the run as it came first, as `replay_all` gives them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from holdfast.replay.missed import Missed
from holdfast.replay.needs import Tool, by_tool, never_used
from holdfast.replay.summary import Pair

MOST_RUNS, MOST_RESULTS = 40, 100


class Course(NamedTuple):
    """One run under several policies."""

    source: str
    id: str
    task: str
    steps: int
    tokens: int
    context: Mapping[str, list[int]]
    """By policy, the tokens of each request."""
    rewrites: Mapping[str, list[int]]
    """By policy, the steps whose request changed what an earlier one had sent; not of the run as it came."""


class Became(NamedTuple):
    """A result was shown otherwise from a step on."""

    step: int
    rule: str
    tokens: int


class History(NamedTuple):
    """One result under several policies."""

    run: str
    tool: str
    arguments: str
    step: int
    tokens: int
    used: int
    became: Mapping[str, list[Became]]
    """By policy; not of the run as it came."""


class Totals(NamedTuple):
    """Runs as they came."""

    runs: int
    steps: int
    tokens: int
    result_tokens: int
    share: float
    """Of results in all tokens."""
    never_used: float
    """Share of results' tokens in results of which nothing was ever used."""
    tools: list[Tool]


def courses(replayed: Iterable[Sequence[Pair]], most: int = MOST_RUNS) -> list[Course]:
    """The runs, longest first."""
    longest = sorted(replayed, key=lambda pairs: -pairs[0].full.tokens)[:most]
    return [_course(pairs) for pairs in longest]


def histories(replayed: Iterable[Sequence[Pair]], most: int = MOST_RESULTS) -> list[History]:
    """What became of the largest results, largest first."""
    places = ((one.tokens, pairs, number) for pairs in replayed for number, one in enumerate(pairs[0].full.results))
    largest = sorted(places, key=lambda place: -place[0])[:most]
    return [_history(pairs, number) for _, pairs, number in largest]


def misses(replayed: Iterable[Sequence[Pair]], policy: str) -> list[tuple[str, Missed]]:
    """What a policy did not show in context, each with the id of its run."""
    outcomes = (pair.outcome for pairs in replayed for pair in pairs)
    return [(one.id, missed) for one in outcomes if one.policy == policy for missed in one.missed]


def totals(replayed: Iterable[Sequence[Pair]]) -> Totals:
    """Sums over runs."""
    runs = [pairs[0].full for pairs in replayed]
    results = [one for run in runs for one in run.results]
    tokens, held = sum(run.tokens for run in runs), sum(one.tokens for one in results)
    steps = sum(len(run.requests) for run in runs)
    share = held / tokens if tokens else 0.0
    return Totals(len(runs), steps, tokens, held, share, never_used(results), by_tool(results))


def _course(pairs: Sequence[Pair]) -> Course:
    full, outcomes = pairs[0].full, [pair.outcome for pair in pairs]
    return Course(
        full.source,
        full.id,
        full.task,
        len(full.requests),
        full.tokens,
        {one.policy: [request.total for request in one.requests] for one in outcomes},
        {one.policy: list(one.rewritten) for one in outcomes[1:]},
    )


def _history(pairs: Sequence[Pair], number: int) -> History:
    full = pairs[0].full
    became = {
        pair.outcome.policy: [Became(*one[1:]) for one in pair.outcome.changes if one.number == number]
        for pair in pairs[1:]
    }
    return History(full.id, *full.results[number], became)
