"""Evidence that only an argument could have told: strings that the agent had written into a call and used again.

Owns: the extraction, once per run, and which calls still show a string.
Must not know: policies; evidence that results have told (`evidence.py`).

Theory of operation. What a model wrote into a call is sent again with every request, and it may read there what it has
done: a name in a file that it wrote, a query, a message. If arguments are cut, such a string may be gone.

    step 3      calls write(path="berth.py", content="… def slot_is_free(self): …")
    result 3    "File written."
    step 9      calls edit(path="berth.py", old="def slot_is_free(self):", …)

No result contains `slot_is_free`, nobody said it, and the call of step 3 does: evidence with the source 3. It counts at
its first use after it was written, once per run. A string that a result has shown, also after it was written, is
evidence of results or none: the agent could have read it there.
"""

from collections.abc import Mapping
from typing import NamedTuple

from keepwhole.canonical.message import Call
from keepwhole.logs.run import Run
from keepwhole.policies.atoms import argument_text, occurrences_in_context
from keepwhole.replay.evidence import candidates, part_candidates
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.run_texts import RunTextIndex, RunTexts


class ArgumentEvidence(NamedTuple):
    """One string at its first use after it was written."""

    step: int
    text: str
    calls: tuple[int, ...]
    """The numbers of the calls that were given it, oldest first."""


class RunArguments:
    """The arguments of the calls of one run, and what was used of them."""

    def __init__(self, run: Run, texts: RunTexts, frequency: Frequency) -> None:
        self.number_of: dict[int, int] = {}
        """The number of each call, by the identity of the call."""
        self.texts, self._words = RunTextIndex(), RunTextIndex()
        self._calls: list[Call] = []
        """So that identities stay theirs."""
        self.evidence: list[ArgumentEvidence] = []
        seen: set[str] = set()
        steps = iter(enumerate(texts.steps))
        for message in run.messages:
            if message.role == "assistant":
                number, step = next(steps)
                queue = candidates(step.message, step.arguments)
                for text, kind in queue:
                    if text in seen:
                        continue
                    calls = tuple(self.texts.texts_with(text, len(self.texts)))
                    if not calls:
                        queue += part_candidates(text, kind)
                        continue
                    seen.add(text)
                    is_told = next(texts.results.texts_with(text, step.results), None) is not None
                    is_said = next(self._words.texts_with(text, len(self._words)), None) is not None
                    if not is_told and not is_said and not frequency.is_common(text, run.task):
                        self.evidence.append(ArgumentEvidence(number, text, calls))
            self._words.add(message.said)
            for call in message.calls:
                self.number_of[id(call)] = len(self._calls)
                self._calls.append(call)
                self.texts.add(argument_text(call.arguments))

    def shows(self, one: ArgumentEvidence, cut: Mapping[int, str]) -> bool:
        """Return whether a call shows a string with the text around it; `cut` has the shown texts of cut calls."""
        return any(
            call not in cut or any(near in cut[call] for near in occurrences_in_context(one.text, self.texts[call]))
            for call in reversed(one.calls)
        )
