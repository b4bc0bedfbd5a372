"""Replays many runs under many policies, in several processes.

Owns: what is read once and shared: how common strings are. Each process reads the runs that it replays again, one at a
time, so memory does not grow with the logs.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from keepwhole.logs.run import Run
from keepwhole.models.profiles import DEFAULT, Profile
from keepwhole.models.tokens import Counter, estimate
from keepwhole.replay.contenders import Contender
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.processes import map_in_processes
from keepwhole.replay.replay import WINDOW, replay, replay_unchanged
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.run_sample import Batch, batches, first_within, longest_first, read_batch
from keepwhole.replay.summary import ComparedRun
from keepwhole.replay.survey import LoggedRun

FREQUENCY_CHARS = 20_000_000
"""Characters of the runs from which the frequency of strings is taken."""
_BATCHES = 4
"""Batches per process: with several, no process waits long for the others at the end."""


class ReplayJob(NamedTuple):
    """The runs to replay, and how they are counted."""

    runs: Sequence[LoggedRun]
    frequencies: dict[str, Frequency]
    """By source."""
    counter: Counter = estimate
    least: int = 0
    """The fewest tokens of a run that is replayed."""
    most: int = 1 << 62
    """The most tokens of a run that is replayed."""
    profile: Profile = DEFAULT
    """The model profile that policies decide by."""
    window: int = WINDOW
    """The context window at which clients compact."""
    tail: bool = False
    """Whether recall at the tail is tried too."""


def read_frequencies(runs: Iterable[LoggedRun], jobs: int, budget: float = inf) -> dict[str, Frequency]:
    """Return how common strings are in each source, read from all of its runs or a sample of them."""
    groups: dict[str, list[LoggedRun]] = {}
    for run in runs:
        groups.setdefault(run.source, []).append(run)
    drawn = [run for group in groups.values() for run in first_within(group, budget / len(groups))]
    found = {source: Frequency() for source in groups}
    for source, task, texts in map_in_processes(_read_results, batches(drawn, _BATCHES * jobs), jobs):
        found[source].add_results(task, texts)
    return found


def _read_results(batch: Batch) -> Iterator[tuple[str, str, list[str]]]:
    for run in read_batch(batch):
        yield run.source, run.task, [one.text for message in run.messages for one in message.returned]


def replay_all(job: ReplayJob, contenders: Sequence[Contender], jobs: int = 2) -> Iterator[list[ComparedRun] | None]:
    """Yield for each run, in no particular order, the comparison of each policy; None for a run of another size."""

    def one_batch(batch: Batch) -> Iterator[list[ComparedRun] | None]:
        return (replay_one(run, job, contenders) for run in read_batch(batch))

    yield from map_in_processes(one_batch, longest_first(batches(job.runs, _BATCHES * jobs), job.runs), jobs)


def replay_one(run: Run, job: ReplayJob, contenders: Sequence[Contender]) -> list[ComparedRun] | None:
    """Return the comparison of each policy for one run, the baseline first; None for a run of another size."""
    facts = RunFacts(run, job.frequencies[run.source], job.counter, job.profile.images)
    if not job.least <= facts.tokens <= job.most:
        return None
    baseline = replay_unchanged(facts, job.profile, job.window)
    return [ComparedRun(baseline, baseline), *(ComparedRun(_outcome(facts, one, job), baseline) for one in contenders)]


def _outcome(facts: RunFacts, contender: Contender, job: ReplayJob) -> Outcome:
    """Return what a policy did, under the name of the contender."""
    outcome = replay(facts, contender.make(facts), job.profile, job.window, job.tail, contender.tools)
    return outcome.replace(policy=contender.name)
