"""What a policy is: a pure function that chooses how results are shown, when they arrive and again as they age.

Owns: the choice, what a policy is given, how a choice becomes text, and what the rules of choices mean.
Must not know: where choices are recorded; the session records them and passes them back as `decided`.

A choice carries the cut itself and is in force until another choice about the same result is made: a policy returns
only choices that change something.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from keepwhole.errors import UsageError
from keepwhole.models.ledger import Costs
from keepwhole.models.profiles import DEFAULT, Profile
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.truncation import client_cut
from keepwhole.truncation.cut import Cut, Segment, render

Summarizer: TypeAlias = Callable[[str], str | Awaitable[str | None] | None]
"""Writes a summary of a text, for compaction; anything but a text is no summary."""


class Choice(NamedTuple):
    """From now on the result `number` is shown by `cut`."""

    number: int
    """The number of the item in its transcript."""
    rule: str
    """The rule of the policy that chose so: one word, for people."""
    cut: Cut
    tokens: int
    """Tokens that the result takes when it is shown so, less those that are cut of its call's arguments."""
    strategy: str = "reference"
    reason: str = ""
    """Why this result, in words for people, where the rule alone does not say it."""


Choices = Mapping[int, Choice]
"""The choice in force for each result, by its number; a result without one is shown in full."""

CLIENT = client_cut.RULE
"""The rule of a choice that the client made itself."""

RULES: dict[str, str] = {
    "arrival": "cut when it arrived, because it was longer than the limit for its tool or kind",
    "step": "cut when it arrived, because all results of its step together were too long",
    "repeat": "replaced by a pointer, because an earlier result in the same request says the same",
    "near": "shown by the lines that differ from an earlier result of the same call, which the same request shows",
    "aged": "replaced by a pointer in a batch, because carrying it cost more than it was likely to be worth",
    "arguments": "shown as before; the long arguments of its call are cut in a batch, as results are that have aged",
    "scaled": "sent as a smaller image when it arrived, because its longer edge was over `images.max_edge`",
    "retention": "shortened to its first lines, because it is two turns old or older",
    "old": "replaced, because it is older than `max_age` steps",
    "long": "cut, because it is over `max_tokens_per_output`",
    "undo": "shown in full again on request (`keepwhole undo`)",
    "pin": "kept in full, because it is pinned",
    CLIENT: "shown as the client had cut it before it sent it",
}
"""What each rule of a choice means, in words for people."""

FINAL = frozenset(("aged", "arguments", "undo", "pin"))
"""Rules after which a policy does not choose again."""

SHOWN = frozenset(("undo", "pin"))
"""Rules that show a result whole."""


def hides(choice: Choice) -> bool:
    """Return whether a choice leaves something out that the client meant to send; one that only marks imitated notices
    does not, nor one that sends an image smaller."""
    return choice.rule != CLIENT and bool((choice.cut.left_out and not choice.cut.image) or choice.cut.arguments)


