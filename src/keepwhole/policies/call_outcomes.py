"""The calls in the steps that a summary replaces: each with its outcome in one line and the way to read it back.

Owns: the list of calls and messages, their outcome in one line, which errors are unresolved.
Must not know: budgets, sections, models.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from keepwhole.canonical.message import Call
from keepwhole.canonical.utf8 import showable
from keepwhole.policies.failures import error_line, is_error_text
from keepwhole.policies.transcript import Item, Name, Namer, Transcript
from keepwhole.truncation.cut import TextSource, render, whole
from keepwhole.truncation.edges import head_edge
from keepwhole.truncation.notice import neutralized

_SHORT = 400


class ResultPointer(NamedTuple):
    """The ids by which a result can be read back."""

    call_id: str
    name: Name

    @property
    def words(self) -> str:
        """The ids, and the call that fetches the result."""
        return f"{self.call_id or 'no call id'} · {self.name.trace_id} · {self.name.way.whole()}"


class CallOutcome(NamedTuple):
    """One call with its results, or a message of the model."""

    step: int
    call: Call | None
    said: str = ""
    items: tuple[Item, ...] = ()
    pointers: tuple[ResultPointer, ...] = ()
    is_error: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the call never got a result."""
        return self.call is not None and not self.items


def outcomes_before(transcript: Transcript, upto: int, kept: Collection[int], namer: Namer) -> list[CallOutcome]:
    """Return the calls and the model's messages before `upto`, in order, without the messages that are `kept`."""
    found: list[CallOutcome] = []
    made: dict[str, int] = {}
    by_message = _items_by_message(transcript, upto)
    step = 0
    for index, message in enumerate(transcript.messages[:upto]):
        step += message.role == "assistant" and bool(message.calls)
        if index in kept:
            continue
        if message.role == "assistant" and message.said.strip():
            found.append(CallOutcome(step, None, message.said))
        for call in message.calls:
            made[call.call_id] = len(found)
            found.append(CallOutcome(step, call))
        for item in by_message.get(index, ()):
            place = made.setdefault(item.returned.call_id, len(found))
            if place == len(found):
                found.append(CallOutcome(step, item.call))
            found[place] = _with_result(found[place], item, namer(item))
    return found


def _items_by_message(transcript: Transcript, upto: int) -> dict[int, list[Item]]:
    found: dict[int, list[Item]] = {}
    for item in transcript.items:
        if item.index >= upto:
            break
        found.setdefault(item.index, []).append(item)
    return found


def _with_result(outcome: CallOutcome, item: Item, name: Name) -> CallOutcome:
    return outcome._replace(
        items=(*outcome.items, item),
        pointers=(*outcome.pointers, ResultPointer(item.returned.call_id, name)),
        is_error=outcome.is_error or has_failed(item),
    )


def has_failed(item: Item) -> bool:
    """Return whether a result reports a failure of its call.

    A file or a list of matches may quote any number of errors; of these only a short text counts by its shape.
    """
    if item.is_error:
        return True
    is_own_output = item.kind in ("shell", "other") or len(item.text) <= _SHORT
    return is_own_output and is_error_text(item.text)


def unresolved_errors(outcomes: Iterable[CallOutcome], transcript: Transcript) -> list[CallOutcome]:
    """Return the calls that failed and were not repeated with success, here or in the steps that stay."""
    succeeded: dict[tuple[str, str], int] = {}
    for item in transcript.items:
        if item.call is not None and not has_failed(item):
            succeeded[item.call.tool, item.call.arguments] = item.number
    return [
        outcome
        for outcome in outcomes
        if outcome.is_error
        and (
            outcome.call is None
            or succeeded.get((outcome.call.tool, outcome.call.arguments), -1) < outcome.items[-1].number
        )
    ]


def outcome_line(outcome: CallOutcome, limit: int) -> str:
    """Return the outcome of a call in one line: the error, or the size and the first line of the result."""
    if outcome.is_open:
        return "no result on record"
    text = "\n".join(item.text for item in outcome.items)
    if not text.strip():
        return "an error without words" if outcome.is_error else "nothing was printed"
    if outcome.is_error:
        return f"failed: {one_line(error_line(text) or text, limit)}"
    lines = TextSource(text).lines
    size = f"{lines:,} line{'s' if lines != 1 else ''}, {len(text):,} chars"
    return f"{size}: {one_line(text.lstrip().splitlines()[0], limit)}"


def one_line(text: str, limit: int) -> str:
    """Return the beginning of a text as one printable line; text that imitates a notice is marked as quoted."""
    near = showable(text[: 4 * limit])
    line = " ".join("".join(char if char.isprintable() else " " for char in near).split())
    marked = render(neutralized(whole(len(line)), TextSource(line)), TextSource(line))
    if len(marked) <= limit and len(text) <= 4 * limit:
        return marked
    return marked[: head_edge(TextSource(marked), limit - 1)] + "…"
