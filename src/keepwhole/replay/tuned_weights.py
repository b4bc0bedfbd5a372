"""Weights of need fitted to a user's own logs, and whether they do better on a part that they were not fitted to.

Owns: which runs are held back, and what counts as better. Must not know: where logs are, how anything is printed.
"""

from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

from keepwhole.policies.auto import Auto
from keepwhole.policies.settings import AutoSettings, NeedWeights
from keepwhole.recall.names import OFFERED_TOKENS
from keepwhole.replay.contenders import Contender, same_policy
from keepwhole.replay.need_fit import fit
from keepwhole.replay.need_samples import NeedSample, samples
from keepwhole.replay.processes import map_in_processes
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.run_sample import Batch, batches, read_batch
from keepwhole.replay.runner import ReplayJob, replay_all
from keepwhole.replay.summary import PolicySummary, summarize
from keepwhole.replay.survey import LoggedRun

LEAST_EVIDENCE = 300
"""Pieces of evidence that each part must have: fewer say nothing."""
_HELD_BACK = 3
"""One task of so many is held back."""
_SAMPLES = 40_000
_BETTER = 0.002


class TunedWeights(NamedTuple):
    """What was fitted, and what it does to the runs that were held back."""

    weights: NeedWeights
    fitted_to: int
    """Pieces of evidence in the runs that the weights were fitted to, at most five for each result and turn."""
    before: PolicySummary
    after: PolicySummary

    @property
    def has_enough(self) -> bool:
        """Whether both parts have enough evidence to tell."""
        return min(self.fitted_to, self.before.evidence.pieces) >= LEAST_EVIDENCE

    @property
    def is_better(self) -> bool:
        """Whether the part that was held back shows no less evidence at no more cost, and one of them is better."""
        kept = self.after.evidence.in_context.value - self.before.evidence.in_context.value
        saved = self.before.cost.all_in_context.value - self.after.cost.all_in_context.value
        return self.has_enough and min(kept, saved) >= 0 and max(kept, saved) >= _BETTER


def tuned_weights(job: ReplayJob, now: AutoSettings, jobs: int) -> TunedWeights | None:
    """Fit weights to two thirds of the tasks and replay the rest with them; None where a part has no run."""
    held_back = [run for run in job.runs if _is_held_back(run)]
    found = list(_samples(job._replace(runs=[run for run in job.runs if not _is_held_back(run)]), jobs))
    if not found or not held_back:
        return None
    weights = fit(found[:: max(1, len(found) // _SAMPLES)])
    then = now.replace(need={name: getattr(weights, name) for name in NeedWeights.fields})
    contenders = [_contender("now", now), _contender("tuned", then)]
    runs = [one for one in replay_all(job._replace(runs=held_back), contenders, jobs) if one]
    if not runs:
        return None
    _, before, after = (summarize(list(pairs), window=job.window) for pairs in zip(*runs, strict=True))
    return TunedWeights(weights, sum(sample.used for sample in found), before, after)


def _is_held_back(run: LoggedRun) -> bool:
    """Return whether a run is held back: all runs of a task are, or none, since they are alike."""
    return blake2b(f"{run.source}\0{run.task}".encode(), digest_size=8).digest()[0] % _HELD_BACK == 0


def _samples(job: ReplayJob, jobs: int) -> Iterator[NeedSample]:
    def of_batch(batch: Batch) -> Iterator[list[NeedSample]]:
        for run in read_batch(batch):
            yield list(samples(RunFacts(run, job.frequencies[run.source], job.counter, job.profile.images)))

    for those in map_in_processes(of_batch, batches(job.runs, 4 * jobs), jobs):
        yield from those


def _contender(name: str, settings: AutoSettings) -> Contender:
    return Contender(name, same_policy(partial(Auto, settings)), None, tools=OFFERED_TOKENS)


def settings_text(weights: NeedWeights, command: str) -> str:
    """Return the lines of a settings file that put weights in force."""
    lines = [f"    {name}: {getattr(weights, name)}" for name in NeedWeights.fields]
    return "\n".join((f"# Fitted by `{command}`.", "auto:", "  need:", *lines, ""))
