"""What a policy is: a pure choice of how results are shown, made when they arrive and again as they age.

Owns: the choice, what a policy is told, and how a choice becomes text.
Must not know: where choices are recorded; the session records them and feeds them back as `decided`.

A choice carries the cut itself. Once made it holds: `plan` gives only choices about results whose choice changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from keepwhole.models.profiles import DEFAULT, Profile
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.truncation.cut import Cut, Segment, TextSource, render


class Choice(NamedTuple):
    """From now on the result `number` is shown by `cut`."""

    number: int
    """Of the item in its transcript."""
    rule: str
    """Which rule of the policy chose so: one word, for people."""
    cut: Cut
    tokens: int
    """What it takes when shown so."""
    strategy: str = "reference"


Decided = Mapping[int, Choice]
"""The choice that holds for each result, by its number; a result without one is shown whole."""

FINAL = frozenset(("aged", "undo", "pin"))
"""Rules after which no policy of ours chooses again."""

SHOWN = frozenset(("undo", "pin"))
"""Rules that show a result whole."""


class Decisions(dict[int, Choice]):
    """The choices that hold, with what they save and who is left to choose about; kept up as they change."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = 0
        """Tokens that are not sent."""
        self.open: dict[int, None] = {}
        """The results about which a choice may still be made, in order."""
        self.edits = 0
        """Results that are not shown whole by a choice of somebody's."""

    def hold(self, item: Item, choice: Choice) -> None:
        """Let a choice hold."""
        self.drop(item)
        self[item.number] = choice
        self.saved += item.tokens - choice.tokens
        self.edits += choice.rule not in SHOWN
        if choice.rule in FINAL:
            self.open.pop(item.number, None)

    def copied(self, items: Sequence[Item], choices: Iterable[Choice]) -> "Decisions":
        """These and others, to see what follows from them."""
        found = Decisions()
        found.update(self)
        found.saved, found.open, found.edits = self.saved, dict(self.open), self.edits
        for choice in choices:
            found.hold(items[choice.number], choice)
        return found

    def drop(self, item: Item) -> None:
        """Forget the choice about a result."""
        before = self.pop(item.number, None)
        if before is not None:
            self.saved -= item.tokens - before.tokens
            self.edits -= before.rule not in SHOWN


def open_items(transcript: Transcript, decided: Decided) -> list[Item]:
    """The results about which a choice may still be made, in order."""
    if isinstance(decided, Decisions):
        return [transcript.items[number] for number in sorted(decided.open)]
    return [
        item for item in transcript.items if (choice := decided.get(item.number)) is None or choice.rule not in FINAL
    ]


class Situation(NamedTuple):
    """What else a policy may look at."""

    profile: Profile
    overhead: int = 0
    """Tokens sent beside the messages: system prompt and tools, where known."""
    cold: bool = False
    """Whether the provider's cache has surely expired."""
    scale: float = 1.0
    """Tokens billed for an estimated one, as far as bills have taught."""
    frozen: bool = False
    """Whether nothing may age but what the window forces, since nobody knows what the provider's cache does."""

    @property
    def window(self) -> int:
        """The window in estimated tokens."""
        return int(self.profile.window / self.scale)


ANYWHERE = Situation(DEFAULT)
"""A model of which nothing is known."""


class Policy(Protocol):
    """A way of showing a conversation."""

    @property
    def name(self) -> str:
        """What users call it."""
        ...

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Decided, situation: Situation = ANYWHERE
    ) -> list[Choice]:
        """Choices about results that have never been sent."""
        ...

    def age(self, transcript: Transcript, decided: Decided, situation: Situation) -> list[Choice]:
        """Choices about results that were sent before."""
        ...


def replaced(item: Item, words: str) -> Cut:
    """The cut that shows `words` in place of the whole result."""
    return Cut((Segment("gap", 0, len(item.text)),), above=words)


def shown(item: Item, choice: Choice | None) -> str:
    """The text of a result under a choice."""
    if choice is None:
        return item.text
    pieces = choice.cut.pieces
    if len(pieces) == 1 and isinstance(pieces[0], Segment) and pieces[0].part == "gap":
        return choice.cut.above + choice.cut.below
    return render(choice.cut, TextSource(item.text))


def sent_tokens(transcript: Transcript, decided: Decided) -> int:
    """Tokens of the whole transcript as it is sent."""
    if isinstance(decided, Decisions):
        return transcript.tokens - decided.saved
    return transcript.tokens - sum(
        transcript.items[number].tokens - choice.tokens for number, choice in decided.items()
    )
