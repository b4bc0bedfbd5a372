"""A request as a provider's cache sees it: blocks in the order of the prompt, with their tokens, made without our code.

Owns: the order of a prompt, and a tokenizer of its own. Must not know: prices, lifetimes.
"""

import json
from collections.abc import Iterator
from math import ceil
from typing import Any, NamedTuple

from tests.upstream.pictures import media_tokens, without_pictures
from tests.upstream.spelling import Json

BYTES = 3.3
"""Bytes to a token, more or less as providers count tool output."""


class Block(NamedTuple):
    """One part of a prompt."""

    data: bytes
    """What it says, with everything that would change the prompt."""
    tokens: int
    marker: Json | None = None
    """`cache_control`, where it is set."""


def tokens_of(data: bytes) -> int:
    """How many tokens some bytes take.

    >>> tokens_of(b"0123456789")
    4
    """
    return ceil(len(data) / BYTES)


def blocks_of(body: Json) -> list[Block]:
    """Tools, system, messages: as every provider puts them together."""
    if any(
        "type" not in part for message in body.get("messages") or () for part in _parts(message.get("content") or [])
    ):
        return _of_converse(body)
    found = [_block("tool", tool) for tool in body.get("tools") or ()]
    for part in _parts(body.get("system") or body.get("instructions") or []):
        found.append(_block("system", part))
    # Another choice of tools or of thinking makes another prompt of the messages, not of what stands before them.
    choice = json.dumps([body.get(key) for key in ("tool_choice", "thinking")])
    if "contents" in body:
        found += [_block("system", part) for part in (body.get("systemInstruction") or {}).get("parts", ())]
        return found + [_block(message["role"], part) for message in body["contents"] for part in message["parts"]]
    messages = body["messages"] if "messages" in body else _items(body["input"])
    for number, message in enumerate(messages):
        found += _message(f"{number} {choice if number == 0 else ''}", message)
    return found


def _of_converse(body: Json) -> list[Block]:
    """The same of Converse, where a marker is a block of its own behind what is to be cached."""
    placed = [("tool", part) for part in (body.get("toolConfig") or {}).get("tools", ())]
    placed += [("system", part) for part in body.get("system") or ()]
    choice = json.dumps([(body.get("toolConfig") or {}).get("toolChoice"), body.get("additionalModelRequestFields")])
    for number, message in enumerate(body["messages"]):
        place = f"{number} {choice if number == 0 else ''}{message['role']}"
        placed += [(place, part) for part in message["content"]]
    found: list[Block] = []
    for place, part in placed:
        if "cachePoint" in part:
            found[-1] = found[-1]._replace(marker=part["cachePoint"])
        else:
            found.append(_block(place, part))
    return found


def _message(place: str, message: Json) -> Iterator[Block]:
    if "role" not in message or "tool_calls" in message or message["role"] == "tool":
        yield _block(place, message)
        return
    for part in _parts(message.get("content") or []):
        yield _block(place + message["role"], part)


def _items(given: Any) -> list[Json]:
    return given if isinstance(given, list) else [{"role": "user", "content": given}]


def _parts(content: Any) -> list[Json]:
    """A string is one text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _block(place: str, part: Json) -> Block:
    plain = {key: value for key, value in part.items() if key != "cache_control"}
    told = json.dumps(plain, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    tokens = tokens_of(told)
    if media := media_tokens(part):
        rest = json.dumps(without_pictures(plain), ensure_ascii=False).encode("utf-8", "surrogatepass")
        tokens = tokens_of(rest) + media
    return Block(place.encode() + b"\0" + told, tokens, part.get("cache_control"))


def strings_in(value: Any) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings_in(part)
