"""A run with everything about it that no policy changes: its tokens and its evidence."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, groupby
from typing import TypeAlias

from keepwhole.canonical.message import Message
from keepwhole.logs.run import Run
from keepwhole.models.tokens import estimate
from keepwhole.replay.atoms import in_context
from keepwhole.replay.evidence import Evidence, evidence
from keepwhole.replay.evidence_uses import Use, uses
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.repeated_calls import Repeats, repeats
from keepwhole.replay.result_use import Seen, seen
from keepwhole.replay.search import Search
from keepwhole.replay.word_sources import Told

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

        self._near: dict[tuple[str, int], tuple[str, ...]] = {}
        self._uses: dict[int, dict[int, list[Use]]] = {}

    @cached_property
    def told(self) -> Told:
        """Its texts, found by words."""
        return Told(self.run)

    @cached_property
    def search(self) -> Search:
        """The search that an agent could make in results it no longer sees."""
        return Search(self.told.results, self.counter)

    @cached_property
    def repeats(self) -> Repeats:
        """The calls that repeat an earlier one."""
        return repeats(self.told)

    @cached_property
    def results(self) -> tuple[Seen, ...]:
        """Its results in figures."""
        return seen(self.told, self.result_tokens, self.evidence)

    @cached_property
    def evidence(self) -> list[Evidence]:
        """What its steps used that only results had told them."""
        return evidence(self.run, self._frequency, self.told)

    def uses_from(self, limit: int) -> dict[int, list[Use]]:
        """By step, what was used once a request with everything had reached so many tokens."""
        if limit not in self._uses:
            whole = [0, *accumulate(self.sizes)]
            first = next((number for number, step in enumerate(self.told.steps) if whole[step.at] >= limit), None)
            found = [] if first is None else uses(self.run, self.told, self._frequency or Frequency(), first)
            self._uses[limit] = {step: list(those) for step, those in groupby(found, lambda use: use.step)}
        return self._uses[limit]

    def shows(self, text: str, source: int, texts: Mapping[int, str]) -> bool:
        """Whether a result shows a string as it did, with what stood round it; `texts` are those that were changed."""
        if source not in texts:
            return True
        key = text, source
        if key not in self._near:
            self._near[key] = tuple(in_context(text, self.told.results[source]))
        return any(near in texts[source] for near in self._near[key])

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
