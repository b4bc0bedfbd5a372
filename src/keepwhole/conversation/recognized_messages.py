"""Messages that a client sent, decoded, and the results in them that are on record.

Owns: the order: decode, take frames off, match with the record, identify; and that the tokens of all that is no result
are counted with the message.
Must not know: how a text is identified (`seen_result`), how a result is shown, what was sent before (`branch`).
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from keepwhole.canonical.message import Call, Identity, Message
from keepwhole.conversation.seen_result import Identified, identify
from keepwhole.errors import StoreError
from keepwhole.models.tokens import estimate
from keepwhole.record.journal import Journal, ResultMatch
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.frames import without_frames


class RecognizedMessage(NamedTuple):
    """One message, with whole results alone; the tokens of everything else in it are counted as `other`."""

    message: Message
    results: list[Identified]


class Recognized(NamedTuple):
    """New messages of a branch."""

    messages: list[RecognizedMessage]
    is_record_read: bool
    """Whether the record could be read, as far as these messages are on it."""
    is_original_unread: bool
    """Whether a result on record could not be read, and so is left out."""


def recognize(messages: Sequence[Any], client: str, journal: Journal, may_read: bool) -> Recognized:
    """Decode messages that came from a client, and find their results on record; without `may_read` from memory."""
    decoded = [without_frames(decode_message(message), client) for message in messages]
    texts = [returned.identity for message in decoded for returned in message.returned]
    calls = _calls_of_results(decoded)
    matches, is_record_read = _match(journal, texts, ["" if call is None else call.tool for call in calls], may_read)
    waiting, unread = zip(matches, calls, strict=True), list[bool]()
    found = [
        _recognize_message(message, [next(waiting) for _ in message.returned], journal, unread) for message in decoded
    ]
    return Recognized(found, is_record_read, bool(unread))


def _calls_of_results(messages: Sequence[Message]) -> list[Call | None]:
    """The call that each result is of, the newest of its id; None where the call came before these messages."""
    called, calls = dict[str, Call](), list[Call | None]()
    for message in messages:
        called.update((call.call_id, call) for call in message.calls)
        calls += [called.get(returned.call_id) for returned in message.returned]
    return calls


def _match(
    journal: Journal, texts: Sequence[Identity], tools: Sequence[str], may_read: bool
) -> tuple[Sequence[ResultMatch | None], bool]:
    """The results on record that these texts stand for, and whether the record could be read for that."""
    if may_read:
        with suppress(StoreError):
            return journal.match_all(texts, tools), True
    return [journal.match(*one, tool) for one, tool in zip(texts, tools, strict=True)], False


def _recognize_message(
    message: Message,
    matches: Sequence[tuple[ResultMatch | None, Call | None]],
    journal: Journal,
    unread: list[bool],
) -> RecognizedMessage:
    if not message.returned:
        return RecognizedMessage(message, [])
    results: list[Identified] = []
    other = message.other
    for returned, (match, call) in zip(message.returned, matches, strict=True):
        try:
            found = identify(journal, returned, match, call)
        except StoreError:
            unread.append(True)
            found = None
        if found is None:
            other += estimate(returned.around(returned.text))
            continue
        results.append(found)
        if found.returned.is_framed:
            other += estimate(found.returned.before) + estimate(found.returned.behind)
    whole = tuple(found.returned for found in results)
    return RecognizedMessage(message._replace(returned=whole, other=other), results)
