"""What a projection changed, and how many tokens that saves, for people and programs."""

from typing import Any

from keepwhole.canonical.message import Path
from keepwhole.canonical.value import Value
from keepwhole.policies.policy import Choice
from keepwhole.policies.transcript import Item


class Edit(Value):
    """One result that is not shown in full."""

    index: int
    """The index of its message."""
    path: Path
    trace_id: str
    artifact_id: str
    tool: str
    step: int
    rule: str
    strategy: str
    tokens_before: int
    tokens_after: int

    @property
    def undo(self) -> str:
        """The command that shows the result in full again."""
        return f"keepwhole undo {self.artifact_id}"


def edit_of(item: Item, choice: Choice) -> Edit:
    """Return the edit that a choice makes of a stored result."""
    assert item.name is not None, "what is not in the record is not edited"
    return Edit(
        index=item.index,
        path=item.returned.path,
        trace_id=item.name.trace_id,
        artifact_id=item.name.artifact_id,
        tool=item.call.tool if item.call else "tool",
        step=item.step,
        rule=choice.rule,
        strategy=choice.strategy,
        tokens_before=item.tokens,
        tokens_after=choice.tokens,
    )


class Account(Value):
    """A projection in figures. Tokens are estimates, corrected by `scale`."""

    policy: str
    mode: str
    results: int = 0
    edited: int = 0
    tokens_whole: int = 0
    """Tokens of all messages with every result in full."""
    tokens_sent: int = 0
    window: int = 0
    new_results: int = 0
    """Results that this call stored."""
    new_decisions: int = 0
    """Decisions that this call recorded; anything above 0 changes the prompt's prefix."""
    cut_by_client: int = 0
    """Results that are stored only as the client had cut them."""
    unstored: int = 0
    """Results that could not be stored and so are sent in full."""
    repaired: int = 0
    """Broken pairs of call and result that were repaired in the view."""
    skipped: int = 0
    """Edits that could not be made without guessing."""
    compacted: int = 0
    """Messages that a summary replaces."""
    hides: bool = False
    """Whether something is left out, so that the model must be able to read it back."""
    tail: int = 0
    """Units that recall at the tail would append now; they are only counted."""
    scale: float = 1.0
    """Tokens billed per estimated token, learned from bills."""
    changed_last: int | None = None
    """How many messages there are from the first one that differs from what was sent before; None if none does."""
    uncached_last: int | None = None
    """How many messages come after the longest prefix before these that the cache has; None if it has none."""

    @property
    def tokens_saved(self) -> int:
        """Tokens that are not sent."""
        return self.tokens_whole - self.tokens_sent

    @property
    def as_sent(self) -> "Account":
        """Return the account of what is really sent: in `shadow` mode every result in full."""
        if self.mode != "shadow":
            return self
        return self.replace(tokens_sent=self.tokens_whole, edited=0, new_decisions=0)


class Projection(Value):
    """The messages to send, the list of edits, and the account."""

    messages: Any
    """In the form that was given: a list, or the bytes of a request."""
    edits: tuple[Edit, ...]
    account: Account
