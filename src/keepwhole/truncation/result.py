"""What comes out of truncation: the text to show, and what is known about it."""

from keepwhole.canonical.value import Value
from keepwhole.errors import KeepwholeError
from keepwhole.truncation.cut import Cut


def estimated_tokens(chars: int) -> int:
    """Tokens by the rule of thumb of four characters each, rounded up."""
    return -(-chars // 4)


class TruncationMetadata(Value):
    """What happened to one result on its way to the model. Sizes count characters."""

    original_size: int
    truncated_size: int
    strategy_used: str
    """`none` if nothing was cut."""
    was_truncated: bool
    artifact_id: str | None = None
    original_lines: int = 0
    original_bytes: int = 0
    stored: bool = True
    """Whether the original is durable. What is not stored is shown in full."""

    @property
    def original_tokens(self) -> int:
        """Estimated tokens of the original."""
        return estimated_tokens(self.original_size)

    @property
    def truncated_tokens(self) -> int:
        """Estimated tokens of what is shown."""
        return estimated_tokens(self.truncated_size)


class TruncationResult(Value):
    """One result, ready to show."""

    content: str
    """What to show; within the limit, notices included."""
    body: str
    """The cut text without the notices around it."""
    metadata: TruncationMetadata
    artifact_id: str | None = None
    """The id that fetches the rest; None if nothing was left out."""
    artifact_reference: str | None = None
    trace_id: str | None = None
    """The id of the stored result; None if it could not be stored."""
    cut: Cut | None = None
    problem: KeepwholeError | None = None
    """Why the result could not be stored, if it could not."""
    strategy_failure: str = ""
    """If another strategy cut instead: the one that failed and the type of its exception, `name: RuntimeError`."""
