"""A summary without a model: the task, what is still wrong, what was touched, what each step did, and the way back.

Owns: the sections, their words, and how they fit a budget: the oldest steps are folded first.
Must not know: who asked for it, models.

The body is the same account with nothing folded. It is recorded with the summary, so that every id of a folded step
can still be found.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from keepwhole.canonical.utf8 import showable
from keepwhole.models.tokens import estimate
from keepwhole.policies.call_outcomes import Deed, Pointer, deeds_before, one_line, outcome, still_open
from keepwhole.policies.mentions import mentions
from keepwhole.policies.transcript import Name, Namer, Transcript
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.edges import head_edge, tail_edge
from keepwhole.truncation.notice import omitted
from keepwhole.truncation.recall_link import RecallLink

MIN_TOKENS = 512
"""Below this not even the headings would fit."""
_CHARS = 4
_TRIES = 8
"""Ids take more tokens than words do, so a text of ids is written again, shorter."""
_TASK, _SAID, _ERRORS, _TOUCHED = 0.2, 0.1, 0.15, 0.1
"""Shares of the budget; what they do not use goes to the steps."""
_FULL = 0.75
"""Of the room for steps; the rest is for steps told in short, further back."""
_ARGUMENTS, _OUTCOME, _SHORT = 160, 120, 60
_PARTS = 3
"""Pointers of one call that the text names; a result of many parts has many."""
_NOTE = 340
"""Room for the line about folded steps."""
_REMINDER = 400
"""Of a task that stays in the conversation as the user wrote it."""
_MORE = 24
"""Room for `and 1,234 more`."""
_ANY = 1 << 40


Quote: TypeAlias = tuple[str, bool]
"""What a user said, and whether it stays in the conversation."""


class Account(NamedTuple):
    """What a summary is made of."""

    text: str
    """Within its budget."""
    body: str
    """With nothing folded."""
    pointers: tuple[Pointer, ...]
    """The results that the text names."""
    paths: tuple[str, ...]
    """The files that the text names."""


def account(
    transcript: Transcript, upto: int, kept: Collection[int], namer: Namer, max_tokens: int, own: Name | None = None
) -> Account:
    """The account of the messages before `upto` that do not stay; `own` is the name the summary is recorded by."""
    deeds = deeds_before(transcript, upto, kept, namer)
    touched = mentions([item for deed in deeds for item in deed.items], _our_ids(deeds))
    task, later = _asked(transcript, upto, kept)
    failures = [_failure(deed) for deed in still_open(deeds, transcript)]
    budget, text, pointers = max_tokens * _CHARS, "", ()
    for _ in range(_TRIES):
        sections = [_opening(deeds), *_about(task, later, failures, touched, budget)]
        room = budget - sum(len(section) + 2 for section in sections) - len("## Steps\n")
        told, pointers = _told(deeds, room, own)
        text = "\n\n".join([*sections, *_section("Steps", told)])
        tokens = estimate(text)
        if tokens <= max_tokens:
            break
        budget = min(budget, len(text)) * max_tokens * 9 // (tokens * 10)
    body = [_opening(deeds), *_about(task, later, failures, touched, None), *_section("Steps", map(_in_full, deeds))]
    return Account(text, "\n\n".join(body), pointers, tuple(path for path in touched[0] if path in text))


def _opening(deeds: Sequence[Deed]) -> str:
    calls = sum(deed.call is not None for deed in deeds)
    steps = len({deed.step for deed in deeds if deed.call is not None})
    counted = f"{calls:,} call{'s' if calls != 1 else ''} in {steps:,} step{'s' if steps != 1 else ''}"
    return f"{counted}, told from the record. Every result is kept whole; the call behind it reads it back."


def _asked(transcript: Transcript, upto: int, kept: Collection[int]) -> tuple[Quote, list[str]]:
    """The task, and what the user said later that does not stay."""
    said = [
        (message.said, index in kept)
        for index, message in enumerate(transcript.messages[:upto])
        if message.role == "user" and message.said.strip()
    ]
    return (said[0] if said else ("", False)), [words for words, stays in said[1:] if not stays]


def _about(
    task: Quote,
    later: Sequence[str],
    failures: Sequence[str],
    touched: tuple[list[str], list[str]],
    budget: int | None,
) -> list[str]:
    """The sections before the steps, each within its share; without a budget all of them in full."""
    room = _rooms(budget)
    paths, names = touched
    return [
        *_section("Task, in the user's words", _task(task, room[0])),
        *_section("What the user said later", _newest([_quoted(said, room[1] // 3) for said in later], room[1])),
        *_section("Errors not yet resolved", _newest(failures, room[2])),
        *_section("Files", _first(paths, room[3])),
        *_section("Identifiers", _first(names, room[3] // 2)),
    ]


def _rooms(budget: int | None) -> tuple[int, int, int, int]:
    if budget is None:
        return _ANY, _ANY, _ANY, _ANY
    return int(_TASK * budget), int(_SAID * budget), int(_ERRORS * budget), int(_TOUCHED * budget)


def _section(title: str, lines: Iterable[str]) -> list[str]:
    """A section, or nothing where it has no lines."""
    written = "\n".join(lines)
    return [f"## {title}\n{written}"] if written else []


def _task(task: Quote, room: int) -> list[str]:
    """The task quoted; briefly where it stays in the conversation anyway."""
    said, stays = task
    return [_quoted(said, min(room, _REMINDER) if stays and room < _ANY else room)] if said else []


def _quoted(said: str, room: int) -> str:
    """A user's words as a quotation; of long ones the beginning and the end, with what is left out counted."""
    text = showable(said.strip())
    if len(text) > room - 2 * (text.count("\n") + 1):
        source = TextSource(text)
        head = head_edge(source, int(0.45 * room))
        tail = tail_edge(source, max(head, source.chars - int(0.25 * room)))
        text = text[:head] + omitted(source.ends_before(tail) - source.ends_before(head), tail - head) + text[tail:]
        text = "\n".join(line.strip() for line in text.splitlines() if line.strip())
    quoted = "\n".join(f"> {line}" for line in text.split("\n"))
    return quoted if len(quoted) <= room else f"> {one_line(text, max(room - 2, 1))}"


