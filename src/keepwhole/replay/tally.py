"""Counts what the requests of one run show of the evidence, and what would have to be fetched back.

Theory of operation
-------------------
Each piece of evidence belongs to one step and is judged once, against the request of that step:

    visible      the request contains the string, in any of its sources
    in context   the request contains the string together with up to 16 characters of its line on either side, as the
                 source had it; a bare name in a digest is visible, but a reader cannot use it

Suppose step 7 used `berth.py:212`, which results 3 and 5 had shown, and the policy has cut both:

    result 3 is now "[cleared]"                    result 5 is now "… files: berth.py:212, crane.py:9 …"
    → visible (in result 5), but not in context: the original line was "E  at berth.py:212 in slot_is_free"
    → `losses` gets nothing; `losses_in_context` gets Loss(step 7, source 5, the lines around it, the whole result)
    → one `BlindSearch` for step 7 and one `MissedEvidence` that names result 5, the rule and the call to fetch it

The latest source counts as the one that would be fetched, since an agent remembers it best.

Invariants:
- `in_context <= visible <= number of evidence`: what is not visible is not in context either.
- There is one loss per step and result, however many strings of it are missing.
- `steps_ok` counts only steps that have evidence and of which all of it is visible.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

from keepwhole.policies.policy import Choices
from keepwhole.policies.transcript import Item
from keepwhole.replay.argument_evidence import ArgumentEvidence
from keepwhole.replay.blind_search import search_blind
from keepwhole.replay.cost import BlindSearch, Loss
from keepwhole.replay.evidence import Evidence, is_visible
from keepwhole.replay.missed_evidence import MissedEvidence, missed_evidence, text_around
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.run_texts import ChangedTexts


class EvidenceTally:
    """The counts of one run under one policy."""

    def __init__(self, facts: RunFacts) -> None:
        self._facts = facts
        self.visible = self.in_context = self.steps_ok = self.hidden_repeats = 0
        self.losses: list[Loss] = []
        self.losses_in_context: list[Loss] = []
        self.blind_searches: list[BlindSearch] = []
        self.missed: list[MissedEvidence] = []
        self.arguments = self.arguments_shown = 0
        """Evidence that only arguments could have told, and what of it is shown."""
        self._of_arguments: dict[int, list[ArgumentEvidence]] | None = None

    def count(
        self, step: int, found: Sequence[Evidence], changed: ChangedTexts, items: Sequence[Item], decided: Choices
    ) -> None:
        """Count the evidence of one step that its request shows."""
        facts = self._facts
        self.hidden_repeats += facts.repeats.count_hidden(step, changed)
        invisible = [one for one in found if not is_visible(one, changed)]
        texts = {one.text for one in invisible}
        missing = [one for one in found if one.text in texts or not self._is_in_context(one, changed)]
        self.visible += len(found) - len(invisible)
        self.in_context += len(found) - len(missing)
        self.steps_ok += bool(found) and not invisible
        self.losses += self._losses(invisible)
        self.losses_in_context += self._losses(missing)
        if missing:
            self.blind_searches.append(search_blind(facts, missing, changed))
        for one in missing:
            latest = one.sources[-1]
            self.missed.append(missed_evidence(one, items[latest], facts.results[latest], decided))

    def count_arguments(self, step: int, cut: Mapping[int, str]) -> None:
        """Count the evidence of one step that only arguments could have told; `cut` has the shown texts of cut calls.
        What is missing is fetched back like a part of a result."""
        if self._of_arguments is None:
            found = self._facts.arguments.evidence
            self._of_arguments = {step: list(those) for step, those in groupby(found, lambda one: one.step)}
        here = self._of_arguments.get(step, ())
        missing = [one for one in here if cut and not self._facts.arguments.shows(one, cut)]
        self.arguments += len(here)
        self.arguments_shown += len(here) - len(missing)
        wanted: dict[int, list[str]] = {}
        for one in missing:
            wanted.setdefault(one.calls[-1], []).append(one.text)
        count, texts = self._facts.count_tokens, self._facts.arguments.texts
        losses = [
            Loss(step, -1 - call, count(text_around(texts[call], needles)), count(texts[call]))
            for call, needles in wanted.items()
        ]
        self.losses += losses
        self.losses_in_context += losses

    def _is_in_context(self, one: Evidence, changed: ChangedTexts) -> bool:
        return any(self._facts.shows(one.text, source, changed) for source in reversed(one.sources))

    def _losses(self, missing: Sequence[Evidence]) -> list[Loss]:
        """Return a loss for each result that would have to be fetched: the latest source of each string."""
        facts = self._facts
        wanted: dict[int, list[str]] = {}
        for one in missing:
            wanted.setdefault(one.sources[-1], []).append(one.text)
        return [
            Loss(
                missing[0].step,
                source,
                facts.count_tokens(text_around(facts.texts.results[source], needles)),
                facts.result_tokens[source],
            )
            for source, needles in wanted.items()
        ]
