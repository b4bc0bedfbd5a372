"""Evidence that a request did not show, with details for people.

Owns: where it had been shown, the rule that hid it, and the one call that brings it back.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from keepwhole.policies.atoms import CONTEXT, occurrences_in_context, positions
from keepwhole.policies.policy import Choices
from keepwhole.policies.transcript import Item
from keepwhole.recall.ranges import CharRange, LineRange, range_of
from keepwhole.replay.evidence import Evidence, ResultUse
from keepwhole.replay.run_texts import UNKNOWN

_LINES_AROUND = 3
"""Lines on either side of a string that an agent would read back."""
_LONG = 4_000
"""If the lines have more characters than this, the call asks for characters instead."""
_ARGUMENT = re.compile(r'\b(\w++)=(?:"([^"]*+)"|(\d++))')

_INVENTED = re.compile(r"art_0_\d+")
"""The ids under which a replay shows results: they exist nowhere."""


class MissedEvidence(NamedTuple):
    """One piece of evidence that was not shown in context."""

    step: int
    text: str
    kind: str
    tool: str
    """The tool of the result that showed it last."""
    shown_at: int
    """The step whose call gave that result."""
    rule: str
    """The rule of the policy that hid it."""
    age: int
    """Steps since it was last shown."""
    call: str
    """The call that brings it back; a replay stores nothing, so `ID` stands for the id that the result would have."""
    brought_back: bool
    """Whether that call does bring it back."""


def missed_evidence(one: Evidence, item: Item, result: ResultUse, decided: Choices) -> MissedEvidence:
    """Return the details of one piece of evidence; `item` is the last result that showed it."""
    choice = decided.get(item.number)
    call = call_for(item, one.text)
    return MissedEvidence(
        step=one.step,
        text=one.text,
        kind=one.kind,
        tool=result.tool,
        shown_at=result.step,
        rule=choice.rule if choice else UNKNOWN,
        age=one.age,
        call=_INVENTED.sub("ID", call),
        brought_back=brings_back(call, one.text, item.text),
    )


def call_for(item: Item, needle: str) -> str:
    """Return the call that reads back the lines around a string, or characters if the lines are very long."""
    text, name = item.text, item.name.artifact_id if item.name else ""
    at = max(next(positions(needle, text), 0), 0)
    start, stop = lines_around(text, at, at + len(needle))
    if stop - start > _LONG:
        start, stop = _span_around(text, at, at + len(needle))
        return f'get_artifact(id="{name}", start_char={start}, length={stop - start})'
    first = text.count("\n", 0, start) + 1
    last = max(first, first + text.count("\n", start, stop) - (text[stop - 1 : stop] == "\n"))
    return f'get_artifact(id="{name}", lines="{first}-{last}")'


def brings_back(call: str, needle: str, text: str) -> bool:
    """Return whether a printed call, answered from `text`, shows a string in context."""
    answer = answer_to(call, text)
    return any(near in answer for near in occurrences_in_context(needle, text))


def answer_to(call: str, text: str) -> str:
    """Return the part of `text` that a printed call asks for."""
    arguments = {name: words or int(number) for name, words, number in _ARGUMENT.findall(call)}
    asked = range_of(arguments)
    if isinstance(asked, LineRange):
        return "\n".join(text.split("\n")[asked.first - 1 : asked.last])
    if isinstance(asked, CharRange):
        return text[asked.start : None if asked.length is None else asked.start + asked.length]
    return text


def text_around(text: str, needles: Iterable[str]) -> str:
    """Return three lines before and after the first occurrence of each needle, each line once; of very long lines
    the characters around it.

    >>> text_around("a\\nb\\nc\\nd\\nname=7\\ne\\nf\\ng\\nh", ["name=7"])
    'b\\nc\\nd\\nname=7\\ne\\nf\\ng\\n'
    """
    found = ((at, at + len(needle)) for needle in needles if (at := next(positions(needle, text), -1)) >= 0)
    pieces: list[str] = []
    reached = 0
    for start, stop in sorted(_span_around(text, *span) for span in found):
        if stop > reached:
            pieces.append(text[max(start, reached) : stop])
            reached = stop
    return "".join(pieces)


def _span_around(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return what an agent reads back around a stretch: lines, or characters where the lines are very long."""
    lines = lines_around(text, start, stop)
    if lines[1] - lines[0] <= _LONG:
        return lines
    return max(0, start - 4 * CONTEXT), min(len(text), stop + 4 * CONTEXT)


def lines_around(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return the span of the lines of a stretch and of three lines on either side."""
    for _ in range(_LINES_AROUND + 1):
        start = max(text.rfind("\n", 0, start), 0)
        stop = text.find("\n", stop) + 1 or len(text)
    return start + (text[start] == "\n"), stop
