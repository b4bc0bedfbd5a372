"""The policy `truncation`: every result is cut to its tool's limit when it arrives, and never touched again.

Owns: that rule alone. Must not know: how a result is cut (`arrival`).
"""

from collections.abc import Mapping, Sequence

from keepwhole.policies.arrival import ArrivalRule, Arriving
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Situation
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy


class Truncation:
    """The policy `truncation`."""

    name = "truncation"

    def __init__(
        self,
        configuration: TruncationConfiguration | None = None,
        strategies: Mapping[str, ITruncationStrategy] = STRATEGIES,
        question: str | None = None,
    ) -> None:
        self._rule = ArrivalRule(configuration, strategies)
        self._question = question

    def show(self, arriving: Arriving) -> TruncationResult:
        """Cut a result that is over its limit."""
        return self._rule.show(arriving)

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Cut every new result that is over its limit."""
        found = (self._rule.choose(item, self._question) for item in new)
        return [choice for choice in found if choice is not None]

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return no choices: nothing ages."""
        return []
