"""Where the tokens of requests come from: results, arguments of calls, words, the system prompt and the rest.

Owns: the sources, their names, and the tokens of one message by source.
Must not know: policies, prices.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from keepwhole.canonical.message import Message
from keepwhole.models.tokens import Counter

if TYPE_CHECKING:
    from keepwhole.policies.transcript import Item
    from keepwhole.replay.run_facts import RunFacts
    from keepwhole.replay.sent_messages import SentMessages

FRAME = 4
"""Tokens of a message, and of a call, in addition to their text."""


class TokenSources(NamedTuple):
    """Tokens by where they come from."""

    results: int = 0
    images: int = 0
    """Images, documents and sounds that tools returned."""
    arguments: int = 0
    """What the model wrote into calls, with the names of the tools."""
    words: int = 0
    """What the user and the model said."""
    system: int = 0
    declarations: int = 0
    """Of tools, as far as the log has them; those of the recall tools, where they are offered."""
    other: int = 0
    """Images and documents of the user, reasoning, and what is around each message."""
    summaries: int = 0
    """What takes the place of the oldest messages."""

    def __add__(self, other: "TokenSources") -> "TokenSources":  # type: ignore[override]
        return TokenSources(*(one + more for one, more in zip(self, other, strict=True)))


MEANINGS = {
    "results": "what tools returned",
    "images": "images, documents and sounds that tools returned",
    "arguments": "what the model wrote into calls",
    "words": "what the user and the model said",
    "system": "the system prompt, where the log has it",
    "declarations": "tools that are offered, as far as they are known: the recall tools",
    "other": "images and documents of the user, reasoning, and what is around each message",
    "summaries": "what takes the place of the oldest messages",
}
"""What each source is, in words for people."""


def sources_of(message: Message, results: Sequence[int], counter: Counter) -> TokenSources:
    """Return the tokens of a message by source; `results` are those of each of its results."""
    said = counter(message.said) if message.said else 0
    images = sum(tokens for one, tokens in zip(message.returned, results, strict=True) if one.media is not None)
    return TokenSources(
        results=sum(results) - images,
        images=images,
        arguments=sum(counter(call.tool) + counter(call.arguments) for call in message.calls),
        words=said if message.role != "system" else 0,
        system=said if message.role == "system" else 0,
        other=FRAME + message.other + FRAME * len(message.calls),
    )


class TokenSourceTotals:
    """The tokens of the requests of one replay by source, as a policy changes them."""

    def __init__(self, facts: "RunFacts", front: "SentMessages") -> None:
        self._front = front
        columns = zip(*facts.sources, strict=True)
        self._now = {name: list(column) for name, column in zip(TokenSources._fields, columns, strict=False)}
        """For each source the tokens of each message as it is sent now."""
        self.total = TokenSources()

    def change_result(self, item: "Item", before: int, tokens: int) -> None:
        """Count a result that takes so many tokens now; an image that is left out is shown as words."""
        if item.media is not None and before == item.tokens:
            self._now["images"][item.index] -= before
            self._now["results"][item.index] += tokens
        elif item.media is not None and tokens == item.tokens:
            self._now["images"][item.index] += tokens
            self._now["results"][item.index] -= before
        else:
            self._now["results"][item.index] += tokens - before

    def add_arguments(self, index: int, tokens: int) -> None:
        """Add to the tokens of the arguments in a message."""
        self._now["arguments"][index] += tokens

    def add_request(self, sizes: Sequence[int]) -> None:
        """Add a request of messages with these sizes."""
        cut = self._front.cut
        sent = TokenSources(**{name: sum(column[cut : len(sizes)]) for name, column in self._now.items()})
        summary, tools = self._front.in_front
        self.total += sent._replace(declarations=sent.declarations + tools, summaries=summary)
