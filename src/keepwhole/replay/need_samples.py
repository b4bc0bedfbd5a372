"""What was known of a result at some turn of a recorded run, and how much of it the next turns used.

Owns: the samples from which the weights of need are fitted. Must not know: how they are fitted.
"""

from collections.abc import Iterator
from typing import NamedTuple

from keepwhole.policies.need import TURNS
from keepwhole.policies.transcript import Transcript
from keepwhole.policies.uses import ResultUse
from keepwhole.replay.run_facts import RunFacts

_POINTS = 20
"""Turns of a run at which samples are taken, about."""
_FIRST = 5
"""Turns before the first samples."""
_LEAST_TOKENS = 100
MOST = 5
"""The most that is counted of what is used: a result that is copied line by line is not needed more than that."""


class NeedSample(NamedTuple):
    """One result at one turn."""

    tokens: int
    unsaid: int
    turns: int
    """Turns since it was last referred to."""
    messages: int
    """Messages of the user since."""
    again: bool
    written: bool
    used: int
    """Pieces of evidence that the next turns took from it."""


def samples(facts: RunFacts) -> Iterator[NeedSample]:
    """Yield all results of a run at some of its turns."""
    used: dict[int, list[int]] = {}
    for one in facts.evidence:
        used.setdefault(one.sources[-1], []).append(one.step)
    every = max(3, facts.steps // _POINTS)
    transcript, step = Transcript(), 0
    for message in facts.run.messages:
        if message.role == "assistant":
            if step > _FIRST and step % every == every // 2:
                yield from _samples_at(transcript, step, facts.result_tokens, used)
            step += 1
        transcript.extend((message,))


def _samples_at(
    transcript: Transcript, step: int, tokens: list[int], used: dict[int, list[int]]
) -> Iterator[NeedSample]:
    uses: list[ResultUse] = transcript.uses.of
    for item in transcript.items:
        if tokens[item.number] >= _LEAST_TOKENS:
            use = uses[item.number]
            taken = sum(step <= each < step + TURNS for each in used.get(item.number, ()))
            since, messages = transcript.turns - use.referred + 1, transcript.user_messages_after(item)
            yield NeedSample(tokens[item.number], use.unsaid, since, messages, use.again, use.written, min(taken, MOST))
