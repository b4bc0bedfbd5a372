"""The text of a summary without a model: task, unresolved errors, files, and each step with the way to read it back.

Owns: the sections, their words, and how they fit a budget: the oldest steps are folded first.
Must not know: who asked for it, models.

The body is the same text with nothing folded. It is recorded with the summary, so that every id of a folded step can
still be found.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from keepwhole.canonical.utf8 import showable
from keepwhole.models.tokens import estimate
from keepwhole.policies.call_outcomes import (
    CallOutcome,
    ResultPointer,
    one_line,
    outcome_line,
    outcomes_before,
    unresolved_errors,
)
from keepwhole.policies.transcript import Item, Name, Namer, Transcript
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.edges import head_edge, tail_edge
from keepwhole.truncation.notice import omitted
from keepwhole.truncation.recall_link import RecallLink

MIN_TOKENS = 512
"""Below this not even the headings would fit."""
_CHARS = 4
_TRIES = 8
"""Ids take more tokens than words do, so a text of ids is drafted again, shorter."""
_TASK, _SAID, _ERRORS, _TOUCHED = 0.2, 0.1, 0.15, 0.1
"""Shares of the budget; what they do not use goes to the steps."""
_FULL = 0.75
"""Share of the room for steps that full lines get; the rest is for older steps, in short lines."""
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
_PATH = re.compile(
    r"(?<![\w/.:@+-])(?:~|\.{1,2})?(?:/?[\w.@+-]+)?(?:/[\w.@+-]+)+"
    r"|(?<![\w-])[\w-]{1,80}\.(?:py|pyi|js|jsx|ts|tsx|go|rs|c|h|cc|cpp|java|kt|rb|php|sh|sql|md|txt|rst|json|yaml|yml|toml|ini|cfg|"
    r"csv|xml|html|css|lock|log|ipynb|proto)\b"
)
_IDENTIFIER = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|\b[A-Z]{2,10}-\d{1,8}\b"
    r"|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"
    r"|\b[A-Za-z]{2,12}_(?=[A-Za-z]*\d)[A-Za-z0-9]{6,40}\b"
)
_HEAD, _TAIL = 3_000, 1_000
"""Characters of each result in which names are looked for: what it is about is at its ends."""
_LONGEST_NAME = 120
_CHOSEN = 4
"""A name in the arguments counts as much as in this many results: the model chose it."""


Quote: TypeAlias = tuple[str, bool]
"""A message of the user, and whether it stays in the conversation."""


class SummaryDraft(NamedTuple):
    """The text of a summary, and the results and files that it names."""

    text: str
    """Within its budget."""
    body: str
    """With nothing folded."""
    pointers: tuple[ResultPointer, ...]
    """The results that the text names."""
    paths: tuple[str, ...]
    """The files that the text names."""


def draft_summary(
    transcript: Transcript, upto: int, kept: Collection[int], namer: Namer, max_tokens: int, own: Name | None = None
) -> SummaryDraft:
    """Return the summary of the messages before `upto` that are not `kept`; `own` is the name it is recorded by."""
    outcomes = outcomes_before(transcript, upto, kept, namer)
    touched = find_mentions([item for outcome in outcomes for item in outcome.items], _ids_of(outcomes))
    task, later = _user_messages(transcript, upto, kept)
    failures = [_failure(outcome) for outcome in unresolved_errors(outcomes, transcript)]
    budget, text, pointers = max_tokens * _CHARS, "", ()
    for _ in range(_TRIES):
        sections = [_intro(outcomes), *_about(task, later, failures, touched, budget)]
        room = budget - sum(len(section) + 2 for section in sections) - len("## Steps\n")
        lines, pointers = _fit_steps(outcomes, room, own)
        text = "\n\n".join([*sections, *_section("Steps", lines)])
        tokens = estimate(text)
        if tokens <= max_tokens:
            break
        budget = min(budget, len(text)) * max_tokens * 9 // (tokens * 10)
    body = [
        _intro(outcomes),
        *_about(task, later, failures, touched, None),
        *_section("Steps", map(_full_line, outcomes)),
    ]
    return SummaryDraft(text, "\n\n".join(body), pointers, tuple(path for path in touched[0] if path in text))


def _intro(outcomes: Sequence[CallOutcome]) -> str:
    calls = sum(outcome.call is not None for outcome in outcomes)
    steps = len({outcome.step for outcome in outcomes if outcome.call is not None})
    counted = f"{calls:,} call{'s' if calls != 1 else ''} in {steps:,} step{'s' if steps != 1 else ''}"
    return f"{counted}, told from the record. Every result is kept whole; the call behind it reads it back."


def _user_messages(transcript: Transcript, upto: int, kept: Collection[int]) -> tuple[Quote, list[str]]:
    """Return the task, and the later messages of the user that do not stay."""
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
    """Return the sections before the steps, each within its share; without a budget all of them in full."""
    room = _rooms(budget)
    paths, names = touched
    return [
        *_section("Task, in the user's words", _task(task, room[0])),
        *_section("What the user said later", _newest([_quote(said, room[1] // 3) for said in later], room[1])),
        *_section("Errors not yet resolved", _newest(failures, room[2])),
        *_section("Files", _first(paths, room[3])),
        *_section("Identifiers", _first(names, room[3] // 2)),
    ]


def _rooms(budget: int | None) -> tuple[int, int, int, int]:
    if budget is None:
        return _ANY, _ANY, _ANY, _ANY
    return int(_TASK * budget), int(_SAID * budget), int(_ERRORS * budget), int(_TOUCHED * budget)


def _section(title: str, lines: Iterable[str]) -> list[str]:
    """Return a section, or nothing where it has no lines."""
    written = "\n".join(lines)
    return [f"## {title}\n{written}"] if written else []


def _task(task: Quote, room: int) -> list[str]:
    """Return the task as a quotation; a short one where the task stays in the conversation."""
    said, stays = task
    return [_quote(said, min(room, _REMINDER) if stays and room < _ANY else room)] if said else []


def _quote(said: str, room: int) -> str:
    """Return a user's message as a quotation; of a long one both ends, with a count of what is left out."""
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
    """Return the newest lines that fit, after a line that counts the older ones."""
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
    """Return the first names that fit, on one line."""
    chosen: list[str] = []
    left = room - _MORE
    for name in names:
        left -= len(name) + 2
        if left < 0:
            break
        chosen.append(one_line(name, len(name) + 1))
    more = len(names) - len(chosen)
    return [", ".join([*chosen, *([f"and {more:,} more"] if more else [])])] if names else []


