"""A line for each request, for people: how large it was, how much of it was sent, how long it took. Never content."""

import sys
from collections.abc import Callable

from holdfast.apps.proxy.turn import Turn


def watcher(is_wanted: bool) -> Callable[[Turn], None]:
    """What is told of each request."""
    return _line if is_wanted else lambda _: None


def _line(turn: Turn) -> None:
    dialect = turn.endpoint.dialect if turn.endpoint is not None else "other"
    print(f"{turn.status} {dialect} {turn.outcome} {turn.first * 1000:.0f} ms, {turn.seconds:.1f} s", file=sys.stderr)
