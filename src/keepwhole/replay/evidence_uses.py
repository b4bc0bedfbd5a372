"""Every use of a string that a result had shown, not only the first one.

Owns: this wider variant of evidence, for clients that compact: they drop also what the agent itself said.
Must not know: policies.
"""

from collections.abc import Iterator
from typing import NamedTuple

from keepwhole.logs.run import Run
from keepwhole.policies.atoms import occurs
from keepwhole.replay.evidence import candidates, part_candidates
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.run_texts import RunStep, RunTextIndex, RunTexts


class EvidenceUse(NamedTuple):
    """One use of one string in one step."""

    step: int
    text: str
    sources: tuple[int, ...]
    """The numbers of the results that contain it."""
    by_user: bool
    """Whether the user or the system had said it before."""
    said: int
    """The index of the last message in which the agent had said it; -1 for none."""


def evidence_uses(run: Run, texts: RunTexts, frequency: Frequency, first: int) -> list[EvidenceUse]:
    """Return the uses in the step `first` and all later ones."""
    extraction = _Extraction(run, texts, frequency)
    return [use for number in range(first, len(texts.steps)) for use in extraction.uses_of(number)]


class _Occurrences:
    """The texts in which one string occurs; each text is searched once."""

    def __init__(self, text: str, texts: RunTextIndex) -> None:
        self._text, self._texts = text, texts
        self._maybe = texts.candidates_for(text)
        self._searched = 0
        self._found: list[int] = []

    def before(self, stop: int) -> list[int]:
        while self._searched < len(self._maybe) and (number := self._maybe[self._searched]) < stop:
            self._searched += 1
            if occurs(self._text, self._texts[number]):
                self._found.append(number)
        return self._found


class _Extraction:
    def __init__(self, run: Run, texts: RunTexts, frequency: Frequency) -> None:
        self._run, self._told, self._frequency = run, texts, frequency
        self._results: dict[str, _Occurrences] = {}
        self._said: dict[str, _Occurrences] = {}
        self._common: dict[str, bool] = {}

    def uses_of(self, number: int) -> Iterator[EvidenceUse]:
        step = self._told.steps[number]
        queue = candidates(step.message, step.arguments)
        seen: set[str] = set()
        for text, kind in queue:
            if text in seen:
                continue
            if text not in self._results:
                self._results[text] = _Occurrences(text, self._told.results)
            sources = tuple(self._results[text].before(step.results))
            if not sources:
                queue += part_candidates(text, kind)
                continue
            seen.add(text)
            if not self._is_common(text):
                yield self._use(number, text, sources, step)

    def _is_common(self, text: str) -> bool:
        if text not in self._common:
            self._common[text] = self._frequency.is_common(text, self._run.task)
        return self._common[text]

    def _use(self, number: int, text: str, sources: tuple[int, ...], step: RunStep) -> EvidenceUse:
        messages = self._run.messages
        if text not in self._said:
            self._said[text] = _Occurrences(text, self._told.said)
        at = [self._told.said_at[one] for one in self._said[text].before(step.said)]
        by_user = any(messages[index].role != "assistant" for index in at)
        agent = (index for index in reversed(at) if messages[index].role == "assistant")
        return EvidenceUse(number, text, sources, by_user, next(agent, -1))
