"""A message of a conversation, whoever spelled it: who spoke, which tools were called, what came back.

Owns: the values that dialects decode to and policies read.
Must not know: how a provider spells a message (`wire`), steps and turns (`policies.transcript`).
"""

from typing import Literal, NamedTuple, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool", "other"]
Path: TypeAlias = tuple[str | int, ...]
"""Where a text lies inside its message: `("content",)`, or `("content", 2, "content", 0, "text")`."""


class Call(NamedTuple):
    """A model called a tool."""

    call_id: str
    tool: str
    arguments: str
    """As JSON text."""


class ResultText(NamedTuple):
    """One text that a tool gave back. A result of several text parts is several of these; images are none."""

    call_id: str
    path: Path
    text: str
    is_error: bool = False


class Message(NamedTuple):
    """One message in any dialect's spelling, decoded."""

    role: Role
    said: str = ""
    """What a user or an assistant wrote, for finding what is quoted."""
    calls: tuple[Call, ...] = ()
    returned: tuple[ResultText, ...] = ()
    other: int = 0
    """Tokens of what is no text: images, documents, reasoning that cannot be read."""
    pinned: bool = False
    """Whether nothing of it may be changed."""
