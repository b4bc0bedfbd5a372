"""What a projection changed and what that is worth, for people and programs."""

from typing import Any

from keepwhole.canonical.message import Path
from keepwhole.canonical.value import Value
from keepwhole.policies.policy import Choice
from keepwhole.policies.transcript import Item


class Edit(Value):
    """One result that is not shown as it came."""

    index: int
    """The message it lies in."""
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
        """The command that shows it whole again."""
        return f"keepwhole undo {self.artifact_id}"


def edit_of(item: Item, choice: Choice) -> Edit:
    """What a choice changes of a result on record."""
    assert item.name is not None, "what is not on record is not edited"
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
    """Of everything as it came."""
    tokens_sent: int = 0
    window: int = 0
    new_results: int = 0
    """Results that were put on record by this call."""
    new_decisions: int = 0
    """Decisions that were made by this call; anything above 0 changes the prompt's prefix."""
    unstored: int = 0
    """Results that could not be stored and so are sent whole."""
    repaired: int = 0
    """Broken pairs of call and result that were mended in the view."""
    skipped: int = 0
    """Edits that could not be made without guessing."""
    compacted: int = 0
    """Messages that a summary stands for."""
    tail: int = 0
    """Units that recall at the tail would put back now; it is only counted."""
    scale: float = 1.0
    """Tokens billed for an estimated one, as far as bills have taught."""
    changed_from: int | None = None
    """The first message that is sent otherwise than before, where `new_decisions` change one."""

    @property
    def tokens_saved(self) -> int:
        """Tokens that are not sent."""
        return self.tokens_whole - self.tokens_sent

    @property
    def as_sent(self) -> "Account":
        """The account of what really goes out: in the shadow that is everything as it came."""
        if self.mode != "shadow":
            return self
        return self.replace(tokens_sent=self.tokens_whole, edited=0, new_decisions=0)


class Projection(Value):
    """What to send, with the list of edits and the account."""

    messages: Any
    """In the form that was given: a list, or the bytes of a request."""
    edits: tuple[Edit, ...]
    account: Account
