"""Checks on a record and on requests of any dialect, for tests of adapters."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from keepwhole.canonical.message import Message
from keepwhole.conversation.summary import TOOL
from keepwhole.exchange.outgoing_request import TOOL as ROUND
from keepwhole.models.tokens import estimate
from keepwhole.recall.names import NAMES
from keepwhole.session import Session
from keepwhole.store.protocol import body_of, result_of
from keepwhole.wire.dialects import decode_message


def recorded_results(session: Session) -> list[tuple[str, str]]:
    """The recorded results with their tools, in order, without Keepwhole's own tools and entries."""
    return list(_read_recorded(session))


def _read_recorded(session: Session) -> Iterator[tuple[str, str]]:
    for row in session.store.rows(session.id, kind="result"):
        tool = result_of(row).tool.rpartition("__")[2]  # a client may put the server's name before it
        if tool in (*NAMES, TOOL, ROUND):
            continue
        with session.store.open(body_of(row)) as reader:
            yield tool, reader.text()


def results_in(messages: Sequence[Any]) -> list[tuple[str, str]]:
    """The results in messages of any dialect: the call's id and the text."""
    return [(each.call_id, each.text) for message in _decode(messages) for each in message.returned]


def find_unpaired(messages: Sequence[Any]) -> set[str]:
    """Calls without a result after them, results without a call before them, and calls with two results.

    Calls at the end of a conversation may still wait for their results.
    """
    waiting: set[str] = set()
    known: set[str] = set()
    wrong: set[str] = set()
    decoded = _decode(messages)
    for message in decoded:
        answered = {each.call_id for each in message.returned}
        wrong |= answered - waiting
        waiting -= answered
        asked = {call.call_id for call in message.calls}
        wrong |= asked & known
        known |= asked
        waiting |= asked
    last = {call.call_id for call in decoded[-1].calls} if decoded else set[str]()
    return wrong | (waiting - last)


def broken_prefixes(requests: Sequence[Sequence[Any]]) -> list[int]:
    """The indexes of requests that do not begin with the one before."""
    pairs = itertools.pairwise(requests)
    return [at for at, (old, new) in enumerate(pairs, 1) if list(new[: len(old)]) != list(old)]


def tokens_of(messages: Sequence[Any]) -> int:
    """The estimated tokens of messages."""
    return sum(_tokens(message) for message in _decode(messages))


def _tokens(message: Message) -> int:
    texts = (message.said, *(each.text for each in message.returned), *(call.arguments for call in message.calls))
    return message.other + sum(map(estimate, texts))


def _decode(messages: Sequence[Any]) -> list[Message]:
    return [decode_message(message) for message in messages]
