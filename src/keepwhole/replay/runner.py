"""Replays many runs under many policies, on several processes.

Owns: what is read once and shared (how common strings are). Runs are read again where they are replayed, one at a
time, so memory does not grow with the logs.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Any, NamedTuple, cast

from keepwhole.errors import UsageError
from keepwhole.logs.run import Run
from keepwhole.models.profiles import DEFAULT, Profile
from keepwhole.models.tokens import estimate
from keepwhole.replay.contenders import Contender
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.processes import spread
from keepwhole.replay.replay import WINDOW, replay, sent_whole
from keepwhole.replay.run_facts import Counter, Measured
from keepwhole.replay.run_sample import Batch, batches, longest_first, read_again, tasks_of
from keepwhole.replay.summary import Pair
from keepwhole.replay.survey import Logged

KNOWN = 20_000_000
"""Characters of the runs by which common strings are known."""
_BATCHES = 4
"""Batches for each process, at least: none waits long for the others at the end."""


class Work(NamedTuple):
    """Runs to replay, and how they are measured."""

    runs: Sequence[Logged]
    frequencies: dict[str, Frequency]
    """By source."""
    counter: Counter = estimate
    least: int = 0
    """Tokens that a run must have."""
    most: int = 1 << 62
    """Tokens that a run may have."""
    profile: Profile = DEFAULT
    """What policies are told of the model."""
    window: int = WINDOW
    """At which clients compact."""
    tail: bool = False
    """Whether recall at the tail is looked at too."""


def frequencies(runs: Iterable[Logged], jobs: int, budget: float = inf) -> dict[str, Frequency]:
    """How common strings are in each source, by all of its runs or a draw of them."""
    groups: dict[str, list[Logged]] = {}
    for run in runs:
        groups.setdefault(run.source, []).append(run)
    drawn = [run for group in groups.values() for run in tasks_of(group, budget / len(groups))]
    found = {source: Frequency() for source in groups}
    for source, task, texts in spread(_results, batches(drawn, _BATCHES * jobs), jobs):
        found[source].add_results(task, texts)
    return found


def _results(batch: Batch) -> Iterator[tuple[str, str, list[str]]]:
    for run in read_again(batch):
        yield run.source, run.task, [one.text for message in run.messages for one in message.returned]


def replay_all(work: Work, contenders: Sequence[Contender], jobs: int = 2) -> Iterator[list[Pair] | None]:
    """For each run, in no order, what each policy did beside the run as it came; None for a run of another size."""

    def one_batch(batch: Batch) -> Iterator[list[Pair] | None]:
        return (replay_one(run, work, contenders) for run in read_again(batch))

    yield from spread(one_batch, longest_first(batches(work.runs, _BATCHES * jobs), work.runs), jobs)


def replay_one(run: Run, work: Work, contenders: Sequence[Contender]) -> list[Pair] | None:
    """One run under each policy, first as it came."""
    measured = Measured(run, work.frequencies[run.source], work.counter)
    if not work.least <= measured.tokens <= work.most:
        return None
    full = sent_whole(measured, work.profile, work.window)
    return [Pair(full, full), *(Pair(_outcome(measured, one, work), full) for one in contenders)]


def _outcome(measured: Measured, contender: Contender, work: Work) -> Outcome:
    """What a policy did, under the name that the contender has."""
    outcome = replay(measured, contender.make(measured), work.profile, work.window, work.tail)
    return outcome.replace(policy=contender.name)


def exact_counter() -> Counter:
    """A counter by the vocabulary o200k."""
    try:
        from splintr import Tokenizer  # pyright: ignore
    except ImportError as error:
        raise UsageError("There is no vocabulary to count tokens by. Run `pip install splintr-rs`.") from error
    encode = cast("Any", Tokenizer).from_pretrained("o200k_base").encode

    def count(text: str) -> int:
        return len(encode(text.encode("utf-8", "replace").decode()))

    return count