def _fit_steps(
    outcomes: Sequence[CallOutcome], room: int, own: Name | None
) -> tuple[list[str], tuple[ResultPointer, ...]]:
    """Return the steps that fit: the newest in full, older ones in short, the oldest folded into one line."""
    lines: list[str] = []
    left, told = room, len(outcomes)
    spare = int((1 - _FULL) * room)
    for write, limit in ((_usual_line, spare), (_short_line, 0)):
        while told and left - len(line := write(outcomes[told - 1])) - 1 >= limit + (_NOTE if told > 1 else 0):
            lines.append(line)
            left -= len(line) + 1
            told -= 1
    folded = outcomes[:told]
    note = [_fold_line(folded, own)] if any(outcome.call or outcome.items for outcome in folded) else []
    shown = [pointer for outcome in outcomes[told:] for pointer in outcome.pointers[:_PARTS]]
    return [*note, *(line for line in reversed(lines) if line)], tuple(shown)


def _fold_line(outcomes: Sequence[CallOutcome], own: Name | None) -> str:
    """Return the line that says how to find the steps that are left out."""
    pointers = [pointer for outcome in outcomes for pointer in outcome.pointers]
    calls = sum(outcome.call is not None for outcome in outcomes)
    listed = f"The list: {own.way.whole()}. " if own is not None else ""
    first = f"The first: {_call_of(pointers[0].name)}" if pointers else ""
    return (
        f"- Steps up to {outcomes[-1].step:,} ({calls:,} calls, {len(pointers):,} results) are folded. {listed}{first}"
    )


