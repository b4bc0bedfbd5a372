"""Repeats: a result with the same text as an earlier one becomes a pointer to it, while that one is shown in full.

Owns: when a result is a repeat, the words of the pointer, and which results point to another.
Must not know: when anything ages.

Theory of operation
-------------------
    #1  read a.py   4,000 tokens    shown in full: the base
    #2  read b.py   1,000 tokens
    #3  read a.py   4,000 tokens    the same text, so `Same as the earlier result of call … (art_1)`, 40 tokens
    #4  read a.py   4,000 tokens    the same again: it points to #1 too, never to #3

Invariants:
- A pointer leads to a result that the same request shows whole: a base with a choice of its own, or one that a summary
  replaced, is none; an image that is only sent smaller is one. So there are no chains of pointers.
- A base does not age before the results that point to it (`dependants`): `auto` leaves all of them out, or none.
- A pointer is made only where it is shorter than the result, and every result keeps its own id to be fetched by.
"""

from collections.abc import Iterator

from keepwhole.policies.images import SCALED
from keepwhole.policies.near_repeats import NEAR
from keepwhole.policies.policy import Choice, Choices, replacement_cut
from keepwhole.policies.transcript import Item, Transcript

RULE = "repeat"
REPEATS = frozenset((RULE, NEAR))
"""Rules that need an earlier result to be shown in full."""


def pointer_words(item: Item, base: Item) -> str:
    """Return the text that is shown in place of a repeat."""
    assert item.name is not None
    assert base.name is not None
    call = f" of call {base.returned.call_id}" if base.returned.call_id else ""
    same = "character for character" if item.media is None else f"the same {item.media.kind} byte for byte"
    return (
        f"[Artifact: {item.name.artifact_id}] Same as the earlier result{call} "
        f"({base.name.artifact_id}), {same}: {item.name.way.whole()}"
    )


def earlier_same(transcript: Transcript, item: Item, decided: Choices) -> Item | None:
    """Return the newest earlier result with the same text that is shown in full."""
    for number in reversed(transcript.same_text(item)):
        base = transcript.items[number]
        choice = decided.get(number)
        if number < item.number and (choice is None or choice.rule == SCALED) and not base.gone:
            return base
    return None


def repeat_choice(transcript: Transcript, item: Item, decided: Choices, least_tokens: int) -> Choice | None:
    """Return the choice to point to an earlier result; None where there is none, or nothing to gain."""
    if item.tokens < least_tokens or item.name is None:
        return None
    base = earlier_same(transcript, item, decided)
    if base is None or base.name is None:
        return None
    words = pointer_words(item, base)
    tokens = item.tokens_of_words(words)
    return Choice(item.number, RULE, replacement_cut(item, words), tokens) if tokens < item.tokens else None


def dependants(transcript: Transcript, base: Item, decided: Choices) -> Iterator[int]:
    """Yield the numbers of the results that point to `base`, or show only what differs from it."""
    own = decided.get(base.number)
    if own is not None and own.rule in REPEATS:
        return
    for rule, numbers in ((RULE, transcript.same_text(base)), (NEAR, _same_call(transcript, base, decided))):
        for number in numbers:
            choice = decided.get(number)
            if number > base.number and choice is not None and choice.rule == rule:
                yield number


def _same_call(transcript: Transcript, base: Item, decided: Choices) -> list[int]:
    """Return the numbers of the results of the same call, where some result shows only what differs."""
    is_used = any(choice.rule == NEAR for choice in decided.values())
    return [item.number for item in transcript.same_call(base)] if is_used else []
