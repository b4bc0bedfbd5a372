"""What was done in the steps that a summary stands for: each call, what came of it, how to read it back.

Owns: the list of deeds, their outcome in one line, which errors are still open.
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


class Pointer(NamedTuple):
    """By what a result can be read back."""

    call_id: str
    name: Name

    @property
    def words(self) -> str:
        """The ids and the call that fetches it."""
        return f"{self.call_id or 'no call id'} · {self.name.trace_id} · {self.name.way.whole()}"


class Deed(NamedTuple):
    """One call with what came back, or something the model said."""

    step: int
    call: Call | None
    said: str = ""
    items: tuple[Item, ...] = ()
    pointers: tuple[Pointer, ...] = ()
    is_error: bool = False

    @property
    def is_open(self) -> bool:
        """Whether no result ever came."""
        return self.call is not None and not self.items


def deeds_before(transcript: Transcript, upto: int, kept: Collection[int], namer: Namer) -> list[Deed]:
    """What was done in the messages before `upto` that do not stay, in order."""
    found: list[Deed] = []
    made: dict[str, int] = {}
    by_message = _items_by_message(transcript, upto)
    step = 0
    for index, message in enumerate(transcript.messages[:upto]):
        step += message.role == "assistant" and bool(message.calls)
        if index in kept:
            continue
        if message.role == "assistant" and message.said.strip():
            found.append(Deed(step, None, message.said))
        for call in message.calls:
            made[call.call_id] = len(found)
            found.append(Deed(step, call))
        for item in by_message.get(index, ()):
            place = made.setdefault(item.returned.call_id, len(found))
            if place == len(found):
                found.append(Deed(step, item.call))
            found[place] = _with_result(found[place], item, namer(item))
    return found


def _items_by_message(transcript: Transcript, upto: int) -> dict[int, list[Item]]:
    found: dict[int, list[Item]] = {}
    for item in transcript.items:
        if item.index >= upto:
            break
        found.setdefault(item.index, []).append(item)
    return found


def _with_result(deed: Deed, item: Item, name: Name) -> Deed:
    return deed._replace(
        items=(*deed.items, item),
        pointers=(*deed.pointers, Pointer(item.returned.call_id, name)),
        is_error=deed.is_error or failed(item),
    )


def failed(item: Item) -> bool:
    """Whether a result is an error: by its flag, or by the shape of its first or last lines.

    A file or a list of matches may be full of errors that nobody made; only a short one speaks for itself.
    """
    if item.is_error:
        return True
    speaks = item.kind in ("shell", "other") or len(item.text) <= _SHORT
    return speaks and is_error_text(item.text)


def still_open(deeds: Iterable[Deed], transcript: Transcript) -> list[Deed]:
    """The deeds that failed and whose same call never succeeded later, here or in the steps that stay."""
    succeeded: dict[tuple[str, str], int] = {}
    for item in transcript.items:
        if item.call is not None and not failed(item):
            succeeded[item.call.tool, item.call.arguments] = item.number
    return [
        deed
        for deed in deeds
        if deed.is_error
        and (deed.call is None or succeeded.get((deed.call.tool, deed.call.arguments), -1) < deed.items[-1].number)
    ]


def outcome(deed: Deed, limit: int) -> str:
    """What came of a deed, in one line."""
    if deed.is_open:
        return "no result on record"
    text = "\n".join(item.text for item in deed.items)
    if not text.strip():
        return "an error without words" if deed.is_error else "nothing was printed"
    if deed.is_error:
        return f"failed: {one_line(error_line(text) or text, limit)}"
    lines = TextSource(text).lines
    size = f"{lines:,} line{'s' if lines != 1 else ''}, {len(text):,} chars"
    return f"{size}: {one_line(text.lstrip().splitlines()[0], limit)}"


def one_line(text: str, limit: int) -> str:
    """The beginning of a text as one printable line; what imitates a notice of ours is marked as quoted."""
    near = showable(text[: 4 * limit])
    line = " ".join("".join(char if char.isprintable() else " " for char in near).split())
    marked = render(neutralized(whole(len(line)), TextSource(line)), TextSource(line))
    if len(marked) <= limit and len(text) <= 4 * limit:
        return marked
    return marked[: head_edge(TextSource(marked), limit - 1)] + "…"
