"""The messages of a replayed run as they are sent: the recall tools in front, a summary in place of the oldest.

Owns: what is in front of a request, and when a summary takes the place of what was sent before.
Must not know: how results are shown.

Theory of operation. A list of sizes describes a request, one number for each message; a policy changes the sizes of
results. What is sent differs at the front alone, so a message has the same index in both lists:

    sizes of the run       [50, 30, 9000, 30, 4000]
    with the recall tools  [170, 30, 9000, 30, 4000]        120 tokens before the first message
    after a summary of 4   [2170, 0, 0, 0, 4000]            what was said by others than the agent is kept in it

A client compacts before a request that would reach nine tenths of the window. Where Keepwhole is in between, a summary
may come sooner: once going on costs more than a client that has compacted would pay (`Costs.is_outgrown`).
"""

from collections.abc import Sequence
from itertools import accumulate

from keepwhole.models.ledger import Costs
from keepwhole.models.unmanaged import COMPACT, SUMMARY
from keepwhole.policies.kinds import works_on_files
from keepwhole.policies.policy import Choice, hides
from keepwhole.policies.transcript import Item
from keepwhole.replay.run_facts import RunFacts


class SentMessages:
    """What is in front of the messages of one run."""

    def __init__(self, facts: RunFacts, window: int, tools: int, max_loss: float) -> None:
        """`tools` are the tokens of the recall tools, 0 for a system without them."""
        self._window, self._tools, self._max_loss = window, tools, max_loss
        names = {call.tool for message in facts.run.messages for call in message.calls}
        self.waits = bool(tools) and not works_on_files(names)
        """Whether the recall tools are still to come."""
        self._kept = [0, *accumulate(kept_tokens(facts))]
        self.cut = 0
        """The number of messages that a summary replaces."""

    def sizes(self, sizes: Sequence[int]) -> list[int]:
        """Return the sizes of the messages as they are sent."""
        front = 0 if self.waits else self._tools
        if self.cut:
            return [front + self._left(self.cut), *[0] * (self.cut - 1), *sizes[self.cut :]]
        return [front + sizes[0], *sizes[1:]] if sizes else []

    @property
    def in_front(self) -> tuple[int, int]:
        """The tokens of the summary, 0 without one, and of the recall tools."""
        return self._left(self.cut) if self.cut else 0, 0 if self.waits else self._tools

    def kept(self, messages: int) -> int:
        """Return the tokens that a summary of so many messages keeps."""
        return self._kept[messages]

    def affordable(self, choices: Sequence[Choice], items: Sequence[Item], costs: Costs) -> Sequence[Choice]:
        """Return the choices, or those that hide nothing, where the recall tools are to come and cost too much."""
        if not self.waits or not any(map(hides, choices)):
            return choices
        freed = sum(items[choice.number].tokens - choice.tokens for choice in choices)
        if costs.affords_tools(self._tools, freed, self._max_loss):
            self.waits = False
            return choices
        return [choice for choice in choices if not hides(choice)]

    def compact(self, sizes: Sequence[int], before: int, costs: Costs) -> int | None:
        """Put a summary in place of the `before` messages of the last request where one is due.

        Return the tokens that are read to have it written, 0 where that costs nothing; None without a summary.
        """
        sent = self.sizes(sizes)
        left, earlier = self._left(before), sum(sent[:before])
        if earlier <= left:
            return None
        is_full = sum(sent) >= COMPACT * self._window
        if not is_full and not (
            self._tools and costs.is_outgrown(sum(sent), left + sum(sent[before:]), self._max_loss)
        ):
            return None
        self.cut = before
        return earlier if is_full else 0

    def _left(self, messages: int) -> int:
        return SUMMARY + self._kept[messages]


def kept_tokens(facts: RunFacts) -> list[int]:
    """Return for each message the tokens that a summary keeps: what everybody but the agent said."""
    messages = facts.run.messages
    return [facts.count_tokens(one.said) if one.said and one.role != "assistant" else 0 for one in messages]
