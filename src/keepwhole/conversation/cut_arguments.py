"""The arguments of old calls in the requests of one branch: whether they may be cut, and the edits that do.

Owns: that nothing is cut which is not on record as the messages have it, nor where signed reasoning forbids it.
Must not know: which calls are old (`policies/arguments.py`), how a provider spells a call (`wire/call_arguments.py`).

Arguments are cut in the bytes of a request that go to a provider, and nowhere else: a list of messages that is returned
to a program may be resumed from, and a call in it run again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from keepwhole.canonical.arguments import are_equal
from keepwhole.policies.arguments import freed_tokens
from keepwhole.policies.transcript import Item, MayChange, Transcript
from keepwhole.record.known_result import KnownResult
from keepwhole.truncation.arguments import LONG
from keepwhole.truncation.cut import Cut
from keepwhole.wire.call_arguments import Edit, cut_edits, find_arguments


def when_changed(item: Item, known: KnownResult | None, transcript: Transcript, messages: Sequence[Any]) -> MayChange:
    """When the arguments of a result's call may be shown otherwise."""
    if item.call is None or len(item.call.arguments) < LONG:
        return "never"
    if known is not None and not are_equal(known.result.arguments or "", item.call.arguments):
        return "never"
    index = transcript.index_of_call(item)
    place = None if index == item.index else find_arguments(messages, index, item.call)
    return "never" if place is None else "after the turn" if place.is_signed else "always"


class CallEdits(NamedTuple):
    """What is cut of the arguments of one call."""

    at: int
    """The index of the message that makes the call."""
    edits: list[Edit]
    freed: int
    """Tokens that are not sent."""


def edits_of_call(item: Item, cut: Cut, transcript: Transcript, messages: Sequence[Any]) -> CallEdits | None:
    """The edits that cut the arguments of a result's call as a decision says; None where it does not, or must not.

    Whether the turn of the call is over is asked when the edits are made: messages after it may be still to come.
    """
    if not cut.arguments or item.call is None or item.changes_arguments == "never":
        return None
    index = transcript.index_of_call(item)
    place = find_arguments(messages, index, item.call)
    if place is None:
        return None
    return CallEdits(index, cut_edits(place, item.call, cut.arguments), freed_tokens(item, cut.arguments))
