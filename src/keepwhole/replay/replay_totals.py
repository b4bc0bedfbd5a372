"""What is kept of replayed runs while a replay goes on, so that memory does not grow with their results.

Owns: the largest results, the longest runs, what was hidden and used later, and the outcomes of each policy without
these details; the names of their fields in reports.
Must not know: how they are drawn.

A run that was replayed under several policies is a sequence of comparisons, the baseline first (see `replay_all`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from keepwhole.replay.contenders import Contender
from keepwhole.replay.missed_evidence import MissedEvidence
from keepwhole.replay.outcome import Outcome, ResultChange
from keepwhole.replay.summary import ComparedRun

MOST_RUNS, MOST_RESULTS = 40, 100
MOST_MISSED = 500
"""Strings that were hidden and used later, of which the details are kept."""


class RunTimeline(NamedTuple):
    """One run under several policies, request by request."""

    source: str
    id: str
    task: str
    steps: int
    tokens: int
    context: Mapping[str, list[int]]
    """By policy, the tokens of each request."""
    rewrites: Mapping[str, list[int]]
    """By policy, the steps whose request changed something already sent; without the baseline."""


class ResultHistory(NamedTuple):
    """One result under several policies."""

    run: str
    tool: str
    arguments: str
    step: int
    tokens: int
    used: int
    became: Mapping[str, list[ResultChange]]
    """By policy, the changes of the result; without the baseline."""


class ReplayTotals:
    """Replayed runs, condensed one by one."""

    def __init__(self, contenders: Sequence[Contender]) -> None:
        self.contenders = contenders
        """In the order of comparisons, sending everything first."""
        self.examined = examined_policy(contenders)
        """The index of the policy of which the hidden evidence is kept."""
        self.comparisons: list[list[ComparedRun]] = []
        """One list per run."""
        self.runs: list[RunTimeline] = []
        """Longest first."""
        self.results: list[ResultHistory] = []
        """Largest first."""
        self.missed: list[dict[str, Any]] = []
        """Evidence that no call brings back first; sorted, so that the order of processes does not matter."""
        self.evidence = self.hidden = self.brought_back = 0
        """Of the examined policy: all evidence, what it hid, and what of that one call brings back."""
        self.tokens: Counter[str] = Counter()
        """Tokens of results by tool."""
        self.unused: Counter[str] = Counter()
        """Tokens of results by tool, of which nothing was ever used."""

    def add(self, run: Sequence[ComparedRun]) -> None:
        """Add what each policy did to one run."""
        outcomes = [one.outcome for one in run]
        for one in outcomes[0].results:
            self.tokens[one.tool] += one.tokens
            self.unused[one.tool] += 0 if one.used else one.tokens
        self.runs = sorted([*self.runs, *run_timelines([run])], key=_by_size)[:MOST_RUNS]
        self.results = sorted([*self.results, *result_histories([run])], key=_by_size)[:MOST_RESULTS]
        if self.examined is not None:
            self._add_missed(outcomes[self.examined])
        small = [_condense(outcome) for outcome in outcomes]
        self.comparisons.append([ComparedRun(outcome, small[0]) for outcome in small])

    def _add_missed(self, outcome: Outcome) -> None:
        self.evidence += outcome.evidence
        self.hidden += len(outcome.missed)
        self.brought_back += sum(one.brought_back for one in outcome.missed)
        both = self.missed + [_missed_fields(outcome.id, one) for one in outcome.missed]
        self.missed = sorted(both, key=_by_place)[:MOST_MISSED]

    @property
    def never_used(self) -> float | None:
        """Return the share of tokens in results of which nothing was ever used."""
        total = sum(self.tokens.values())
        return sum(self.unused.values()) / total if total else None

    def in_order(self) -> list[list[ComparedRun]]:
        """Return the runs by source and id, independent of the order of processes."""
        return sorted(self.comparisons, key=lambda run: (run[0].baseline.source, run[0].baseline.id))


def examined_policy(contenders: Sequence[Contender]) -> int | None:
    """Return the policy of which people want details: `auto`, else the first that is no bound and not the baseline."""
    real = [at for at, one in enumerate(contenders) if at and not one.bound]
    return next((at for at in real if contenders[at].name == "auto"), next(iter(real), None))


def run_timelines(replayed: Iterable[Sequence[ComparedRun]], most: int = MOST_RUNS) -> list[RunTimeline]:
    """Return the timelines of the longest runs, longest first."""
    longest = sorted(replayed, key=lambda run: -run[0].baseline.tokens)[:most]
    return [_timeline(run) for run in longest]


def result_histories(replayed: Iterable[Sequence[ComparedRun]], most: int = MOST_RESULTS) -> list[ResultHistory]:
    """Return the histories of the largest results, largest first."""
    sizes = ((one.tokens, run, number) for run in replayed for number, one in enumerate(run[0].baseline.results))
    largest = sorted(sizes, key=lambda one: -one[0])[:most]
    return [_history(run, number) for _, run, number in largest]


def _timeline(run: Sequence[ComparedRun]) -> RunTimeline:
    baseline, outcomes = run[0].baseline, [one.outcome for one in run]
    return RunTimeline(
        baseline.source,
        baseline.id,
        baseline.task,
        len(baseline.requests),
        baseline.tokens,
        {one.policy: [request.total for request in one.requests] for one in outcomes},
        {one.policy: list(one.rewritten) for one in outcomes[1:]},
    )


def _history(run: Sequence[ComparedRun], number: int) -> ResultHistory:
    baseline, outcomes = run[0].baseline, [one.outcome for one in run[1:]]
    became = {one.policy: [change for change in one.changes if change.number == number] for one in outcomes}
    return ResultHistory(baseline.id, *baseline.results[number], became)


def _by_size(one: RunTimeline | ResultHistory) -> tuple[int, str, int]:
    return (-one.tokens, one.id, 0) if isinstance(one, RunTimeline) else (-one.tokens, one.run, one.step)


def _by_place(one: Mapping[str, Any]) -> tuple[bool, str, int]:
    return one["brought_back"], one["run"], one["step"]


def _missed_fields(run: str, one: MissedEvidence) -> dict[str, Any]:
    fields = one._asdict()
    del fields["age"]
    return {"run": run, **fields}


def _condense(outcome: Outcome) -> Outcome:
    """Return an outcome without the details that sums do not need."""
    return outcome.replace(results=(), changes=(), missed=())