class TrackedChoices(dict[int, Choice]):
    """The choices in force, with running totals: the tokens that they save, and the results still open to a choice."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = 0
        """Tokens that are not sent."""
        self.open: dict[int, None] = {}
        """The results about which a choice may still be made, in order."""
        self.edits = 0
        """Results that a choice does not show whole."""
        self.reserves: dict[tuple[int, int], float] = {}
        """What `sent_reserve` found while no choice was changed."""
        self._changed: set[int] = set()
        self.touched: list[int] = []
        """The results about which a choice was put in force or taken out of it, one after the other."""

    def hold(self, item: Item, choice: Choice) -> None:
        """Put a choice in force, in place of the one about the same result."""
        self.drop(item)
        self[item.number] = choice
        self._changed.add(item.number)
        self.saved += item.tokens - choice.tokens
        self.edits += choice.rule not in SHOWN
        if choice.rule in FINAL:
            self.open.pop(item.number, None)

    @property
    def hides(self) -> bool:
        """Whether something of a result is left out."""
        return any(map(hides, self.values()))

    def take_changed(self) -> list[int]:
        """Return the numbers of the results about which a choice was put in force since the last time, in order."""
        found, self._changed = sorted(self._changed), set()
        return found

    def copy_with(self, items: Sequence[Item], choices: Iterable[Choice]) -> "TrackedChoices":
        """Return a copy with other choices in force too, to see what follows from them."""
        found = TrackedChoices()
        found.update(self)
        found.saved, found.open, found.edits = self.saved, dict(self.open), self.edits
        for choice in choices:
            found.hold(items[choice.number], choice)
        return found

    def drop(self, item: Item) -> None:
        """Take the choice about a result out of force."""
        before = self.pop(item.number, None)
        self.touched.append(item.number)
        self.reserves.clear()
        self._changed.discard(item.number)
        if before is not None:
            self.saved -= item.tokens - before.tokens
            self.edits -= before.rule not in SHOWN


def open_items(transcript: Transcript, decided: Choices) -> list[Item]:
    """Return the results about which a choice may still be made, in order."""
    return [transcript.items[number] for number in open_numbers(transcript, decided)]


def open_numbers(transcript: Transcript, decided: Choices) -> list[int]:
    """Return the numbers of the results about which a choice may still be made, in order."""
    if isinstance(decided, TrackedChoices):
        return sorted(decided.open)
    return [
        number
        for number in range(len(transcript.items))
        if (choice := decided.get(number)) is None or choice.rule not in FINAL
    ]


class Situation(NamedTuple):
    """What a policy may consider besides the transcript: the model, its cache, and the tokens sent beside messages."""

    profile: Profile
    overhead: int = 0
    """Tokens sent beside the messages, as far as they are known: system prompt and tools."""
    reserve: int = 0
    """How many tokens more than estimated these may take."""
    cold: bool = False
    """Whether the provider's cache has certainly expired."""
    scale: float = 1.0
    """Tokens billed per estimated token, learned from bills."""
    margin: float = 1.0
    """Tokens that one estimated token of what is sent may take at most, by its scripts."""
    doubt: float = 1.0
    """Share of the margin that no bill has proved needless."""
    frozen: bool = False
    """Whether only the window may force results to age, since the provider's cache is not understood."""
    arguments: bool = False
    """Whether the arguments of calls may be cut: only where a request goes to a provider as it is returned."""
    costs: Costs | None = None
    """What the conversation has cost, and what a batch would cost now; None where that is not followed."""

    @property
    def window(self) -> int:
        """The window in estimated tokens, so many that it holds them however many they are billed."""
        return int(self.profile.window / self.most_billed)

    @property
    def most_billed(self) -> float:
        """Tokens that may be billed for an estimated one: what bills say, and the doubtful part of the margin."""
        return self.scale + self.doubt * max(0.0, self.margin - max(1.0, self.scale))


UNKNOWN_MODEL = Situation(DEFAULT)
"""The situation with a model that is not in the table of profiles."""


class Policy(Protocol):
    """A way of showing a conversation."""

    @property
    def name(self) -> str:
        """The name that users give in the settings."""
        ...

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Return choices about results that have never been sent."""
        ...

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return choices about results that were sent before."""
        ...


def replacement_cut(item: Item, words: str) -> Cut:
    """Return the cut that shows `words` in place of the whole result."""
    return Cut((Segment("gap", 0, item.chars),), above=words)


def shown_text(item: Item, choice: Choice | None) -> str:
    """Return the text of a result under a choice."""
    if choice is None or (item.media is not None and not hides(choice)):
        return item.text
    pieces = choice.cut.pieces
    if len(pieces) == 1 and isinstance(pieces[0], Segment) and pieces[0].part == "gap":
        return choice.cut.above + choice.cut.below
    with item.opened() as source:
        return render(choice.cut, source)


def sent_tokens(transcript: Transcript, decided: Choices) -> int:
    """Return the tokens of the whole transcript as it is sent."""
    if isinstance(decided, TrackedChoices):
        return transcript.tokens - decided.saved
    return transcript.tokens - sum(
        transcript.items[number].tokens - choice.tokens for number, choice in decided.items()
    )


def sent_reserve(transcript: Transcript, decided: Choices, start: int = 0) -> float:
    """Return how many tokens more than estimated the messages from `start` on may take as they are sent."""
    whole = transcript.reserve_from(start)
    if not whole or not decided:
        return whole
    known = decided.reserves if isinstance(decided, TrackedChoices) else {}
    if (start, whole) not in known:
        found: float = whole
        for number, choice in decided.items():
            item = transcript.items[number]
            if item.reserve and item.index >= start and item.tokens > choice.tokens:
                found -= item.reserve * (1 - max(0, choice.tokens) / item.tokens)
        known[start, whole] = found
    return known[start, whole]


def rule_meaning(rule: str, reason: str | None = None) -> str:
    """Return what a rule means, in words for people, with the reason for one result; the rules of other systems'
    policies have none but their name."""
    meaning = RULES.get(rule, f"chosen by the rule `{rule}`")
    return f"{meaning}: {reason}" if reason else meaning


def check_policy(given: object) -> None:
    """Raise a `UsageError` where what a caller gave as a policy is none."""
    if missing := missing_part(given):
        raise UsageError(f"`policy` is {given!r:.80}: it has no `{missing}`. Give the name of a policy, or a policy.")


def missing_part(given: object) -> str:
    """Return the name of the first part of a policy that something does not have; empty where it has all."""
    return next((part for part in ("name", "arrive", "age") if not hasattr(given, part)), "")
