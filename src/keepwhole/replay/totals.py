"""What is kept of replayed runs as they come in, so that memory does not grow with their results.

Owns: the largest results, the longest runs, what was hidden and used later, and each policy's outcomes without those.
Must not know: how they are drawn.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from keepwhole.replay.contenders import Contender
from keepwhole.replay.missed_evidence import Missed
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.run_course import MOST_RESULTS, MOST_RUNS, Course, History, courses, histories
from keepwhole.replay.summary import Pair

MISSED = 500
"""Strings that were hidden and used later, of which the details are kept."""


class Gathered:
    """Replayed runs, condensed one by one."""

    def __init__(self, contenders: Sequence[Contender]) -> None:
        self.contenders = contenders
        """In the order of outcomes, sending everything first."""
        self.watched = watched(contenders)
        """Of whom it is kept what was hidden."""
        self.pairs: list[list[Pair]] = []
        """A list a run."""
        self.runs: list[Course] = []
        """Longest first."""
        self.results: list[History] = []
        """Largest first."""
        self.missed: list[dict[str, Any]] = []
        """What no call brings back first: the same ones whichever process was first."""
        self.evidence = self.hidden = self.brought_back = 0
        """What was used, what of it was hidden, and what of that one call brings back."""
        self.tokens: Counter[str] = Counter()
        """Of results by tool."""
        self.unused: Counter[str] = Counter()
        """The same of results of which nothing was ever used."""

    def add(self, pairs: Sequence[Pair]) -> None:
        """Take in what each policy did to one run."""
        outcomes = [pair.outcome for pair in pairs]
        full = outcomes[0]
        for one in full.results:
            self.tokens[one.tool] += one.tokens
            self.unused[one.tool] += 0 if one.used else one.tokens
        self.runs = sorted([*self.runs, *courses([pairs])], key=_by_size)[:MOST_RUNS]
        self.results = sorted([*self.results, *histories([pairs])], key=_by_size)[:MOST_RESULTS]
        if self.watched is not None:
            self._look_at(outcomes[self.watched])
        small = [_condensed(outcome) for outcome in outcomes]
        self.pairs.append([Pair(outcome, small[0]) for outcome in small])

    def _look_at(self, outcome: Outcome) -> None:
        self.evidence += outcome.evidence
        self.hidden += len(outcome.missed)
        self.brought_back += sum(one.brought_back for one in outcome.missed)
        both = self.missed + [_missed(outcome.id, one) for one in outcome.missed]
        self.missed = sorted(both, key=_by_place)[:MISSED]

    @property
    def never_used(self) -> float | None:
        """The share of tokens in results of which nothing was ever used."""
        total = sum(self.tokens.values())
        return sum(self.unused.values()) / total if total else None

    def in_order(self) -> list[list[Pair]]:
        """The runs by source and id: the same whichever process was first."""
        return sorted(self.pairs, key=lambda pairs: (pairs[0].full.source, pairs[0].full.id))


def watched(contenders: Sequence[Contender]) -> int | None:
    """The policy that people ask about: `auto`, else the first that is neither a limit nor sends everything."""
    real = [at for at, one in enumerate(contenders) if at and not one.bound]
    return next((at for at in real if contenders[at].name == "auto"), next(iter(real), None))


def _by_size(one: Course | History) -> tuple[int, str, int]:
    return (-one.tokens, one.id, 0) if isinstance(one, Course) else (-one.tokens, one.run, one.step)


def _by_place(one: Mapping[str, Any]) -> tuple[bool, str, int]:
    return one["brought_back"], one["run"], one["step"]


def _missed(run: str, one: Missed) -> dict[str, Any]:
    fields = one._asdict()
    del fields["age"]
    return {"run": run, **fields}


def _condensed(outcome: Outcome) -> Outcome:
    """What sums are made of."""
    return outcome.replace(results=(), changes=(), missed=())