def _call_of(name: Name) -> str:
    return name.way.whole() if name.reachable is not None else RecallLink(name.trace_id).whole()


def _usual_line(outcome: CallOutcome) -> str:
    return _line(outcome, _ARGUMENTS, _PARTS)


def _full_line(outcome: CallOutcome) -> str:
    return _line(outcome, _ARGUMENTS, len(outcome.pointers))


def _line(outcome: CallOutcome, limit: int, most: int) -> str:
    if outcome.call is None and not outcome.items:
        return f"- step {outcome.step}, said: {one_line(outcome.said, limit)}"
    ended = f"{outcome_line(outcome, _OUTCOME)}{_way_back(outcome, most)}"
    return f"- step {outcome.step}: {_call_text(outcome, limit)} → {ended}"


def _short_line(outcome: CallOutcome) -> str:
    if outcome.call is None and not outcome.items:
        return ""
    return f"- step {outcome.step}: {_call_text(outcome, _SHORT)}{_way_back(outcome, 1)}"


def _failure(outcome: CallOutcome) -> str:
    return f"- step {outcome.step}: {_call_text(outcome, _SHORT)}: {outcome_line(outcome, _OUTCOME)}"


def _call_text(outcome: CallOutcome, limit: int) -> str:
    if outcome.call is None:
        return "a result whose call is not on record"
    arguments = outcome.call.arguments
    tool = one_line(outcome.call.tool, 80)
    return tool if arguments in ("", "{}", "null") else f"{tool} {one_line(arguments, limit)}"


def _way_back(outcome: CallOutcome, most: int) -> str:
    """Return at most `most` ids of an outcome's results; ids come from outside and must not break the line."""
    if not outcome.pointers:
        return f" [{' '.join(showable(outcome.call.call_id).split())}]" if outcome.call is not None else ""
    words = [" ".join(showable(pointer.words).split()) for pointer in outcome.pointers[:most]]
    more = len(outcome.pointers) - len(words)
    return f" [{'; '.join(words)}{f'; and {more:,} more parts' if more else ''}]"


def _ids_of(outcomes: Sequence[CallOutcome]) -> frozenset[str]:
    named = [pointer for outcome in outcomes for pointer in outcome.pointers]
    calls = [outcome.call.call_id for outcome in outcomes if outcome.call is not None]
    return frozenset([*calls, *(part for pointer in named for part in (pointer.call_id, *pointer.name[:2]))])


def find_mentions(items: Sequence[Item], ids: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return the paths and the identifiers in calls and results, the most frequent first, without the results' `ids`.

    An identifier counts only where more than one text names it.
    """
    paths: dict[str, tuple[int, int]] = {}
    names: dict[str, tuple[int, int]] = {}
    for item in items:
        for text, weight in _texts(item):
            _count(paths, set(_PATH.findall(text)), weight, item.number)
            _count(names, set(_IDENTIFIER.findall(text)) - ids, weight, item.number)
    again = {name: found for name, found in names.items() if found[0] > 1}
    return _best(paths), _best(again)


def _texts(item: Item) -> Iterator[tuple[str, int]]:
    if item.call is not None:
        yield item.call.arguments[: _HEAD + _TAIL].replace("\\n", "\n"), _CHOSEN
    text = item.text
    yield text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}", 1


def _count(counts: dict[str, tuple[int, int]], found: set[str], weight: int, number: int) -> None:
    for name in found:
        if 2 < len(name) <= _LONGEST_NAME and any(map(str.isalpha, name)):
            counts[name] = (counts.get(name, (0, 0))[0] + weight, number)


def _best(counts: dict[str, tuple[int, int]]) -> list[str]:
    """Return the names by how often they occur, then how lately, then by name."""
    return sorted(counts, key=lambda name: (-counts[name][0], -counts[name][1], name))
