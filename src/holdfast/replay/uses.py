"""Every use of a string that a result had shown, also of strings that somebody has said since.

Owns: the any-use variant of evidence, for clients that drop what the agent itself said.
Must not know: policies.
"""

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.replay.evidence import candidates, joined
from holdfast.replay.frequency import Frequency
from holdfast.replay.run import Run
from holdfast.replay.told import Step, Texts, Told


class Use(NamedTuple):
    """One string in one step."""

    step: int
    text: str
    sources: tuple[int, ...]
    """The results that had shown it."""
    asked: bool
    """Whether the user or the system had said it."""
    said: int
    """The last message in which the agent had said it; -1 for none."""


def uses(run: Run, told: Told, frequency: Frequency, first: int) -> list[Use]:
    """The uses in the step `first` and after it."""
    found = _Uses(run, told, frequency)
    return [use for number in range(first, len(told.steps)) for use in found.of(number)]


class _Known:
    """In which texts strings occur, each text looked at once for each string."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._known: dict[str, tuple[int, list[int]]] = {}

    def before(self, text: str, stop: int) -> list[int]:
        seen, found = self._known.get(text, (0, []))
        found += self._texts.having(text, stop, seen)
        self._known[text] = stop, found
        return found


class _Uses:
    def __init__(self, run: Run, told: Told, frequency: Frequency) -> None:
        self._run, self._told, self._frequency = run, told, frequency
        self._results, self._said = _Known(told.results), _Known(told.said)

    def of(self, number: int) -> Iterator[Use]:
        step = self._told.steps[number]
        queue = candidates(step.message, step.arguments)
        seen: set[str] = set()
        for text, kind in queue:
            if text in seen:
                continue
            sources = tuple(self._results.before(text, step.results))
            if not sources:
                queue += joined(text, kind)
                continue
            seen.add(text)
            if not self._frequency.is_common(text, self._run.task):
                yield self._use(number, text, sources, step)

    def _use(self, number: int, text: str, sources: tuple[int, ...], step: Step) -> Use:
        messages = self._run.messages
        at = [self._told.said_at[one] for one in self._said.before(text, step.said)]
        asked = any(messages[index].role != "assistant" for index in at)
        agent = (index for index in reversed(at) if messages[index].role == "assistant")
        return Use(number, text, sources, asked, next(agent, -1))
