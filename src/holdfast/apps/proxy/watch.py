"""A line for each request, for people: how large it was, how much of it was sent, how long it took. Never content."""

import sys
from collections.abc import Callable
from typing import TextIO

from holdfast.apps.proxy.turn import Turn


def watcher(is_wanted: bool, stream: TextIO | None = None) -> Callable[[Turn], None]:
    """What is told of each request; it goes to the error stream, or another."""

    def told(turn: Turn) -> None:
        print(line_of(turn), file=stream or sys.stderr, flush=True)

    return told if is_wanted else lambda _: None


def line_of(turn: Turn) -> str:
    """The line of one request."""
    dialect = turn.endpoint.dialect if turn.endpoint is not None else "other"
    return f"{turn.status} {dialect} {turn.outcome} {turn.first * 1000:.0f} ms, {turn.seconds:.1f} s"
