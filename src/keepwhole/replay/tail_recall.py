"""What recall at the tail would have appended to requests, and whether the agent used it within three steps.

Owns: what counts as used: a string of an appended unit that one of the next three steps takes up, and that nothing in
the request, nor a result after it, had shown or said.
Must not know: policies, how a unit is found (`recall.tail`).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepwhole.policies.policy import Choices, shown
from keepwhole.policies.transcript import Transcript
from keepwhole.recall.tail import Recalled, at_the_tail
from keepwhole.replay.atoms import occurs
from keepwhole.replay.evidence import candidates, joined
from keepwhole.replay.run_facts import Measured
from keepwhole.replay.word_sources import Step

WITHIN = 3
"""Steps in which a unit must be used; the first is the one whose request it is appended to."""


class Appended(NamedTuple):
    """One unit, or at a user's turn one line that points to a result."""

    step: int
    source: int
    """The hidden result, by its number in the run."""
    tokens: int
    is_pointer: bool
    used: bool


class Appending:
    """Follows one run, request by request."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self._texts: list[str] = []
        self.found: list[Appended] = []

    def look(self, step: int, transcript: Transcript, decided: Choices) -> None:
        """Append to a request what it asks for; what was appended once is sent ever after."""
        unit = at_the_tail(transcript, decided, beside=self._texts)
        if unit is None or unit.text in self._texts:
            return
        is_pointer = unit.into is None
        holds = self._measured.told.results[unit.source] if is_pointer else unit.text
        used = self._is_used(step, holds, transcript, decided)
        self.found.append(_appended(step, unit, self._measured.counter(unit.text), used))
        self._texts.append(unit.text)

    def _is_used(self, step: int, holds: str, transcript: Transcript, decided: Choices) -> bool:
        told = self._measured.told
        at = told.steps[step]
        known = [shown(item, decided.get(item.number)) for item in transcript.items if not item.gone] + self._texts
        for later in told.steps[step : step + WITHIN]:
            known += [told.results[number] for number in range(at.results, later.results)]
            for text in _taken_up(later, holds):
                said = next(told.said.having(text, at.said), None)
                if said is None and not any(occurs(text, one) for one in known):
                    return True
            at = later._replace(said=at.said)
        return False


def _appended(step: int, unit: Recalled, tokens: int, used: bool) -> Appended:
    return Appended(step, unit.source, tokens, unit.into is None, used)


def _taken_up(step: Step, holds: str) -> Iterable[str]:
    """The strings of a step that stand in a text, whole or joined from pieces."""
    queue = candidates(step.message, step.arguments)
    for text, kind in queue:
        if occurs(text, holds):
            yield text
        else:
            queue += joined(text, kind)


def line(policy: str, runs: Iterable[Sequence[Appended]]) -> str:
    """What was found in many runs under one policy, for people."""
    found = [one for run in runs for one in run]
    units = [one for one in found if not one.is_pointer]
    pointers = [one for one in found if one.is_pointer]
    tokens = sum(one.tokens for one in units) // max(1, len(units))
    return (
        f"recall at the tail under {policy}: {len(units)} units of {tokens} tokens would be appended, "
        f"{_share(units)} used within {WITHIN} steps; "
        f"{len(pointers)} pointers at a user's turn, {_share(pointers)} used"
    )


def _share(found: Sequence[Appended]) -> str:
    return f"{sum(one.used for one in found) / len(found):.1%}" if found else "none"
