"""Messages as a log has them, put in the order that a request has.

Owns: one message a response of the model, each result right after its call, nothing that is empty, a time for each.
Must not know: any client's format.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from keepwhole.canonical.message import Message
from keepwhole.logs.run import Run

TASK_CHARS = 200
"""Of a prompt, to know a task by."""


class Timed(NamedTuple):
    """A message, and when it came in seconds."""

    message: Message
    at: float | None = None


def run_from(source: str, id: str, found: Iterable[Timed], meta: Mapping[str, Any]) -> Run | None:
    """The run of these messages; None where nothing was said. What is unknown is left out of `meta`."""
    timed = answered([one for one in found if _says_something(one.message)])
    if not timed:
        return None
    known = {key: value for key, value in meta.items() if value}
    if task := known.get("task_id") or first_prompt(one.message for one in timed):
        known["task_id"] = task
    return Run(source, id, tuple(one.message for one in timed), known, _times(timed))


def joined(found: Iterable[Timed]) -> list[Timed]:
    """The same with all that the model wrote at a stretch as one message: one response, however many items it had."""
    joined: list[Timed] = []
    for one in found:
        if one.message.role == "assistant" and joined and joined[-1].message.role == "assistant":
            before = joined.pop()
            one = Timed(merged(before.message, one.message), before.at)
        joined.append(one)
    return joined


def merged(before: Message, after: Message) -> Message:
    """Two pieces of one message."""
    said = "\n".join(filter(None, (before.said, after.said)))
    returned = before.returned + after.returned
    return Message(before.role, said, before.calls + after.calls, returned, before.other + after.other)


def answered(found: Sequence[Timed]) -> list[Timed]:
    """The same with each result right after the message that made its call; one whose call is lost stays in place."""
    caller: dict[str, int] = {}
    places: list[tuple[int, int]] = []
    for at, (message, _) in enumerate(found):
        callers = [caller[one.call_id] for one in message.returned if one.call_id in caller]
        places.append((max(callers, default=at), at))
        caller.update((call.call_id, at) for call in message.calls)
    return [found[at] for _, at in sorted(places)]


def first_prompt(messages: Iterable[Message]) -> str:
    """What the run was about: the beginning of what a user said first."""
    said = next((message.said for message in messages if message.role == "user" and message.said), "")
    return said.strip()[:TASK_CHARS]


def seconds(stamp: object) -> float | None:
    """A time of day in any spelling, in seconds."""
    if isinstance(stamp, int | float):
        return stamp / 1_000 if stamp > 1e11 else float(stamp)
    try:
        moment = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
    except ValueError:
        return None
    return moment and (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _says_something(message: Message) -> bool:
    return bool(message.said or message.calls or message.returned or message.other)


def _times(timed: Sequence[Timed]) -> tuple[float, ...]:
    """One a message; where one is missing, that of the message before. Empty where all are."""
    last = next((one.at for one in timed if one.at is not None), None)
    times: list[float] = []
    for one in timed:
        last = one.at if one.at is not None else last
        if last is not None:
            times.append(last)
    return tuple(times)
