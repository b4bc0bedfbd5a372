"""Messages in the order of a log, put into the order of a request.

Owns: one message per response of the model, each result right after its call, no empty messages, a time per message.
Must not know: any client's format.

Theory of operation
-------------------
Clients write a line when something happens, so the order of a log is the order of events, not the order that a
provider accepts. Two calls in one response, of which the second ends first and the user speaks in between:

    log                                    request
    0  assistant  "Let me look."           assistant  "Let me look." call A, call B      (0 + 1 + 2: merge_responses)
    1  assistant  call A                   tool       result of B                        (4, moved)
    2  assistant  call B                   tool       result of A                        (5, moved)
    3  user       "Also check C."          user       "Also check C."                    (3)
    4  tool       result of B
    5  tool       result of A

`merge_responses` merges consecutive messages of the assistant, for formats that write one item of a response per line.
`results_after_calls` moves each message with results to the message that made the call: it sorts by (index of the
caller, own index). `build_run` drops empty messages and does the second step; the formats call the first one if they
need it.

Invariants:
- No text is changed or lost; only messages without any content are dropped.
- The sort is stable: messages that answer nothing, and results whose call is not in the log, keep their place.
- A result never moves in front of its call, since only calls that were seen before it count.
- There are as many times as messages, or none. A message without a time has that of the message before it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from keepwhole.canonical.message import Message
from keepwhole.logs.run import Run

TASK_CHARS = 200
"""Characters of the first prompt that name a task."""


class Timed(NamedTuple):
    """A message and its time in seconds."""

    message: Message
    at: float | None = None


def build_run(source: str, id: str, found: Iterable[Timed], meta: Mapping[str, Any]) -> Run | None:
    """Return the run of these messages; None if all are empty. Fields of `meta` without a value are left out."""
    timed = results_after_calls([one for one in found if _has_content(one.message)])
    if not timed:
        return None
    known = {key: value for key, value in meta.items() if value}
    if task := known.get("task_id") or first_prompt(one.message for one in timed):
        known["task_id"] = task
    return Run(source, id, tuple(one.message for one in timed), known, _times(timed))


def merge_responses(found: Iterable[Timed]) -> list[Timed]:
    """Return the messages with consecutive messages of the assistant merged into one."""
    merged: list[Timed] = []
    for one in found:
        if one.message.role == "assistant" and merged and merged[-1].message.role == "assistant":
            before = merged.pop()
            one = Timed(merge_messages(before.message, one.message), before.at)
        merged.append(one)
    return merged


def merge_messages(before: Message, after: Message) -> Message:
    """Return one message made of two pieces."""
    said = "\n".join(filter(None, (before.said, after.said)))
    returned = before.returned + after.returned
    return Message(before.role, said, before.calls + after.calls, returned, before.other + after.other)


def results_after_calls(found: Sequence[Timed]) -> list[Timed]:
    """Return the messages with each result right after the message that made its call."""
    caller: dict[str, int] = {}
    order: list[tuple[int, int]] = []
    for at, (message, _) in enumerate(found):
        callers = [caller[one.call_id] for one in message.returned if one.call_id in caller]
        order.append((max(callers, default=at), at))
        caller.update((call.call_id, at) for call in message.calls)
    return [found[at] for _, at in sorted(order)]


def first_prompt(messages: Iterable[Message]) -> str:
    """Return the beginning of the user's first message, which names the task."""
    said = next((message.said for message in messages if message.role == "user" and message.said), "")
    return said.strip()[:TASK_CHARS]


def epoch_seconds(stamp: object) -> float | None:
    """Return a timestamp in seconds; it may be an ISO text, seconds or milliseconds. None for anything else."""
    if isinstance(stamp, int | float):
        return stamp / 1_000 if stamp > 1e11 else float(stamp)
    try:
        moment = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
    except ValueError:
        return None
    return moment and (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _has_content(message: Message) -> bool:
    return bool(message.said or message.calls or message.returned or message.other)


def _times(timed: Sequence[Timed]) -> tuple[float, ...]:
    """Return a time per message, the one before where a time is missing; empty if all are missing."""
    last = next((one.at for one in timed if one.at is not None), None)
    times: list[float] = []
    for one in timed:
        last = one.at if one.at is not None else last
        if last is not None:
            times.append(last)
    return tuple(times)
