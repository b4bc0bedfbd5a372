"""A message of a conversation in any dialect: its role, the tools it calls, the results it returns.

Owns: the values that dialects decode to and policies read.
Must not know: how a provider spells a message (`wire`), steps and turns (`policies.transcript`).
"""

from typing import Literal, NamedTuple, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool", "other"]
Path: TypeAlias = tuple[str | int, ...]
"""Where a text is inside its message: `("content",)`, or `("content", 2, "content", 0, "text")`."""


class Call(NamedTuple):
    """A model called a tool."""

    call_id: str
    tool: str
    arguments: str
    """As JSON text."""


class ResultText(NamedTuple):
    """One text that a tool returned. A result of several text parts is several of these; images are not included."""

    call_id: str
    path: Path
    text: str
    is_error: bool = False
    before: str = ""
    """What the client put into the same string before the text, where its form is known."""
    behind: str = ""
    """The same behind the text."""
    exit_code: int | None = None
    """How the command ended, where what the client put there says it."""

    @property
    def is_framed(self) -> bool:
        """Whether the client put something around what the tool returned."""
        return bool(self.before or self.behind)

    def around(self, text: str) -> str:
        """The string to send where this text is shown of the result."""
        return f"{self.before}{text}{self.behind}" if self.is_framed else text


class Message(NamedTuple):
    """One message in any dialect's spelling, decoded."""

    role: Role
    said: str = ""
    """What a user or an assistant wrote, in which quotes of results are searched for."""
    calls: tuple[Call, ...] = ()
    returned: tuple[ResultText, ...] = ()
    other: int = 0
    """Tokens of parts that are not text: images, documents, encrypted reasoning."""
    pinned: bool = False
    """Whether nothing of it may be changed."""
