"""Every use of a string that a result had shown, also of strings that somebody has said since.

Owns: the any-use variant of evidence, for clients that drop what the agent itself said.
Must not know: policies.
"""

from collections.abc import Iterator
from typing import NamedTuple

from keepwhole.logs.run import Run
from keepwhole.replay.atoms import occurs
from keepwhole.replay.evidence import candidates, joined
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.word_sources import Step, Texts, Told


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


class _Found:
    """In which texts one string occurs, each looked at once."""

    def __init__(self, text: str, texts: Texts) -> None:
        self._text, self._texts = text, texts
        self._maybe = texts.maybe(text)
        self._looked = 0
        self._found: list[int] = []

    def before(self, stop: int) -> list[int]:
        while self._looked < len(self._maybe) and (number := self._maybe[self._looked]) < stop:
            self._looked += 1
            if occurs(self._text, self._texts[number]):
                self._found.append(number)
        return self._found


class _Uses:
    def __init__(self, run: Run, told: Told, frequency: Frequency) -> None:
        self._run, self._told, self._frequency = run, told, frequency
        self._results: dict[str, _Found] = {}
        self._said: dict[str, _Found] = {}
        self._common: dict[str, bool] = {}

    def of(self, number: int) -> Iterator[Use]:
        step = self._told.steps[number]
        queue = candidates(step.message, step.arguments)
        seen: set[str] = set()
        for text, kind in queue:
            if text in seen:
                continue
            if text not in self._results:
                self._results[text] = _Found(text, self._told.results)
            sources = tuple(self._results[text].before(step.results))
            if not sources:
                queue += joined(text, kind)
                continue
            seen.add(text)
            if not self._is_common(text):
                yield self._use(number, text, sources, step)

    def _is_common(self, text: str) -> bool:
        if text not in self._common:
            self._common[text] = self._frequency.is_common(text, self._run.task)
        return self._common[text]

    def _use(self, number: int, text: str, sources: tuple[int, ...], step: Step) -> Use:
        messages = self._run.messages
        if text not in self._said:
            self._said[text] = _Found(text, self._told.said)
        at = [self._told.said_at[one] for one in self._said[text].before(step.said)]
        asked = any(messages[index].role != "assistant" for index in at)
        agent = (index for index in reversed(at) if messages[index].role == "assistant")
        return Use(number, text, sources, asked, next(agent, -1))
