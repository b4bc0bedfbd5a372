"""Steps of a conversation: a run of assistant messages, its calls, and their results, which belong together.

Owns: where a conversation may be split, and which messages must stay with one that stays.
Must not know: spellings (`wire` gives the ties of its messages), summaries, tokens.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepwhole.canonical.message import Message, Role


class Ties(NamedTuple):
    """What ties one message to others."""

    role: Role
    calls: tuple[str, ...] = ()
    """Ids of the calls it makes."""
    results: tuple[str, ...] = ()
    """Ids of the calls it answers."""


def ties_of(message: Message) -> Ties:
    """The ties of a decoded message."""
    results = tuple(returned.call_id for returned in message.returned)
    return Ties(message.role, tuple(call.call_id for call in message.calls), results)


def answers(ties: Sequence[Ties]) -> list[tuple[int, int]]:
    """Every result with its call, as places of messages: `(call, result)`."""
    made: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for place, tie in enumerate(ties):
        found += [(made[call_id], place) for call_id in tie.results if call_id in made]
        made.update(dict.fromkeys(tie.calls, place))
    return found


def split_points(ties: Sequence[Ties]) -> list[int]:
    """Where the messages may be split in two so that every step, and every result with its call, stays whole."""
    tied = [0] * (len(ties) + 1)
    for call, result in answers(ties):
        tied[call + 1] += 1
        tied[result + 1] -= 1
    points: list[int] = []
    spanning = 0
    for place in range(1, len(ties)):
        spanning += tied[place]
        if not spanning and _may_split(ties[place - 1], ties[place]):
            points.append(place)
    return points


def _may_split(before: Ties, after: Ties) -> bool:
    """Whether a split between two messages that no call spans leaves both sides whole.

    The model's messages in a row are one run, and what it says right after a user spoke is the answer to that.
    """
    if before.calls or after.role == "tool":
        return False
    return after.role in ("user", "system") or bool(before.results) or before.role == "tool"


def _speaks(tie: Ties) -> bool:
    """Whether a message is the model's: reasoning and calls of one run must stay together."""
    return tie.role in ("assistant", "other")


def whole_steps(ties: Sequence[Ties], wanted: Iterable[int]) -> set[int]:
    """The wanted messages with those that must stay with them: whole runs, their calls and their results."""
    partners: dict[int, list[int]] = {}
    for call, result in answers(ties):
        partners.setdefault(call, []).append(result)
        partners.setdefault(result, []).append(call)
    kept: set[int] = set()
    todo = list(wanted)
    while todo:
        place = todo.pop()
        if place not in kept:
            kept.add(place)
            todo += partners.get(place, ())
            todo += _run(ties, place)
    return kept


def _run(ties: Sequence[Ties], place: int) -> list[int]:
    """The model's messages next to this one, if it is the model's itself."""
    if not _speaks(ties[place]):
        return []
    near = (place - 1, place + 1)
    return [other for other in near if 0 <= other < len(ties) and _speaks(ties[other])]


def newest_step(ties: Sequence[Ties]) -> int:
    """Where the step begins that the model is still at work on; the number of messages where there is none.

    Once the model has spoken after the results, the step is done.
    """
    for place in range(len(ties) - 1, -1, -1):
        if ties[place].calls:
            while place and _speaks(ties[place - 1]):
                place -= 1
            return place
        if _speaks(ties[place]) and ties[place].role == "assistant":
            break
    return len(ties)
