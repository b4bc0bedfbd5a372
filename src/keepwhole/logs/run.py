"""A recorded run as a value.

Owns: the messages of one run in order, and where it comes from.
Must not know: files and formats of clients; importers give the same messages, `wire` decodes them.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from keepwhole.canonical.message import Message
from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError
from keepwhole.wire.dialects import decode_message

Length: TypeAlias = Literal["short", "mid", "long"]
_SHORT, _MID = 30_000, 50_000
"""Tokens, by four characters each, below which a run is short, or of middle length."""


class Run(Value):
    """One agent at one piece of work, as it was recorded."""

    source: str
    """Who recorded it: runs of one source are compared with each other."""
    id: str
    messages: tuple[Message, ...]
    meta: Mapping[str, Any] = MappingProxyType({})
    times: tuple[float, ...] = ()
    """When each message came, in seconds; empty where unknown."""

    @property
    def task(self) -> str:
        """What it was about: trials of one task share it."""
        return str(self.meta.get("task_id", self.id))

    @property
    def chars(self) -> int:
        """Characters of all texts, arguments included."""
        return sum(len(text) for message in self.messages for text in texts(message))

    @property
    def largest(self) -> int:
        """Characters of its largest result."""
        return max((len(returned.text) for message in self.messages for returned in message.returned), default=0)

    @property
    def length(self) -> Length:
        """How long it is, by characters."""
        return length_of(self.chars)


def length_of(chars: int) -> Length:
    """How long a run of so many characters is."""
    tokens = chars / 4
    return "short" if tokens < _SHORT else "mid" if tokens < _MID else "long"


def texts(message: Message) -> Iterable[str]:
    """Everything in a message that takes tokens."""
    yield message.said
    for call in message.calls:
        yield call.arguments
    for returned in message.returned:
        yield returned.text


def run_of(record: Mapping[str, Any]) -> Run:
    """The run in one record of the form `{"source", "id", "messages", "meta"}`."""
    try:
        messages = tuple(decode_message(message) for message in record["messages"])
        return Run(str(record["source"]), str(record["id"]), messages, record.get("meta") or {})
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"A record is no run ({error!r}). It needs `source`, `id` and chat `messages`.") from error
