"""A recorded run as a value.

Owns: the messages of one run in order, and where the run comes from.
Must not know: files and formats of clients. The formats produce the messages; `wire` decodes them.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from keepwhole.canonical.message import Message
from keepwhole.canonical.value import Value

Length: TypeAlias = Literal["short", "mid", "long"]
_SHORT, _MID = 30_000, 50_000
"""Runs below the first number of tokens are short, below the second of middle length; a token is four characters."""


class Run(Value):
    """The recorded conversation of one agent on one piece of work."""

    source: str
    """The client or project that recorded it: runs of one source are compared with each other."""
    id: str
    messages: tuple[Message, ...]
    meta: Mapping[str, Any] = MappingProxyType({})
    times: tuple[float, ...] = ()
    """The time of each message in seconds; empty where the log has none."""

    @property
    def task(self) -> str:
        """Return the name of the task; trials of one task share it."""
        return str(self.meta.get("task_id", self.id))

    @property
    def chars(self) -> int:
        """Return the number of characters of all texts, arguments included."""
        return sum(len(text) for message in self.messages for text in texts(message))

    @property
    def largest(self) -> int:
        """Return the number of characters of the largest result."""
        return max((len(returned.text) for message in self.messages for returned in message.returned), default=0)


def length_of(chars: int) -> Length:
    """Return the length class of a run with this number of characters."""
    tokens = chars / 4
    return "short" if tokens < _SHORT else "mid" if tokens < _MID else "long"


def texts(message: Message) -> Iterable[str]:
    """Yield every text of a message that takes tokens."""
    yield message.said
    for call in message.calls:
        yield call.arguments
    for returned in message.returned:
        yield returned.text
