"""Every result whole, for a request whose model could not read anything back: only imitated notices are marked.

Owns: that nothing is left out. `everything` among the other systems' policies marks nothing: it is what they send.
Must not know: when a request is sent so (`exchange`).
"""

from collections.abc import Sequence

from keepwhole.policies.arrival import choices_to_mark
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Situation
from keepwhole.policies.transcript import Item, Transcript


class Whole:
    """The policy that leaves nothing out."""

    name = "whole"

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Return a choice for each new result with text that imitates a notice."""
        return choices_to_mark(new)

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return no choices: nothing is left out later."""
        return []
