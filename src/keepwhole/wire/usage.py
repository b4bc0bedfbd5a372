"""What a provider says that a request took: tokens, how many of them its cache served, what it did itself.

Owns: the names under which each dialect says so, whole and streamed. Whatever a provider wrote, nothing here raises.
Must not know: what is made of it.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from keepwhole.wire.as_dict import fields_of, kind_of_part, parts_of
from keepwhole.wire.dialect import Dialect
from keepwhole.wire.sse import Events

_TOLD = re.compile(rb'"usage"\s*:\s*\{|"applied_edits"\s*:')
"""In a stream; a text that quotes this has backslashes before its quotes."""
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_DETAILS = ("prompt_tokens_details", "input_tokens_details")


class Usage(NamedTuple):
    """The tokens of one request and its answer, as billed."""

    input: int
    """All tokens that went in, those from the cache and those written to it too."""
    cached: int = 0
    """Tokens of the input that the cache served."""
    written: int = 0
    """Tokens of the input that were written to the cache, where the provider charges for that."""
    output: int = 0
    applied: Any = None
    """What the provider says it changed of the prompt, as it says it."""
    says_cached: bool = True
    """Whether the provider says at all what its cache served; 0 is no news where it does not."""
    hops: int = 1
    """Times that the provider ran its model for this request; the input is that of all of them."""


def usage_of(dialect: Dialect, data: bytes, streamed: bool) -> Usage | None:
    """The usage that a response tells; None where it tells none.

    >>> usage_of("openai_chat", b'{"usage": {"prompt_tokens": 9, "completion_tokens": 2}}', streamed=False)
    Usage(input=9, cached=0, written=0, output=2, applied=None, says_cached=False, hops=1)
    """
    try:
        return usage_in(dialect, _merged(data) if streamed else fields_of(json.loads(data)))
    except (ValueError, RecursionError):
        return None


def usage_in(dialect: Dialect, body: dict[str, Any]) -> Usage | None:
    """The usage that the body of a response tells."""
    usage = fields_of(body.get("usage"))
    if dialect == "anthropic":
        return _of_anthropic(usage, fields_of(body.get("context_management")).get("applied_edits"))
    total = _count(usage, "prompt_tokens", "input_tokens")
    if total is None:
        return None
    details = fields_of(usage.get(_DETAILS[0]) or usage.get(_DETAILS[1]))
    cached = _count(details, "cached_tokens")
    written = _count(details, "cache_write_tokens") or 0
    output = _count(usage, "completion_tokens", "output_tokens") or 0
    return Usage(total, min(cached or 0, total), written, output, None, cached is not None)


def _of_anthropic(usage: dict[str, Any], applied: Any) -> Usage | None:
    """What the top says; `iterations` says the same again, turn by turn."""
    plain = _count(usage, "input_tokens")
    if plain is None:
        return None
    cached, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens") or 0
    turns = [kind_of_part(fields_of(turn)) for turn in parts_of(usage.get("iterations"))]
    return Usage(
        plain + (cached or 0) + written,
        cached or 0,
        written,
        _count(usage, "output_tokens") or 0,
        applied,
        cached is not None,
        max(1, turns.count("message")),
    )


def _merged(data: bytes) -> dict[str, Any]:
    """The body that the events of a stream amount to, as far as usage goes; of what is told twice the later counts."""
    body: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    for told in _told(data):
        inner = fields_of(told.get("message")) or fields_of(told.get("response"))
        for one in (inner, told):
            usage |= {name: value for name, value in fields_of(one.get("usage")).items() if value is not None}
            if one.get("context_management"):
                body["context_management"] = one["context_management"]
    return {**body, "usage": usage}


def _told(data: bytes) -> Iterator[dict[str, Any]]:
    """The events that tell something; only these are read."""
    end = next((end for end in _ENDS if end in data), b"\n\n")
    done = 0
    for found in _TOLD.finditer(data):
        if found.start() < done:
            continue
        before = data.rfind(end, done, found.start())
        stop = data.find(end, found.end())
        event = data[done if before < 0 else before + len(end) : stop if stop >= 0 else len(data)]
        done = stop if stop >= 0 else len(data)
        yield from (event.data() for event in Events().feed(event.lstrip() + end))


def _count(fields: dict[str, Any], *names: str) -> int | None:
    """The first of these that is a number of tokens."""
    return next((value for name in names if type(value := fields.get(name)) is int and value >= 0), None)
