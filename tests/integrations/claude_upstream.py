"""Anthropic on loopback: asks a function for the next turn and remembers the requests."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from tests.upstream.scripted import Scripted, serving
from tests.upstream.spelling import SPELLINGS, Part, Text, Tool

Respond: TypeAlias = Callable[[dict[str, Any]], list[dict[str, Any]]]
"""The blocks that answer a request's body."""
_NUMBERS = itertools.count()
_USAGE = {"input_tokens": 10, "output_tokens": 5}


@contextmanager
def upstream(respond: Respond) -> Iterator[int]:
    """The port of the running server."""
    with serving(_Anthropic, respond=staticmethod(respond)) as port:
        yield port


class _Anthropic(Scripted):
    respond: Respond

    def events(self, path: str, body: dict[str, Any]) -> Iterable[bytes]:
        blocks = self.respond(body) if body.get("tools") else [{"type": "text", "text": "title"}]
        return SPELLINGS["anthropic"].events([_part(block) for block in blocks], next(_NUMBERS), _USAGE)


def _part(block: dict[str, Any]) -> Part:
    return Text(block["text"]) if block["type"] == "text" else Tool(block["name"], block["input"], block["id"])
