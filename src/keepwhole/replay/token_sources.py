"""Where the tokens of requests come from: results, arguments of calls, words, the system prompt and the rest.

Owns: the sources, their names, and the tokens of one message by source.
Must not know: policies, prices.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from keepwhole.canonical.message import Message
from keepwhole.models.tokens import Counter

if TYPE_CHECKING:
    from keepwhole.replay.run_facts import RunFacts
    from keepwhole.replay.sent_messages import SentMessages

FRAME = 4
"""Tokens of a message, and of a call, in addition to their text."""


class TokenSources(NamedTuple):
    """Tokens by where they come from."""

    results: int = 0
    arguments: int = 0
    """What the model wrote into calls, with the names of the tools."""
    words: int = 0
    """What the user and the model said."""
    system: int = 0
    declarations: int = 0
    """Of tools, as far as the log has them; those of the recall tools, where they are offered."""
    other: int = 0
    """Images, documents, reasoning, and what is around each message."""
    summaries: int = 0
    """What takes the place of the oldest messages."""

    def __add__(self, other: "TokenSources") -> "TokenSources":  # type: ignore[override]
        return TokenSources(*(one + more for one, more in zip(self, other, strict=True)))


MEANINGS = {
    "results": "what tools returned",
    "arguments": "what the model wrote into calls",
    "words": "what the user and the model said",
    "system": "the system prompt, where the log has it",
    "declarations": "tools that are offered, as far as they are known: the recall tools",
    "other": "images, documents, reasoning, and what is around each message",
    "summaries": "what takes the place of the oldest messages",
}
"""What each source is, in words for people."""


def sources_of(message: Message, results: int, counter: Counter) -> TokenSources:
    """Return the tokens of a message by source; `results` are those of its results."""
    said = counter(message.said) if message.said else 0
    return TokenSources(
        results=results,
        arguments=sum(counter(call.tool) + counter(call.arguments) for call in message.calls),
        words=said if message.role != "system" else 0,
        system=said if message.role == "system" else 0,
        other=FRAME + message.other + FRAME * len(message.calls),
    )


class TokenSourceTotals:
    """The tokens of the requests of one replay by source, as a policy changes them."""

    def __init__(self, facts: "RunFacts", front: "SentMessages") -> None:
        self._front = front
        self._now = [list(column) for column in zip(*facts.sources, strict=True)]
        """For each source the tokens of each message as it is sent now."""
        self.total = TokenSources()

    def add_results(self, index: int, tokens: int) -> None:
        """Add to the tokens of the results in a message."""
        self._now[0][index] += tokens

    def add_arguments(self, index: int, tokens: int) -> None:
        """Add to the tokens of the arguments in a message."""
        self._now[1][index] += tokens

    def add_request(self, sizes: Sequence[int]) -> None:
        """Add a request of messages with these sizes."""
        cut = self._front.cut
        sent = TokenSources(*(sum(column[cut : len(sizes)]) for column in self._now))
        summary, tools = self._front.in_front
        self.total += sent._replace(declarations=sent.declarations + tools, summaries=summary)
