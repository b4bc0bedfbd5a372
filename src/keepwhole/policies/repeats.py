"""A result that says again what an earlier one says becomes a pointer to it, while that one is wholly visible."""

from collections.abc import Iterator

from keepwhole.models.tokens import estimate
from keepwhole.policies.policy import Choice, Decided, replaced
from keepwhole.policies.transcript import Item, Transcript

RULE = "repeat"


def pointer_words(item: Item, base: Item) -> str:
    """What is shown in place of a repeat."""
    assert item.name is not None
    assert base.name is not None
    call = f" of call {base.returned.call_id}" if base.returned.call_id else ""
    return (
        f"[Artifact: {item.name.artifact_id}] Same as the earlier result{call} "
        f"({base.name.artifact_id}), character for character: {item.name.way.whole()}"
    )


def earlier_same(transcript: Transcript, item: Item, decided: Decided) -> Item | None:
    """The newest earlier result with the same text that is shown whole."""
    for number in reversed(transcript.same_text(item)):
        base = transcript.items[number]
        if number < item.number and number not in decided and not base.gone:
            return base
    return None


def repeat_choice(transcript: Transcript, item: Item, decided: Decided, least_tokens: int) -> Choice | None:
    """The choice to point to an earlier result; None where there is none worth it."""
    if item.tokens < least_tokens or item.name is None:
        return None
    base = earlier_same(transcript, item, decided)
    if base is None or base.name is None:
        return None
    words = pointer_words(item, base)
    tokens = estimate(words)
    return Choice(item.number, RULE, replaced(item, words), tokens) if tokens < item.tokens else None


def dependants(transcript: Transcript, base: Item, decided: Decided) -> Iterator[int]:
    """Results that point to `base`; to one that is a pointer itself none does."""
    own = decided.get(base.number)
    if own is not None and own.rule == RULE:
        return
    for number in transcript.same_text(base):
        choice = decided.get(number)
        if number > base.number and choice is not None and choice.rule == RULE:
            yield number
