"""Results of a conversation and decisions about them on their way into the record.

Owns: what an entry says of a result, and what becomes of bodies whose entry could not be written.
Must not know: messages, when a policy chooses.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from keepwhole.canonical import ids
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Decision, Entry, Result
from keepwhole.canonical.guard import truncation_mark
from keepwhole.canonical.message import Returned
from keepwhole.canonical.utf8 import encode
from keepwhole.errors import NotFound, Overtaken, QuotaExceeded, StoreError
from keepwhole.metrics import MARKER
from keepwhole.policies.compaction import Summariser
from keepwhole.policies.policy import Choice, shown
from keepwhole.policies.transcript import Item, Name
from keepwhole.record.arrival import Keeping, appended
from keepwhole.record.journal import Known, Ledger
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft
from keepwhole.truncation.cut import encode_cut

LEGACY = "legacy_truncated"
"""The flag of a result that was cut by somebody before it came to us in a conversation."""
_WINDOW = 16_384
"""Bytes at either end of a result in which a mark of truncation is looked for."""


class Met(NamedTuple):
    """A result in a message: what it is on record, what came, and whether it is there."""

    returned: Returned
    came: str
    known: Known | None


class Desk(NamedTuple):
    """What viewing needs of its session."""

    keeping: Keeping
    ledger: Ledger
    observe: Callable[[list[Entry]], None]
    """Told of every entry that was added."""
    room: Callable[[], int]
    """Bytes that may still be stored."""
    summariser: Summariser | None = None
    """Writes summaries; without one they are written from the record alone."""


def drawn(keeping: Keeping) -> Name:
    """A new name."""
    at, trace_id = keeping.now(), ids.trace_id(keeping.random(ids.RANDOM_BYTES))
    return named(keeping, trace_id, ids.artifact_id(at // 1000, trace_id))


def named(keeping: Keeping, trace_id: str, artifact_id: str) -> Name:
    """How notices name a result of this session."""
    return Name(trace_id, artifact_id, keeping.ways.of(trace_id, artifact_id))


def record(desk: Desk, drafts: list[Draft], after: int | None = None) -> None:
    """Append entries, and learn them; `Overtaken` where they were decided `after` what is no longer the newest."""
    if drafts:
        entries, was_there = appended(desk.keeping, drafts, once=False, after=after)
        desk.observe(entries)
        if was_there:
            desk.ledger.foresee(entries, drafts)
    desk.ledger.catch_up(own=True)


def once_each(items: list[Item]) -> list[Item]:
    """The items without those that say the same of the same call as one before them."""
    return list({(item.returned.call_id, item.text): item for item in reversed(items)}.values())[::-1]


def stored(
    desk: Desk,
    items: list[Item],
    choices: Mapping[int, Choice],
    batch: Sequence[Draft] = (),
    after: int | None = None,
) -> list[Item]:
    """Append results, with the decisions of a `batch`, or else those that fit alone; gives those that were.

    `Overtaken` where all of it was decided `after` what is no longer the newest.
    """
    try:
        append_results(desk, items, choices, batch=batch, after=after)
    except Overtaken:
        raise
    except QuotaExceeded:
        return [] if len(items) == 1 else [item for each in items for item in stored(desk, [each], choices)]
    except (StoreError, NotFound):
        return []
    return items


def append_results(
    desk: Desk,
    items: list[Item],
    choices: Mapping[int, Choice],
    once: bool = True,
    batch: Sequence[Draft] = (),
    after: int | None = None,
) -> None:
    """Append results with how they are shown from the beginning; bodies that surely are not on record are given back.

    After any other failure a body stays: its entry may be found again after a crash.
    """
    bodies: dict[str, Body] = {}
    try:
        drafts = [draft for item in items for draft in _drafts(desk, item, choices.get(item.number), bodies)]
    except StoreError:
        _discard(desk, bodies.values())
        raise
    drafts += batch
    if not drafts:
        return
    try:
        entries, was_there = appended(desk.keeping, drafts, once=once, after=after)
    except (QuotaExceeded, NotFound, Overtaken):
        _discard(desk, bodies.values())
        raise
    added = [entry for entry in entries if entry.kind == "decision" or entry.header.trace_id in bodies]
    names = {entry.header.trace_id for entry in added}
    _discard(desk, (body for trace_id, body in bodies.items() if trace_id not in names))
    desk.observe(added)
    if was_there:
        desk.ledger.foresee(entries, drafts)


def decision_draft(item: Item, choice: Choice, at: int, version: str) -> Draft:
    """The entry that records a choice."""
    assert item.name is not None
    text, cut = shown(item, choice), encode_cut(choice.cut)
    decision = Decision(
        at=at,
        trace_id=item.name.trace_id,
        rule=choice.rule,
        strategy=choice.strategy,
        version=version,
        shown_digest=measure(encode(text)[0]).digest.hex(),
        shown_chars=len(text),
    )
    return Draft(decision, Body(measure(cut), inline=cut))


def _discard(desk: Desk, bodies: Iterable[Body]) -> None:
    for body in bodies:
        desk.keeping.store.discard(body)


def _drafts(desk: Desk, item: Item, choice: Choice | None, bodies: dict[str, Body]) -> Iterator[Draft]:
    keeping = desk.keeping
    result = _result(keeping, item)
    taken = keeping.store.store_body(Feed(item.text), desk.room())
    taken.reader.close()
    bodies[result.trace_id] = taken.body
    yield Draft(result, taken.body)
    if choice is not None:
        yield decision_draft(item, choice, result.at, keeping.version)


def _result(keeping: Keeping, item: Item) -> Result:
    assert item.name is not None
    data = encode(item.text)[0]
    return Result(
        at=keeping.now(),
        trace_id=item.name.trace_id,
        artifact_id=item.name.artifact_id,
        tool=item.call.tool if item.call else "tool",
        arguments=item.call.arguments if item.call else None,
        call_id=item.returned.call_id,
        is_error=item.is_error,
        turn=item.turn,
        flags=(MARKER, LEGACY) if truncation_mark(data[:_WINDOW], data[-_WINDOW:]) else (),
    )
