"""A context window as a value: messages of four kinds, numbered by turn, for agents that manage their own window.

Owns: the kinds and what each must have. A tool result without a trace id cannot be built: text cut from it later
could not be found again.
Must not know: providers' spellings, policies.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError


class _Message(Value):
    """The fields that every kind has."""

    id: str
    content: str
    turn: int

    @property
    def pinned(self) -> bool:
        """Whether it must not be changed."""
        return False


class UserMessage(_Message):
    """A message of the user."""

    @property
    def type(self) -> Literal["user"]:
        """The kind of message."""
        return "user"


class AssistantMessage(_Message):
    """A message of the model."""

    @property
    def type(self) -> Literal["assistant"]:
        """The kind of message."""
        return "assistant"


class ToolResultMessage(_Message):
    """A result of a tool, with the id that finds the original."""

    trace_id: str

    def _check(self) -> None:
        if not self.trace_id:
            raise UsageError("A tool result needs its `trace_id`: without it nobody finds what is cut from it later.")

    @property
    def type(self) -> Literal["tool_result"]:
        """The kind of message."""
        return "tool_result"


class SpecRefreshMessage(_Message):
    """The specification, repeated; pinned."""

    @property
    def type(self) -> Literal["spec_refresh"]:
        """The kind of message."""
        return "spec_refresh"

    @property
    def pinned(self) -> bool:
        """Whether it must not be changed."""
        return True


ContextMessage: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage | SpecRefreshMessage


class ContextWindow(Value):
    """Messages in order. A window never changes; a policy returns another."""

    messages: tuple[ContextMessage, ...]

    def __init__(self, messages: Iterable[ContextMessage]) -> None:
        super().__init__(tuple(messages))

    def get_messages(self) -> tuple[ContextMessage, ...]:
        """Return all messages, oldest first."""
        return self.messages
