"""A request as a provider's cache sees it: blocks in the order of the prompt, with their tokens, made without our code.

Owns: the order of a prompt, and a tokenizer of its own. Must not know: prices, lifetimes.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator
from math import ceil
from typing import Any, NamedTuple

from tests.upstream.pictures import media_tokens, without_pictures
from tests.upstream.spelling import Json

BYTES = 3.3
"""Bytes to a token, more or less as providers count tool output."""
_WORD = re.compile(rb"[^\r\n\w]?[A-Za-z]+|\d{1,3}| ?[^\s\w]+|\s+|_+")
_TEXT_FILE = re.compile(r'"mime_?[tT]ype": "text/plain", "data": "([^"]*)"')
_SHORT, _PIECE = 8, 5


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


def words_of(data: bytes) -> int:
    """How many tokens some bytes take where each common word is one, as in the vocabularies of OpenAI.

    >>> words_of(b"The request of section 1234.")
    8
    """
    return sum(1 if len(word) <= _SHORT else ceil(len(word) / _PIECE) for word in _WORD.findall(data))


def blocks_of(body: Json, count: Callable[[bytes], int] = tokens_of) -> list[Block]:
    """Tools, system, messages: as every provider puts them together."""
    if any(
        "type" not in part for message in body.get("messages") or () for part in _parts(message.get("content") or [])
    ):
        return _of_converse(body, count)
    found = [_block("tool", tool, count) for tool in body.get("tools") or ()]
    for part in _parts(body.get("system") or body.get("instructions") or []):
        found.append(_block("system", part, count))
    # Another choice of tools or of thinking makes another prompt of the messages, not of what stands before them.
    choice = json.dumps([body.get(key) for key in ("tool_choice", "thinking")])
    if "contents" in body:
        found += [_block("system", part, count) for part in (body.get("systemInstruction") or {}).get("parts", ())]
        return found + [
            _block(message["role"], part, count) for message in body["contents"] for part in message["parts"]
        ]
    messages = body["messages"] if "messages" in body else _items(body["input"])
    for number, message in enumerate(messages):
        found += _message(f"{number} {choice if number == 0 else ''}", message, count)
    return found


def _of_converse(body: Json, count: Callable[[bytes], int]) -> list[Block]:
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
            found.append(_block(place, part, count))
    return found


def _message(place: str, message: Json, count: Callable[[bytes], int]) -> Iterator[Block]:
    if "role" not in message or "tool_calls" in message or message["role"] == "tool":
        yield _block(place, message, count)
        return
    for part in _parts(message.get("content") or []):
        yield _block(place + message["role"], part, count)


def _items(given: Any) -> list[Json]:
    return given if isinstance(given, list) else [{"role": "user", "content": given}]


def _parts(content: Any) -> list[Json]:
    """A string is one text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _block(place: str, part: Json, count: Callable[[bytes], int]) -> Block:
    plain = {key: value for key, value in part.items() if key != "cache_control"}
    told = json.dumps(plain, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    tokens = count(told)
    if media := media_tokens(part):
        rest = json.dumps(without_pictures(plain), ensure_ascii=False).encode("utf-8", "surrogatepass")
        tokens = count(rest) + media
    return Block(place.encode() + b"\0" + told, tokens, part.get("cache_control"))


def readable(messages: list[Json]) -> str:
    """All that a model reads of messages: beside a response, Gemini has a text as a file in base64."""
    told = json.dumps(messages)
    return told + "".join(base64.urlsafe_b64decode(_for_urls(data)).decode() for data in _TEXT_FILE.findall(told))


def _for_urls(data: str) -> str:
    return data.replace("+", "-").replace("/", "_")


def strings_in(value: Any) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings_in(part)
