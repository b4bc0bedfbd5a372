"""What recall at the tail would have appended to requests, and whether the agent used it within three steps.

Owns: what counts as used: one of the next three steps contains a string of the appended unit, and neither the request
nor a result after it contains that string.
Must not know: policies, how a unit is found (`recall.tail`).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepwhole.policies.atoms import occurs
from keepwhole.policies.policy import Choices, shown_text
from keepwhole.policies.transcript import Transcript
from keepwhole.recall.tail import recall_at_tail
from keepwhole.replay.evidence import candidates, part_candidates
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.run_texts import RunStep

WITHIN = 3
"""Steps within which a unit must be used; the first is the one whose request it is appended to."""


class AppendedUnit(NamedTuple):
    """One appended unit, or at a user's turn one line that points to a result."""

    step: int
    source: int
    """The number of the hidden result."""
    tokens: int
    is_pointer: bool
    used: bool


class TailRecallProbe:
    """What would have been appended in one run, request by request."""

    def __init__(self, facts: RunFacts) -> None:
        self._facts = facts
        self._appended_texts: list[str] = []
        self.found: list[AppendedUnit] = []

    def count(self, step: int, transcript: Transcript, decided: Choices) -> None:
        """Note the unit that would be appended to a request; an appended unit stays in all later requests."""
        unit = recall_at_tail(transcript, decided, beside=self._appended_texts)
        if unit is None or unit.text in self._appended_texts:
            return
        is_pointer = unit.into is None
        content = self._facts.texts.results[unit.source] if is_pointer else unit.text
        used = self._is_used(step, content, transcript, decided)
        tokens = self._facts.count_tokens(unit.text)
        self.found.append(AppendedUnit(step, unit.source, tokens, is_pointer, used))
        self._appended_texts.append(unit.text)

    def _is_used(self, step: int, content: str, transcript: Transcript, decided: Choices) -> bool:
        texts = self._facts.texts
        at = texts.steps[step]
        known = [
            shown_text(item, decided.get(item.number)) for item in transcript.items if not item.gone
        ] + self._appended_texts
        for later in texts.steps[step : step + WITHIN]:
            known += [texts.results[number] for number in range(at.results, later.results)]
            for text in _strings_from(content, later):
                said = next(texts.said.texts_with(text, at.said), None)
                if said is None and not any(occurs(text, one) for one in known):
                    return True
            at = later._replace(said=at.said)
        return False


def _strings_from(content: str, step: RunStep) -> Iterable[str]:
    """Yield the strings of a step that occur in a text, whole or in parts."""
    queue = candidates(step.message, step.arguments)
    for text, kind in queue:
        if occurs(text, content):
            yield text
        else:
            queue += part_candidates(text, kind)


def tail_recall_line(policy: str, runs: Iterable[Sequence[AppendedUnit]]) -> str:
    """Return what was found in many runs under one policy, as one line for people."""
    found = [one for run in runs for one in run]
    units = [one for one in found if not one.is_pointer]
    pointers = [one for one in found if one.is_pointer]
    tokens = sum(one.tokens for one in units) // max(1, len(units))
    return (
        f"recall at the tail under {policy}: {len(units)} units of {tokens} tokens would be appended, "
        f"{_share(units)} used within {WITHIN} steps; "
        f"{len(pointers)} pointers at a user's turn, {_share(pointers)} used"
    )


def _share(found: Sequence[AppendedUnit]) -> str:
    return f"{sum(one.used for one in found) / len(found):.1%}" if found else "none"
