"""What a request did not show that its step used, for people to look at.

Owns: where it had been shown, the rule that hid it, and the one call that brings it back.
"""

import re
from typing import NamedTuple

from keepwhole.policies.policy import Choices
from keepwhole.policies.transcript import Item
from keepwhole.recall.ranges import CharRange, LineRange, range_of
from keepwhole.replay.atoms import CONTEXT, in_context, places
from keepwhole.replay.evidence import Evidence
from keepwhole.replay.fetch import lines_around
from keepwhole.replay.result_use import Seen
from keepwhole.replay.word_sources import UNKNOWN

_LONG = 4_000
"""Characters of lines beyond which a call asks for characters."""
_ARGUMENT = re.compile(r'(\w+)=(?:"([^"]*)"|(\d+))')


class Missed(NamedTuple):
    """One piece of evidence that was not shown in context."""

    step: int
    text: str
    kind: str
    tool: str
    """That had shown it last."""
    shown_at: int
    """The step after whose call it was shown."""
    rule: str
    """Of the policy, that hid it."""
    age: int
    """Steps since it was last shown."""
    call: str
    """What brings it back, as it is printed."""
    brought_back: bool
    """Whether that call really does."""


def missed(one: Evidence, item: Item, result: Seen, decided: Choices) -> Missed:
    """The details of one piece of evidence; `item` is the last result that had shown it."""
    choice = decided.get(item.number)
    call = call_for(item, one.text)
    return Missed(
        step=one.step,
        text=one.text,
        kind=one.kind,
        tool=result.tool,
        shown_at=result.step,
        rule=choice.rule if choice else UNKNOWN,
        age=one.age,
        call=call,
        brought_back=brings_back(call, one.text, item.text),
    )


def call_for(item: Item, needle: str) -> str:
    """The call that reads back the lines round a string; characters where lines are very long."""
    text, name = item.text, item.name.artifact_id if item.name else ""
    at = max(next(places(needle, text), 0), 0)
    start, stop = lines_around(text, at, at + len(needle))
    if stop - start > _LONG:
        start = max(0, at - 4 * CONTEXT)
        return f'get_artifact(id="{name}", start_char={start}, length={len(needle) + 8 * CONTEXT})'
    first = text.count("\n", 0, start) + 1
    last = max(first, first + text.count("\n", start, stop) - (text[stop - 1 : stop] == "\n"))
    return f'get_artifact(id="{name}", lines="{first}-{last}")'


def brings_back(call: str, needle: str, text: str) -> bool:
    """Whether a printed call, answered from `text`, shows a string in context."""
    answer = answer_to(call, text)
    return any(near in answer for near in in_context(needle, text))


def answer_to(call: str, text: str) -> str:
    """The part of `text` that a printed call asks for."""
    arguments = {name: words or int(number) for name, words, number in _ARGUMENT.findall(call)}
    asked = range_of(arguments)
    if isinstance(asked, LineRange):
        return "\n".join(text.split("\n")[asked.first - 1 : asked.last])
    if isinstance(asked, CharRange):
        return text[asked.start : None if asked.length is None else asked.start + asked.length]
    return text
