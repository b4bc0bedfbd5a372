"""A context window as a value: messages of four kinds, numbered by turn, for those who keep their own.

Owns: the kinds and what each must have. A tool result without a trace id cannot be built: what is cut from it later
could not be found again.
Must not know: providers' spellings, policies.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError


class _Message(Value):
    """What every kind has."""

    id: str
    content: str
    turn: int

    @property
    def pinned(self) -> bool:
        """Whether nothing of it may be changed."""
        return False


class UserMessage(_Message):
    """What the user wrote."""

    @property
    def type(self) -> Literal["user"]:
        """The kind, in a word."""
        return "user"


class AssistantMessage(_Message):
    """What the model wrote."""

    @property
    def type(self) -> Literal["assistant"]:
        """The kind, in a word."""
        return "assistant"


class ToolResultMessage(_Message):
    """What a tool gave back, and the id that names it for good."""

    trace_id: str

    def _check(self) -> None:
        if not self.trace_id:
            raise UsageError("A tool result needs its `trace_id`: without it nobody finds what is cut from it later.")

    @property
    def type(self) -> Literal["tool_result"]:
        """The kind, in a word."""
        return "tool_result"


class SpecRefreshMessage(_Message):
    """The specification, said again; pinned."""

    @property
    def type(self) -> Literal["spec_refresh"]:
        """The kind, in a word."""
        return "spec_refresh"

    @property
    def pinned(self) -> bool:
        """Whether nothing of it may be changed."""
        return True


ContextMessage: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage | SpecRefreshMessage


class ContextWindow(Value):
    """Messages in order. It never changes; a policy gives another."""

    messages: tuple[ContextMessage, ...]

    def __init__(self, messages: Iterable[ContextMessage]) -> None:
        super().__init__(tuple(messages))

    def get_messages(self) -> tuple[ContextMessage, ...]:
        """All messages, oldest first."""
        return self.messages
