"""A client that compacts: whenever a request reaches nine tenths of the window, a summary stands for all before it.

Owns: when that happens under a policy, and what of later uses is still shown then.
Must not know: how a summary is worded; it is taken to keep what the user said and nothing of the results.

The policy goes on choosing as if nothing had happened.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from keepwhole.models.thresholds import Thresholds
from keepwhole.replay.evidence_uses import Use
from keepwhole.replay.run_facts import Measured

SUMMARY = 2_000
"""Tokens that a summary takes beside what the user said."""


def threshold(window: int) -> int:
    """Tokens from which on a client compacts."""
    return round(Thresholds().compact * window)


class Compacted:
    """Follows the requests of one run under one policy."""

    def __init__(self, measured: Measured, window: int) -> None:
        self._measured, self._limit = measured, threshold(window)
        self._uses = measured.uses_from(self._limit)
        self._kept = [0, *accumulate(_kept(measured))]
        self._cut = 0
        """The first message that no summary stands for."""
        self.first: int | None = None
        """The step of the first compaction."""
        self.shown = 0
        self.total = sum(map(len, self._uses.values()))

    def look(self, step: int, sizes: Sequence[int], total: int, texts: Mapping[int, str]) -> None:
        """Take one request: the sizes of its messages, and the texts of results that are not shown as they came."""
        if self._cut:
            total = SUMMARY + self._kept[self._cut] + sum(sizes[self._cut :])
        if total >= self._limit:
            self._cut = len(sizes)
            self.first = step if self.first is None else self.first
        self.shown += sum(self._is_shown(use, texts) for use in self._uses.get(step, ()))

    def _is_shown(self, use: Use, texts: Mapping[int, str]) -> bool:
        measured, cut = self._measured, self._cut
        if use.asked or use.said >= cut:
            return True
        at = measured.told.result_at
        left = [source for source in reversed(use.sources) if at[source] >= cut]
        return any(measured.shows(use.text, source, texts) for source in left)


def _kept(measured: Measured) -> list[int]:
    """Of each message the tokens of what a summary keeps: the words of all but the agent."""
    messages = measured.run.messages
    return [measured.counter(one.said) if one.said and one.role != "assistant" else 0 for one in messages]
