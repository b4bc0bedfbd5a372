"""Replays many runs under many policies, on several processes.

Owns: what is read once and shared (runs, how common strings are), and the processes.
The processes are forked, so that policies may be made by any function, and nothing large is copied.
"""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from holdfast.errors import UsageError
from holdfast.projection.policy import Policy
from holdfast.projection.profiles import DEFAULT, Profile
from holdfast.projection.tokens import estimate
from holdfast.replay.frequency import Frequency
from holdfast.replay.measured import Counter, Measured
from holdfast.replay.oracles import ORACLES, oracle_named
from holdfast.replay.replay import Outcome, replay, sent_whole
from holdfast.replay.run import Run
from holdfast.replay.sample import sample
from holdfast.replay.summary import Pair

Maker: TypeAlias = Callable[[Measured], Policy]
"""Makes a policy for one run; oracles look at its evidence."""


class Work(NamedTuple):
    """Runs to replay, and how they are measured."""

    runs: Sequence[Run]
    frequencies: dict[str, Frequency]
    """By source."""
    counter: Counter = estimate
    least: int = 0
    """Tokens that a run must have."""
    most: int = 1 << 62
    """Tokens that a run may have."""
    profile: Profile = DEFAULT


_shared: list[tuple[Work, Sequence[Maker]]] = []
"""What the processes find after the fork."""


def work_on(runs: Iterable[Run], *, sampled: bool = True, least: int = 0, **more: Any) -> Work:
    """The work that is to be done: a sample of each source's runs, or all.

    How common a string is counts over all runs of a source, also those that are not replayed.
    """
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.source, []).append(run)
    drawn = [run for those in groups.values() for run in (sample(those) if sampled else those)]
    wanted = [run for run in drawn if run.chars >= least]
    sources = dict.fromkeys(run.source for run in wanted)
    longest_first = sorted(wanted, key=lambda run: -run.chars)
    return Work(longest_first, {source: Frequency(groups[source]) for source in sources}, least=least, **more)


def replay_all(work: Work, makers: Sequence[Maker], jobs: int = 2) -> Iterator[list[Pair] | None]:
    """For each run, in order, what each policy did beside the run as it came; None for a run of another size."""
    _shared.append((work, makers))
    try:
        if jobs < 2:
            yield from map(_replay_one, range(len(work.runs)))
            return
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            yield from pool.imap(_replay_one, range(len(work.runs)))
    finally:
        _shared.pop()


def _replay_one(number: int) -> list[Pair] | None:
    work, makers = _shared[-1]
    run = work.runs[number]
    measured = Measured(run, work.frequencies[run.source], work.counter)
    if not work.least <= measured.tokens <= work.most:
        return None
    full = sent_whole(measured, work.profile)
    outcomes: list[Outcome] = [replay(measured, maker(measured), work.profile) for maker in makers]
    return [Pair(outcome, full) for outcome in (full, *outcomes)]


def maker_of(name: str) -> Maker:
    """Makes the policy of that name, an oracle or any other; an unknown name is refused at once."""
    if name in ORACLES:
        return lambda measured: oracle_named(name, measured.evidence, measured.steps)
    from holdfast.projection.policies import policy_named

    policy_named(name)
    return lambda measured: policy_named(name)


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
