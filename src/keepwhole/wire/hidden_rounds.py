"""Rounds that a client does not know of, put back where they belong in what it sends later.

Owns: recognizing an answer by what the client was shown of it, and writing all of it in its place, so that every call
keeps its result and the model reads again what it wrote.
Must not know: where rounds are stored, what was asked and answered in them, how a dialect spells any of it.

Theory of operation
-------------------

A model that calls a recall tool gets its answer at once, in a round of its own; the client sees one answer. On the wire
to the provider, for Anthropic:

    user       go
    assistant  [tool_use o1 get_artifact]       hidden
    user       [tool_result o1 "the lines"]     hidden
    assistant  Done.                            shown

The client's next request has only `go`, `Done.` and what follows. Sent like that, the model would not find what it
read, and the provider's cache, which has the hidden messages, would miss everything after `go`. So the exchange
records a `Round` (all four lines but the first, under a key), and `put_back` writes it in place of `Done.` in each
later request.

The key is a digest of what survives a client's rewriting: the ids of the calls that the client made for the answer; for
an answer without calls its words without white space, and what it answers (the words and result ids of the message
before). Cache markers, reasoning and the spelling of a text do not count, since clients change those.

An answer may call a recall tool and a tool of the client at once. Then no further round is hidden: the result of the
recall tool (`Round.beside`) goes to the provider together with the client's result, in the next request.

OpenAI Responses may continue an answer by its id instead of sending it. The client knows the id of the first round, the
provider has the last one (`Round.response`, `Round.last`): `provider_id` translates.

Invariants: each recorded round is put back at most once, in order, since ids of calls must not repeat; an answer that
is the last message keeps `beside` for the request that brings the client's results; messages that are not recognized
stay the same objects.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from keepwhole.wire.cache_markers import with_client_marker
from keepwhole.wire.content import Json, fields_of
from keepwhole.wire.dialect import Dialect


class Round(NamedTuple):
    """An answer that took calls of recall tools."""

    key: str
    """The key of the client's part of it."""
    said: list[Json]
    """All of it: messages or items."""
    beside: list[Json] = []  # noqa: RUF012 a default of a tuple is never changed
    """Results of recall tools that go together with the client's own."""
    response: str = ""
    """The client's id of the answer, by which a request may continue it."""
    last: str = ""
    """The provider's id of it."""


class _Turn(NamedTuple):
    """The place of an answer among the messages of a client."""

    start: int
    stop: int
    key: str


def key_of(dialect: Dialect, answer: Sequence[Json], before: object) -> str:
    """The key of an answer, given its messages as the client has them, and the message before."""
    words = "".join(dialect.words(message) for message in answer)
    calls = [call_id for message in answer for call_id in dialect.ties(message).calls]
    asked = "" if calls else _question(dialect, fields_of(before))
    return hashlib.sha256(json.dumps([words, calls, asked]).encode("ascii")).hexdigest()


def _question(dialect: Dialect, message: Json) -> str:
    return json.dumps([dialect.words(message), dialect.ties(message).results])


def keys_in(dialect: Dialect, messages: Sequence[Any]) -> list[str]:
    """The keys of all answers among the messages, in order."""
    return [turn.key for turn in _turns(dialect, messages)]


def put_back(
    dialect: Dialect, messages: Sequence[Any], rounds: Mapping[str, Sequence[Round]], continued: object = None
) -> list[Any]:
    """The messages with all rounds of each answer in place of the client's part of it."""
    left = {key: list(found) for key, found in rounds.items()}
    out: list[Any] = [
        item for found in rounds.values() for one in found if _is_continued(one, continued) for item in one.beside
    ]
    at, beside = 0, list[Json]()
    for turn in _turns(dialect, messages):
        out += _with_results(dialect, messages[at : turn.start], beside)
        found = left.get(turn.key)
        own = messages[turn.start : turn.stop]
        is_last = turn.stop == len(messages)
        known = found.pop(0) if found and not (is_last and found[0].beside) else None
        out += own if known is None else with_client_marker(known.said, own)
        at, beside = turn.stop, [] if known is None else known.beside
    return out + _with_results(dialect, messages[at:], beside)


def provider_id(rounds: Mapping[str, Sequence[Round]], continued: object) -> str | None:
    """The provider's id of the answer that a request continues; None where it is the client's."""
    return next((one.last for found in rounds.values() for one in found if _is_continued(one, continued)), None)


def _is_continued(known: Round, continued: object) -> bool:
    return bool(known.response) and known.response == continued


def _with_results(dialect: Dialect, messages: Sequence[Any], results: list[Json]) -> list[Any]:
    return dialect.with_results(messages, results) if results and messages else list(messages)


def _turns(dialect: Dialect, messages: Sequence[Any]) -> list[_Turn]:
    """The answers among the messages."""
    turns: list[_Turn] = []
    at = 0
    while at < len(messages):
        stop = at
        while stop < len(messages) and dialect.is_answer(fields_of(messages[stop])):
            stop += 1
            if not dialect.is_answer_in_items:
                break
        if stop > at:
            own = [fields_of(message) for message in messages[at:stop]]
            turns.append(_Turn(at, stop, key_of(dialect, own, messages[at - 1] if at else None)))
        at = max(stop, at + 1)
    return turns
