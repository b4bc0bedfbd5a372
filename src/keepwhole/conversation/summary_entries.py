"""Summaries on record: made when the window is nearly full, found again by the messages they stand for.

A summary is a result like any other: its body is the full account, its view the words that are sent. So it is durable
before anything is left out for it, and one call brings the account back.
"""

import hashlib
import json
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, cast

from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Decision, Result
from keepwhole.canonical.message import Message
from keepwhole.canonical.utf8 import encode
from keepwhole.policies.compaction import MAX_TOKENS, Compaction, Summariser, Summary
from keepwhole.policies.policy import Choices
from keepwhole.policies.summary_text import MIN_TOKENS
from keepwhole.policies.transcript import Item, Name, Transcript
from keepwhole.record.arrival import Keeping
from keepwhole.record.journal import Known, digest_of_text
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft
from keepwhole.truncation.cut import Cut, Segment, encode_cut

TOOL = "keepwhole_summary"
RULE = "compaction"
_KEPT_SHARE = 0.5
"""Of the window, for the newest steps that stay as they are."""
_SUMMARY_PART = 8
"""A summary takes one part of so many of a small window."""


class Standing(NamedTuple):
    """A summary that stands for the first messages of a branch."""

    prefix: str
    upto: int
    kept: tuple[int, ...]
    text: str


def standing_of(known: Known) -> Standing | None:
    """The summary that a result on record is; None for any other."""
    if known.result.tool != TOOL or known.decision is None or known.decision[0].rule != RULE:
        return None
    try:
        about = cast("dict[str, Any]", json.loads(known.result.arguments or ""))
        return Standing(about["prefix"], int(about["messages"]), tuple(about["kept"]), known.decision[1].above)
    except (ValueError, KeyError, TypeError):
        return None


class Prefixes:
    """What the first messages of a branch are known by: their meaning, not how a client spells or marks them."""

    def __init__(self) -> None:
        self._digests: list[bytes] = [b""]

    def cut_back(self, length: int) -> None:
        """Forget all messages from `length` on."""
        del self._digests[length + 1 :]

    def of(self, transcript: Transcript, length: int) -> str:
        """What the first `length` messages are known by."""
        for message in transcript.messages[len(self._digests) - 1 : length]:
            self._digests.append(hashlib.sha256(self._digests[-1] + _meaning(message)).digest())
        return self._digests[length].hex()


def _meaning(message: Message) -> bytes:
    results = [(each.call_id, digest_of_text(each.text).hex()) for each in message.returned]
    return json.dumps([message.role, message.said, message.calls, results]).encode("ascii")


def summarised(
    keeping: Keeping,
    transcript: Transcript,
    decided: Choices,
    window: int,
    prefix_of: Callable[[int], str],
    own: Name,
    room: int,
    beyond: int = 0,
    summariser: Summariser | None = None,
) -> list[Draft]:
    """The entries that record a summary of the oldest steps, more than the first `beyond` messages; none where nothing
    can be made smaller."""
    compaction = Compaction(summariser, max_tokens=max(MIN_TOKENS, min(MAX_TOKENS, window // _SUMMARY_PART)))
    upto = compaction.boundary(transcript, decided, int(_KEPT_SHARE * window))
    if upto <= beyond or any(item.name is None for item in transcript.items if item.index < upto):
        return []
    summary = _summary(compaction, transcript, upto, decided, own)
    if not summary.saves:
        return []
    about = {"prefix": prefix_of(upto), "messages": upto, "kept": list(summary.kept)}
    at = keeping.now()
    taken = keeping.store.take(Feed(summary.body), room)
    taken.reader.close()
    result = Result(at=at, trace_id=own.trace_id, artifact_id=own.artifact_id, tool=TOOL, arguments=json.dumps(about))
    cut = encode_cut(Cut((Segment("gap", 0, taken.body.facts.chars),), above=summary.text))
    decision = Decision(
        at=at,
        trace_id=own.trace_id,
        rule=RULE,
        strategy="summary",
        version=keeping.version,
        shown_digest=measure(encode(summary.text)[0]).digest.hex(),
        shown_chars=len(summary.text),
    )
    return [Draft(result, taken.body), Draft(decision, Body(measure(cut), inline=cut))]


def _summary(compaction: Compaction, transcript: Transcript, upto: int, decided: Choices, own: Name) -> Summary:
    """The summary; an asynchronous summariser runs in a loop of its own, as `aview` gives it a thread."""
    if not iscoroutinefunction(compaction.summariser):
        return compaction.summarise(transcript, upto, _name_of, decided, own)
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(compaction.summarise_async(transcript, upto, _name_of, decided, own))
    plain = Compaction(max_tokens=compaction.max_tokens)  # this thread's loop is busy with the caller
    return plain.summarise(transcript, upto, _name_of, decided, own)


def _name_of(item: Item) -> Name:
    assert item.name is not None, "what is not on record is not summarised"
    return item.name
