"""`ForkNote`: the note in a session that says which session it goes on from, and what was known there.

Owns: how the note is written and read. Must not know: what was taken over (`fork`).
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from keepwhole.canonical.entry import Result
from keepwhole.record.known_result import KnownResult

TOOL = "keepwhole_fork"
"""The tool name of the note."""


class ForkNote(NamedTuple):
    """Where a session comes from."""

    origins: tuple[str, ...]
    """The session whose results it took over, then that one's own origin, and so on."""
    turns: int
    """Turns of the model that the conversation had then: what they have cost was paid in the origin."""
    offered: tuple[str, ...] = ()
    """The branches that the origin had offered the recall tools."""
    bills: tuple[tuple[str, int, int], ...] = ()
    """The newest bills of the origin: the model, the estimated tokens of the request, and the billed ones."""
    seq: int = 0
    """The number of the note's entry."""

    @property
    def origin(self) -> str:
        """The session whose results it took over."""
        return self.origins[0]

    def as_arguments(self) -> dict[str, Any]:
        """What is recorded."""
        return {
            "v": 1,
            "origins": self.origins,
            "turns": self.turns,
            "offered": sorted(self.offered),
            "bills": self.bills,
        }


def origin_in(result: Result) -> str | None:
    """The session that a note names as its origin; None where it cannot be read."""
    try:
        origins = cast("dict[str, Any]", json.loads(result.arguments or ""))["origins"]
        return str(origins[0])
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def read_fork(newest_first: Iterable[KnownResult]) -> ForkNote | None:
    """The newest note among these results; None where there is none."""
    for known in newest_first:
        try:
            about = cast("dict[str, Any]", json.loads(known.result.arguments or ""))
            bills = tuple((str(model), int(estimated), int(billed)) for model, estimated, billed in about["bills"])
            origins = tuple(map(str, about["origins"]))
            if origins:
                return ForkNote(origins, int(about["turns"]), tuple(about["offered"]), bills, known.seq)
        except (ValueError, KeyError, TypeError):
            continue
    return None