def _newest(lines: Sequence[str], room: int) -> list[str]:
    """The newest lines that fit; how many older ones there are comes first."""
    chosen: list[str] = []
    left = room - _MORE
    for line in reversed(lines):
        left -= len(line) + 1
        if left < 0:
            break
        chosen.append(line)
    older = len(lines) - len(chosen)
    return [*([f"- {older:,} earlier"] if older else []), *reversed(chosen)]


def _first(names: Sequence[str], room: int) -> list[str]:
    """The first names that fit, on one line."""
    chosen: list[str] = []
    left = room - _MORE
    for name in names:
        left -= len(name) + 2
        if left < 0:
            break
        chosen.append(one_line(name, len(name) + 1))
    more = len(names) - len(chosen)
    return [", ".join([*chosen, *([f"and {more:,} more"] if more else [])])] if names else []


def _told(deeds: Sequence[Deed], room: int, own: Name | None) -> tuple[list[str], tuple[Pointer, ...]]:
    """The steps that fit: the newest in full, older ones in short, the oldest folded into one line."""
    lines: list[str] = []
    left, told = room, len(deeds)
    spare = int((1 - _FULL) * room)
    for write, limit in ((_full, spare), (_short, 0)):
        while told and left - len(line := write(deeds[told - 1])) - 1 >= limit + (_NOTE if told > 1 else 0):
            lines.append(line)
            left -= len(line) + 1
            told -= 1
    folded = deeds[:told]
    note = [_folded(folded, own)] if any(deed.call or deed.items for deed in folded) else []
    shown = [pointer for deed in deeds[told:] for pointer in deed.pointers[:_PARTS]]
    return [*note, *(line for line in reversed(lines) if line)], tuple(shown)


def _folded(deeds: Sequence[Deed], own: Name | None) -> str:
    """How to find the steps that are not told."""
    pointers = [pointer for deed in deeds for pointer in deed.pointers]
    calls = sum(deed.call is not None for deed in deeds)
    listed = f"The list: {own.way.whole()}. " if own is not None else ""
    first = f"The first: {_call_of(pointers[0].name)}" if pointers else ""
    return f"- Steps up to {deeds[-1].step:,} ({calls:,} calls, {len(pointers):,} results) are folded. {listed}{first}"


def _call_of(name: Name) -> str:
    return name.way.whole() if name.reachable is not None else RecallLink(name.trace_id).whole()


def _full(deed: Deed) -> str:
    return _line(deed, _ARGUMENTS, _PARTS)


def _in_full(deed: Deed) -> str:
    return _line(deed, _ARGUMENTS, len(deed.pointers))


def _line(deed: Deed, limit: int, most: int) -> str:
    if deed.call is None and not deed.items:
        return f"- step {deed.step}, said: {one_line(deed.said, limit)}"
    return f"- step {deed.step}: {_what(deed, limit)} → {outcome(deed, _OUTCOME)}{_way_back(deed, most)}"


def _short(deed: Deed) -> str:
    if deed.call is None and not deed.items:
        return ""
    return f"- step {deed.step}: {_what(deed, _SHORT)}{_way_back(deed, 1)}"


def _failure(deed: Deed) -> str:
    return f"- step {deed.step}: {_what(deed, _SHORT)}: {outcome(deed, _OUTCOME)}"


def _what(deed: Deed, limit: int) -> str:
    if deed.call is None:
        return "a result whose call is not on record"
    arguments = deed.call.arguments
    tool = one_line(deed.call.tool, 80)
    return tool if arguments in ("", "{}", "null") else f"{tool} {one_line(arguments, limit)}"


def _way_back(deed: Deed, most: int) -> str:
    """The ids of a deed's results, `most` of them; ids come from outside and must not break the line."""
    if not deed.pointers:
        return f" [{' '.join(showable(deed.call.call_id).split())}]" if deed.call is not None else ""
    words = [" ".join(showable(pointer.words).split()) for pointer in deed.pointers[:most]]
    more = len(deed.pointers) - len(words)
    return f" [{'; '.join(words)}{f'; and {more:,} more parts' if more else ''}]"


def _our_ids(deeds: Sequence[Deed]) -> frozenset[str]:
    named = [pointer for deed in deeds for pointer in deed.pointers]
    calls = [deed.call.call_id for deed in deeds if deed.call is not None]
    return frozenset([*calls, *(part for pointer in named for part in (pointer.call_id, *pointer.name[:2]))])
