"""A run with everything about it that no policy changes: its tokens and its evidence."""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from holdfast.projection.tokens import estimate
from holdfast.projection.transcript import Message
from holdfast.replay.evidence import Evidence, evidence
from holdfast.replay.frequency import Frequency
from holdfast.replay.run import Run

Counter: TypeAlias = Callable[[str], int]
"""Tokens that a text takes."""
FRAME = 4
"""Tokens that a message and a call take beside their text."""


class Measured:
    """A run, counted and searched once for all policies."""

    def __init__(self, run: Run, frequency: Frequency | None = None, counter: Counter = estimate) -> None:
        self.run = run
        self._frequency = frequency
        self.counter = counter
        self.result_tokens = [counter(one.text) for message in run.messages for one in message.returned]
        """Of each result, by number."""
        self.sizes = _sizes(run.messages, self.result_tokens, counter)
        """Of each message, whole."""
        self.blocks = list(accumulate(_blocks(message) for message in run.messages))

    @cached_property
    def evidence(self) -> list[Evidence]:
        """What its steps used that only results had told them."""
        return evidence(self.run, self._frequency)

    @property
    def steps(self) -> int:
        """Requests that were made."""
        return sum(message.role == "assistant" for message in self.run.messages)

    @property
    def tokens(self) -> int:
        """Of the whole run."""
        return sum(self.sizes)


def _sizes(messages: Sequence[Message], result_tokens: list[int], counter: Counter) -> list[int]:
    sizes: list[int] = []
    results = iter(result_tokens)
    for message in messages:
        size = FRAME + message.other + (counter(message.said) if message.said else 0)
        size += sum(FRAME + counter(call.tool) + counter(call.arguments) for call in message.calls)
        sizes.append(size + sum(next(results) for _ in message.returned))
    return sizes


def _blocks(message: Message) -> int:
    """Content blocks: a text, each call, each result."""
    return max(1, bool(message.said) + len(message.calls) + len(message.returned))
