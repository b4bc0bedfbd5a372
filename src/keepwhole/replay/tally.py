"""Counts what requests show of their steps' evidence, and what would have to be fetched back."""

from collections.abc import Mapping, Sequence

from keepwhole.policies.policy import Choices
from keepwhole.policies.transcript import Item
from keepwhole.replay.blind_search import ask
from keepwhole.replay.cost import Asked, Loss
from keepwhole.replay.evidence import Evidence, is_visible
from keepwhole.replay.fetch import around
from keepwhole.replay.missed_evidence import Missed, missed
from keepwhole.replay.repeated_calls import hidden
from keepwhole.replay.run_facts import Measured


class Tally:
    """The figures of one run under one policy."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self.visible = self.in_context = self.steps_ok = self.calls_again = 0
        self.losses: list[Loss] = []
        self.losses_in_context: list[Loss] = []
        self.asked: list[Asked] = []
        self.missed: list[Missed] = []

    def look(
        self,
        step: int,
        found: Sequence[Evidence],
        texts: Mapping[int, str],
        items: Sequence[Item],
        decided: Choices,
    ) -> None:
        """Count one step's evidence against the texts of results that are not shown as they came."""
        measured = self._measured
        self.calls_again += hidden(measured.repeats, step, texts)
        missing = [one for one in found if not is_visible(one, texts)]
        bare = {one.text for one in missing}
        without = [one for one in found if one.text in bare or not self._is_in_context(one, texts)]
        self.visible += len(found) - len(missing)
        self.in_context += len(found) - len(without)
        self.steps_ok += bool(found) and not missing
        self.losses += self._losses(missing)
        self.losses_in_context += self._losses(without)
        if without:
            self.asked.append(ask(measured, without, texts))
            last = [one.sources[-1] for one in without]
            self.missed += [
                missed(one, items[number], measured.results[number], decided)
                for one, number in zip(without, last, strict=True)
            ]

    def _is_in_context(self, one: Evidence, texts: Mapping[int, str]) -> bool:
        return any(self._measured.shows(one.text, source, texts) for source in reversed(one.sources))

    def _losses(self, missing: Sequence[Evidence]) -> list[Loss]:
        """One for each result that would have to be asked: the latest that had the string."""
        measured = self._measured
        wanted: dict[int, list[str]] = {}
        for one in missing:
            wanted.setdefault(one.sources[-1], []).append(one.text)
        return [
            Loss(
                missing[0].step,
                source,
                measured.counter(around(measured.told.results[source], needles)),
                measured.result_tokens[source],
            )
            for source, needles in wanted.items()
        ]
