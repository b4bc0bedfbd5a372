"""What is chosen for one request: how new results are shown, and what ages.

Owns: which choices stand by themselves and which lean on how others are shown; that a batch goes to its end.
Must not know: how choices are put on record, or who else decides meanwhile.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepwhole.conversation.reaching import is_of_recall, is_reachable
from keepwhole.conversation.summary import Summing
from keepwhole.policies.policy import Choice, Policy, Situation, TrackedChoices
from keepwhole.policies.repeats import RULE as REPEAT
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.record.arrival import Keeping
from keepwhole.record.journal import Known
from keepwhole.record.recording import once_each

_BATCHES = 3
"""Batches that are made one right after the other at most."""
_MARGIN = 1.5
"""How much more tokens the next bill may turn out to have than was thought."""


class Plan(NamedTuple):
    """What is chosen for one request."""

    arrivals: Mapping[int, Choice] = {}
    """How new results are shown, where that is not whole."""
    batch: Sequence[Choice] = ()
    """What ages."""

    @property
    def leans(self) -> bool:
        """Whether something in it depends on how other results are shown."""
        return bool(self.batch) or any(choice.rule == REPEAT for choice in self.arrivals.values())


class Planning(NamedTuple):
    """What choosing needs of a branch."""

    keeping: Keeping
    transcript: Transcript
    known: Sequence[Known | None]
    decided: TrackedChoices
    summing: Summing
    is_on: bool
    """Whether what is chosen is put on record; else it is only looked at."""

    def arrivals(
        self, fresh: Sequence[Item], policy: Policy, situation: Situation, alone: bool = False
    ) -> dict[int, Choice]:
        """How results that were never sent are shown; `alone` only what does not depend on how others are."""
        chosen = policy.arrive(self.transcript, fresh, self.decided, situation) if fresh else ()
        return {
            choice.number: choice
            for choice in chosen
            if not is_of_recall(self.transcript.items[choice.number])
            and not (alone and choice.rule == REPEAT)
            and self._is_reachable(choice.number)
        }

    def batch(
        self, fresh: Sequence[Item], arrivals: Mapping[int, Choice], policy: Policy, situation: Situation
    ) -> list[Choice]:
        """What ages now, up to where nothing more would: so whoever reads it on record comes to no further batch."""
        items = self.transcript.items
        new = {item.number for item in (once_each(list(fresh)) if self.is_on else fresh)}
        decided = self.decided.copied(items, arrivals.values()) if arrivals else self.decided
        found: dict[int, Choice] = {}
        for _ in range(_BATCHES):
            more = [
                choice
                for choice in policy.age(self.transcript, decided, self.summing.situation(situation))
                if found.get(choice.number) != choice
                and not self._is_new_recall(choice.number)
                and (self.known[choice.number] is not None or choice.number in new)
                and self._is_reachable(choice.number)
            ]
            if not more:
                break
            found |= {choice.number: choice for choice in more}
            decided = decided.copied(items, more)
        return list(found.values())

    def may_wait(self, fresh: Sequence[Item], policy: Policy, situation: Situation) -> bool:
        """Whether results about which nothing is chosen may be sent before they are on record: where nothing would be
        chosen by who has read of one bill more either. Older ones may have to age at once, and so are put on record."""
        if any(item.step != self.transcript.steps for item in fresh):
            return False
        near = situation._replace(scale=situation.scale * _MARGIN, frozen=False)
        if policy.arrive(self.transcript, fresh, self.decided, near):
            return False
        return not policy.age(self.transcript, self.decided, self.summing.situation(near))

    def _is_reachable(self, number: int) -> bool:
        """Whether what a notice about a result names is there; in the shadow nothing need be."""
        item = self.transcript.items[number]
        return not self.is_on or is_reachable(self.keeping, item, self.known[number] is not None)

    def _is_new_recall(self, number: int) -> bool:
        """Whether a result was asked of us in the newest step, so that it was not used yet."""
        item = self.transcript.items[number]
        return item.step == self.transcript.steps and is_of_recall(item)
