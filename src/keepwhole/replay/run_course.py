"""How replayed runs went, for people to look at: tokens request by request, what became of large results.

Owns: what is picked out of outcomes, under the names that reports use.
Must not know: how it is drawn.

A run replayed under several policies is given as its pairs, the run as it came first, as `replay_all` gives them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepwhole.replay.summary import Pair

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


def courses(replayed: Iterable[Sequence[Pair]], most: int = MOST_RUNS) -> list[Course]:
    """The runs, longest first."""
    longest = sorted(replayed, key=lambda pairs: -pairs[0].full.tokens)[:most]
    return [_course(pairs) for pairs in longest]


def histories(replayed: Iterable[Sequence[Pair]], most: int = MOST_RESULTS) -> list[History]:
    """What became of the largest results, largest first."""
    places = ((one.tokens, pairs, number) for pairs in replayed for number, one in enumerate(pairs[0].full.results))
    largest = sorted(places, key=lambda place: -place[0])[:most]
    return [_history(pairs, number) for _, pairs, number in largest]


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
