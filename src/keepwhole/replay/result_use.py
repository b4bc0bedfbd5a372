"""The results of a run in figures: how large they were, and whether anything of them was ever used.

Owns: what counts as used: a result of which no string is evidence later is *never used*. That is a lower bound of what
was needed, since reading without quoting leaves no trace.
Must not know: policies.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepwhole.replay.evidence import Evidence
from keepwhole.replay.word_sources import Told

ARGUMENTS = 80
"""Characters of a call's arguments that are shown to people."""


class Seen(NamedTuple):
    """One result."""

    tool: str
    arguments: str
    """Of its call, shortened to one line."""
    step: int
    """The step that called for it."""
    tokens: int
    used: int
    """Pieces of evidence that it had shown."""


def seen(told: Told, tokens: Sequence[int], found: Iterable[Evidence]) -> tuple[Seen, ...]:
    """The results of a run, in order."""
    used = Counter(source for one in found for source in one.sources)
    return tuple(
        Seen(call.tool, _short(call.arguments), step, tokens[number], used[number])
        for number, (step, call) in enumerate(told.result_of)
    )


def _short(arguments: str) -> str:
    line = " ".join(arguments.split())
    return line if len(line) <= ARGUMENTS else f"{line[: ARGUMENTS - 1]}…"
