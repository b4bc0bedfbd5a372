"""What is kept of replayed runs as they come in, so that memory does not grow with their results.

Owns: the largest results, the longest runs, what was hidden and used later, and each policy's outcomes without those.
Must not know: how they are drawn.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from holdfast.replay.contenders import Contender
from holdfast.replay.missed import Missed
from holdfast.replay.outcome import Outcome
from holdfast.replay.summary import Pair

RUNS = 40
"""Runs of which every request is kept for people to see, longest first."""
RESULTS = 100
"""Results of which it is kept what became of them, largest first."""
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
        self.runs: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self.missed: list[dict[str, Any]] = []
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
        self.runs = _largest([*self.runs, self._series(outcomes)], RUNS)
        self.results = _largest([*self.results, *self._histories(outcomes)], RESULTS)
        if self.watched is not None:
            self._look_at(outcomes[self.watched])
        small = [_condensed(outcome) for outcome in outcomes]
        self.pairs.append([Pair(outcome, small[0]) for outcome in small])

    def _look_at(self, outcome: Outcome) -> None:
        self.evidence += outcome.evidence
        self.hidden += len(outcome.missed)
        self.brought_back += sum(one.brought_back for one in outcome.missed)
        self.missed = (self.missed + [_missed(outcome.id, one) for one in outcome.missed])[:MISSED]

    @property
    def never_used(self) -> float | None:
        """The share of tokens in results of which nothing was ever used."""
        total = sum(self.tokens.values())
        return sum(self.unused.values()) / total if total else None

    def in_order(self) -> list[list[Pair]]:
        """The runs by source and id: the same whichever process was first."""
        return sorted(self.pairs, key=lambda pairs: (pairs[0].full.source, pairs[0].full.id))

    def _series(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        full, names = outcomes[0], [one.name for one in self.contenders]
        return {
            "source": full.source,
            "id": full.id,
            "task": full.task,
            "steps": len(full.requests),
            "tokens": full.tokens,
            "context": {name: [r.total for r in one.requests] for name, one in zip(names, outcomes, strict=True)},
            "rewrites": {name: list(one.rewritten) for name, one in zip(names, outcomes, strict=True)},
        }

    def _histories(self, outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
        """The largest results of a run, and what became of each."""
        full = outcomes[0]
        numbers = sorted(range(len(full.results)), key=lambda at: -full.results[at].tokens)[:RESULTS]
        found: dict[int, dict[str, Any]] = {
            at: {"run": full.id, **full.results[at]._asdict(), "became": {}} for at in numbers
        }
        for contender, outcome in zip(self.contenders, outcomes, strict=True):
            for change in outcome.changes:
                if change.number in found:
                    step = {"step": change.step, "rule": change.rule, "tokens": change.tokens}
                    found[change.number]["became"].setdefault(contender.name, []).append(step)
        return list(found.values())


def watched(contenders: Sequence[Contender]) -> int | None:
    """The policy that people ask about: `auto`, else the first that is neither a limit nor sends everything."""
    real = [at for at, one in enumerate(contenders) if at and not one.bound]
    return next((at for at in real if contenders[at].name == "auto"), next(iter(real), None))


def _largest(found: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    return sorted(found, key=lambda one: (-one["tokens"], one.get("id") or one["run"]))[:most]


def _missed(run: str, one: Missed) -> dict[str, Any]:
    fields = one._asdict()
    del fields["age"]
    return {"run": run, **fields}


def _condensed(outcome: Outcome) -> Outcome:
    """What sums are made of."""
    return outcome.replace(results=(), changes=(), missed=())
