"""A client that compacts: whenever a request reaches nine tenths of the window, a summary replaces all before it.

Owns: when that happens under a policy, and how many later uses are still shown then.
Must not know: the words of a summary. It is assumed to keep what the user said and nothing of the results.

The policy goes on choosing as if nothing had happened.
"""

from collections.abc import Sequence
from itertools import accumulate

from keepwhole.models.unmanaged import COMPACT, SUMMARY
from keepwhole.replay.evidence_uses import EvidenceUse
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.run_texts import ChangedTexts
from keepwhole.replay.sent_messages import kept_tokens


def threshold(window: int) -> int:
    """Return the number of tokens from which on a client compacts."""
    return round(COMPACT * window)


class CompactingClient:
    """The client of one run under one policy, request by request."""

    def __init__(self, facts: RunFacts, window: int) -> None:
        self._facts, self._limit = facts, threshold(window)
        self._uses = facts.uses_from(self._limit)
        self._kept = [0, *accumulate(kept_tokens(facts))]
        self._cut = 0
        """The index of the first message that no summary replaces."""
        self.first_compaction: int | None = None
        """The step of the first compaction."""
        self.shown = 0
        self.total = sum(map(len, self._uses.values()))

    def count(self, step: int, sizes: Sequence[int], total: int, changed: ChangedTexts) -> None:
        """Compact if a request with messages of these sizes is too large; count the uses that it shows."""
        if self._cut:
            total = SUMMARY + self._kept[self._cut] + sum(sizes[self._cut :])
        if total >= self._limit:
            self._cut = len(sizes)
            self.first_compaction = step if self.first_compaction is None else self.first_compaction
        self.shown += sum(self._is_shown(use, changed) for use in self._uses.get(step, ()))

    def _is_shown(self, use: EvidenceUse, changed: ChangedTexts) -> bool:
        facts, cut = self._facts, self._cut
        if use.by_user or use.said >= cut:
            return True
        at = facts.texts.result_at
        left = [source for source in reversed(use.sources) if at[source] >= cut]
        return any(facts.shows(use.text, source, changed) for source in left)
