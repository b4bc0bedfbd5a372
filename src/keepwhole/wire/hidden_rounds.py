"""Rounds that a client does not know of, put back where they belong in what it sends later.

Owns: knowing an answer again by what the client was shown of it, and writing all of it in its place, so that every call
keeps its result and the model reads again what it wrote.
Must not know: where rounds are kept, what was asked and answered in them.

An answer is known by the ids of the calls that the client made for it; one without any by its words and by what it
answers. White space, cache markers and reasoning do not count: clients change those.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from keepwhole.wire.as_dict import fields_of, parts_of, text_of
from keepwhole.wire.dialect import Dialect
from keepwhole.wire.pairs import contents
from keepwhole.wire.reply import Json, answers

_OWN_ROLES = ("user", "system", "developer", "tool")


class Round(NamedTuple):
    """An answer that took calls of our tools."""

    key: str
    """What the client's part of it is known by."""
    said: list[Json]
    """All of it: messages or items."""
    beside: list[Json] = []  # noqa: RUF012 a default of a tuple is never changed
    """Results of ours that come with the client's own."""
    response: str = ""
    """What the client calls it, by which a request may go on with it."""
    last: str = ""
    """What the provider calls it."""


class _Turn(NamedTuple):
    """Where an answer lies in what a client sends."""

    start: int
    stop: int
    key: str


def key_of(shown: Sequence[Json], before: object) -> str:
    """What an answer is known by, given the blocks, items or message that are shown of it."""
    words, calls = _told(shown)
    asked = "" if calls else _asked(before)
    return hashlib.sha256(json.dumps([words, calls, asked]).encode("ascii")).hexdigest()


def put_back(
    dialect: Dialect, messages: Sequence[Any], rounds: Mapping[str, Sequence[Round]], continued: object = None
) -> list[Any]:
    """The messages with each answer that took rounds as it was; none twice, since ids must not repeat."""
    left = {key: list(found) for key, found in rounds.items()}
    out: list[Any] = [
        item for found in rounds.values() for one in found if _goes_on(one, continued) for item in one.beside
    ]
    at, beside = 0, list[Json]()
    for turn in _turns(dialect, messages):
        out += _with_results(dialect, messages[at : turn.start], beside)
        found = left.get(turn.key)
        own = messages[turn.start : turn.stop]
        is_last = turn.stop == len(messages)
        known = found.pop(0) if found and not (is_last and found[0].beside) else None
        out += own if known is None else _marked(known.said, own)
        at, beside = turn.stop, [] if known is None else known.beside
    return out + _with_results(dialect, messages[at:], beside)


def renamed(rounds: Mapping[str, Sequence[Round]], continued: object) -> str | None:
    """What the provider calls the answer that a request goes on with, where a client calls it otherwise."""
    return next((one.last for found in rounds.values() for one in found if _goes_on(one, continued)), None)


def _goes_on(known: Round, continued: object) -> bool:
    return bool(known.response) and known.response == continued


def _with_results(dialect: Dialect, messages: Sequence[Any], results: list[Json]) -> list[Any]:
    """What follows an answer, our results with the client's."""
    if not results or not messages:
        return list(messages)
    if dialect != "anthropic":
        return [*results, *messages]
    first = fields_of(messages[0])
    own = [*answers(dialect, results)[0]["content"], *contents(first)]
    return [{**first, "content": own}, *messages[1:]]


def _turns(dialect: Dialect, messages: Sequence[Any]) -> list[_Turn]:
    """The answers among the messages; in OpenAI Responses one is a run of items."""
    turns: list[_Turn] = []
    at = 0
    while at < len(messages):
        stop = at
        while stop < len(messages) and _is_answer(fields_of(messages[stop])):
            stop += 1
            if dialect != "openai_responses":
                break
        if stop > at:
            own = [fields_of(message) for message in messages[at:stop]]
            turns.append(_Turn(at, stop, key_of(own, messages[at - 1] if at else None)))
        at = max(stop, at + 1)
    return turns


def _is_answer(fields: Json) -> bool:
    if "role" in fields:
        return fields["role"] == "assistant"
    kind = text_of(fields.get("type"))
    return kind == "reasoning" or (kind.endswith("_call") and not kind.endswith("_output"))


def _told(parts: Sequence[Json]) -> tuple[str, list[str]]:
    """The words of an answer without white space, and the ids of its calls."""
    words: list[str] = []
    calls: list[str] = []
    for part in parts:
        inner = [fields_of(one) for one in contents(part)] if "role" in part else [part]
        words += ["".join(text_of(one.get("text")).split()) for one in inner]
        made = [*inner, *map(fields_of, parts_of(part.get("tool_calls")))]
        calls += [call_id for one in made if (call_id := _call_id(one))]
    return "".join(words), calls


def _call_id(part: Json) -> str:
    if part.get("type") == "tool_use" or isinstance(part.get("function"), dict):
        return text_of(part.get("id"))
    return text_of(part.get("call_id"))


def _asked(message: object) -> str:
    """What a message says, and which calls it answers."""
    fields = fields_of(message)
    blocks = [fields_of(one) for one in contents(fields)]
    words = "".join("".join(text_of(block.get("text")).split()) for block in blocks)
    ids = [block.get("tool_use_id") for block in blocks] + [fields.get("tool_call_id"), fields.get("call_id")]
    return json.dumps([words, [one for one in ids if isinstance(one, str)]])


def _marked(said: list[Json], own: Sequence[Any]) -> list[Json]:
    """An answer with the cache marker that the client has put on its part of it."""
    markers = [block["cache_control"] for message in own for block in _blocks(message) if "cache_control" in block]
    blocks = _blocks(said[-1]) if said else []
    if not markers or not blocks or blocks[-1].get("type") in ("thinking", "redacted_thinking"):
        return said
    last = {**said[-1], "content": [*blocks[:-1], {**blocks[-1], "cache_control": markers[-1]}]}
    return [*said[:-1], last]


def _blocks(message: object) -> list[Json]:
    return [fields_of(block) for block in parts_of(fields_of(message).get("content"))]
