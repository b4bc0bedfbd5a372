"""The words about recorded results: how many, how many of them the client had cut before, and what they have.

Owns: these words and counts, for the receipt, every command and the inspector.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepwhole.canonical.body import BodyFacts
from keepwhole.canonical.entry import OWN_TOOLS, Decision, Result
from keepwhole.canonical.media import TEXT, Media
from keepwhole.metrics import MARKER
from keepwhole.models.media_tokens import media_tokens
from keepwhole.models.tokens import estimate_from_length
from keepwhole.policies.policy import CLIENT
from keepwhole.recall.names import is_recall
from keepwhole.record.arrival import CLIENT_CUT


class KeptCounts(NamedTuple):
    """Results on record."""

    kept: int = 0
    """Those of the agent's own tools."""
    cut: int = 0
    """Those that are on record as the client had cut them: the rest of them is not known."""
    marked: int = 0
    """Others with a mark of truncation in their text, which a tool may have printed too."""
    recalls: int = 0
    """How often something was read back."""

    def plus(self, other: "KeptCounts") -> "KeptCounts":
        """Both together."""
        return KeptCounts(*(one + another for one, another in zip(self, other, strict=True)))

    @property
    def words(self) -> str:
        """The counts in words.

        >>> KeptCounts(42, cut=16).words, KeptCounts(1).words
        ('42 results, 16 of them as the client had cut them', '1 result in full')
        >>> KeptCounts(1, cut=1).words, KeptCounts(3, marked=2).words
        ('1 result, as the client had cut it', '3 results, 2 of them with a mark of truncation in them')
        >>> KeptCounts(7, recalls=1).words
        '7 results in full, read back once'
        """
        number = f"{self.kept:,} result" + ("" if self.kept == 1 else "s")
        parts = [number if self.cut or self.marked else f"{number} in full"]
        if self.cut:
            parts.append(_share(self.kept, self.cut, "as the client had cut"))
        if self.marked:
            parts.append(_share(self.kept, self.marked, "with a mark of truncation in"))
        if self.recalls:
            parts.append("read back " + ("once" if self.recalls == 1 else f"{self.recalls:,} times"))
        return ", ".join(parts)


def _share(all_of_them: int, count: int, what: str) -> str:
    return f"{what} it" if all_of_them == 1 else f"{count:,} of them {what} them"


def chars_as_sent(chars: int, decisions: Sequence[Decision]) -> int:
    """Characters of a result as the client meant to send it: all of its `chars`, or what the client itself had cut."""
    return decisions[0].shown_chars if decisions and decisions[0].rule == CLIENT else chars


def shown_tokens(decision: Decision) -> int:
    """Tokens of a result as a decision shows it, about."""
    if decision.width and decision.height:
        return media_tokens(Media("image/unknown", 0, b"", decision.width, decision.height))
    return estimate_from_length(decision.shown_chars)


def tokens_as_sent(result: Result, facts: BodyFacts, decisions: Sequence[Decision]) -> int:
    """Tokens of a result as the client sent it, about; other bytes than media are counted as the text they are read
    as."""
    if result.media_type == TEXT:
        return estimate_from_length(chars_as_sent(facts.chars, decisions))
    media = Media(result.media_type, facts.size, b"", result.width or 0, result.height or 0, result.pages or 0)
    is_text = media.kind == "file"
    return estimate_from_length(chars_as_sent(facts.chars, decisions)) if is_text else media_tokens(media)


def count_kept(results: Iterable[Result], folder: str = "") -> KeptCounts:
    """Count results on record, which clients read back from `folder` too; without Keepwhole's own notes."""
    return sum_of(Counter(count_one(one, folder) for one in results if not one.tool.startswith(OWN_TOOLS)))


def count_one(result: Result, folder: str) -> KeptCounts:
    """What one result adds to the counts."""
    if is_recall(result.tool):
        return _RECALL
    cut = CLIENT_CUT in result.flags
    return KeptCounts(1, cut, MARKER in result.flags and not cut, folder != "" and folder in (result.arguments or ""))


def sum_of(counts: Mapping[KeptCounts, int]) -> KeptCounts:
    """The sum of counts, each taken so many times."""
    return KeptCounts(
        *(sum(each[at] * times for each, times in counts.items()) for at in range(len(KeptCounts._fields)))
    )


def recall_folder(home: str) -> str:
    """The folder of a record from which clients read results back."""
    return os.path.join(home, "results")


_RECALL = KeptCounts(recalls=1)
