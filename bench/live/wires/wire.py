"""What every dialect of the agent must be able to do."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from bench.live.task import Returned, Tool
from keepwhole.wire.content import count_in, fields_of

Json: TypeAlias = dict[str, Any]
MAX_TOKENS = 8_000
"""Most tokens of one answer, what the model thinks included."""


class Asked(NamedTuple):
    """What a conversation begins with."""

    model: str
    system: str
    prompt: str
    tools: Sequence[Tool]


class Call(NamedTuple):
    """A call that a model makes."""

    id: str
    tool: str
    arguments: Json


class Wire(Protocol):
    """One conversation in one dialect."""

    path: str
    host: str
    """Where the provider is asked."""
    key: str
    """The variable of the environment that has the key."""

    def __init__(self, asked: Asked) -> None: ...

    def request(self) -> Json:
        """Return the body of the next request."""
        ...

    def read(self, body: Json) -> tuple[str, list[Call]]:
        """Add an answer to the conversation; return its words and its calls."""
        ...

    def add(self, results: Sequence[tuple[Call, Returned]]) -> None:
        """Add the results of all calls of an answer."""
        ...

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        """Return the headers with which a provider is asked."""
        ...

    @staticmethod
    def called(body: Json) -> list[str]:
        """Return the names of the tools that an answer calls."""
        ...

    @staticmethod
    def most_output(body: Json) -> int | None:
        """Return the most tokens that a request lets the provider make; None where it sets no limit."""
        ...


def schema(tool: Tool) -> Json:
    """Return the parameters of a tool as JSON Schema."""
    properties = {name: {"type": "string"} for name in tool.parameters}
    return {"type": "object", "properties": properties, "required": list(tool.parameters)}


def arguments_of(written: str) -> Json:
    """Return the arguments of a call; none where the model wrote no JSON object."""
    try:
        return fields_of(json.loads(written))
    except ValueError:
        return {}


def most_of(fields: Json, *names: str, times: str = "") -> int | None:
    """Return the most tokens that these fields allow, for as many answers as the field `times` asks.

    >>> most_of({"max_tokens": 900, "n": 3}, "max_completion_tokens", "max_tokens", times="n")
    2700
    """
    limits = [limit for name in names if (limit := count_in(fields, name)) is not None]
    return max(limits) * max(1, count_in(fields, times) or 1) if limits else None
