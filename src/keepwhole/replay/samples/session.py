"""A made-up session as a value.

Must not know: the log formats of clients.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

Client: TypeAlias = Literal["claude-code", "codex", "chat"]


class SampleTurn(NamedTuple):
    """One message, or one call with its result."""

    role: Literal["user", "assistant"]
    said: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = MappingProxyType({})
    result: str = ""
    is_error: bool = False


class SampleSession(NamedTuple):
    """One made-up session."""

    id: str
    client: Client
    turns: list[SampleTurn]


PARTS = ("berth", "cargo", "crane", "customs", "ferry", "invoice", "manifest", "pilot", "quay", "tide", "tug", "yard")
VERBS = ("assign", "check", "close", "find", "load", "merge", "move", "open", "plan", "release", "reserve", "split")
NOUNS = ("slot", "window", "crew", "draft", "limit", "notice", "offer", "order", "record", "route", "rule", "total")
"""The words of a harbor from which names are built."""
