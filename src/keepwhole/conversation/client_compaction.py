"""What a conversation had cost when its client compacted it, carried over to the conversation that begins then.

Owns: the notes on record that say so, and which of them a conversation goes on from.
Must not know: how costs are counted (`costs`), when a client compacts.

Theory of operation. A client that compacts by itself goes on with other messages, so a new branch begins. What it has
paid and saved until then counts all the same, and a client with `mode: off` is not where this one is: it has compacted
sooner, since more was sent of it, and will do so again. So a note is recorded when the request to compact was answered,
by whichever process sent it, and the new branch begins its ledger with that, in whichever process:

    conversation A ──▶ note 1, names A ──▶ conversation B ──▶ note 2, names B ──▶ conversation C
                       carried to B                           carried to C

Invariant. A conversation goes on from the last note before the first that names it: nobody has to know its beginning.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple, cast

from keepwhole.canonical.entry import Result
from keepwhole.conversation.branch import Branch
from keepwhole.errors import StoreError
from keepwhole.models.ledger import CarriedCosts
from keepwhole.policies.policy import Situation
from keepwhole.record.fork_note import ForkNote

TOOL = "keepwhole_costs"
"""The tool name of a note."""


class _CostNote(NamedTuple):
    """A note on record."""

    branch: str
    """Which of the conversations that a session holds side by side was compacted."""
    first: str
    """The digest of its first message."""
    carried: CarriedCosts
    at: float
    """When it was recorded, in seconds."""


def begin_costs(branch: Branch, name: str, situation: Situation, whole: int) -> None:
    """Let a conversation go on from what the one cost that its client compacted, if there is one; of one that was
    forked, count what was sent since.

    `name` is which of the conversations side by side it is, `whole` what comes before its messages, in tokens.
    """
    if not branch.costs.is_new or not branch.transcript.messages:
        return
    fork = branch.context.journal.fork
    if fork is not None and _was_forked(branch, fork):
        branch.costs.begin_fork(fork.turns)
    notes = (known.result for known in branch.context.journal.of_tool(TOOL))
    note = _note_for(name, branch.summary.prefix(1), notes)
    if note is not None:
        branch.costs.go_on(note.carried, note.at, situation, whole)


def _was_forked(branch: Branch, fork: ForkNote) -> bool:
    """Whether the first result of a conversation came with the fork; a sub-agent that began later has none of these."""
    first = branch.known(0) if branch.transcript.items else None
    return first is not None and first.seq < fork.seq


def record_compaction(branch: Branch, name: str) -> None:
    """Record what a conversation had cost when its client compacted it, if the last view was for that.

    Where that cannot be stored, the next conversation begins without it.
    """
    carried, branch.costs.compacted = branch.costs.compacted, None
    if carried is None or branch.mode != "on":
        return
    about = {"v": 1, "branch": name, "first": branch.summary.prefix(1), **carried._asdict()}
    writer = branch.context.writer
    with suppress(StoreError):
        writer.append_notes([(writer.new_result(TOOL, about), "")])


def _note_for(name: str, first: str, newest_first: Iterable[Result]) -> _CostNote | None:
    """Return the note that a conversation with this first message goes on from; None where there is none."""
    found: _CostNote | None = None
    for result in newest_first:
        note = _read_note(result)
        if note is None or note.branch != name:
            continue
        if note.first == first:
            found = None
        elif found is None:
            found = note
    return found


def _read_note(result: Result) -> _CostNote | None:
    try:
        about = cast("dict[str, Any]", json.loads(result.arguments or ""))
        carried = CarriedCosts(**{name: about[name] for name in CarriedCosts._fields})
        return _CostNote(about["branch"], about["first"], carried, result.at / 1000)
    except (ValueError, KeyError, TypeError):
        return None
