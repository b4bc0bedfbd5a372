"""The table of declared tools that `status` and `report --tools` print."""

from collections.abc import Sequence

from keepwhole.apps.cli import screen
from keepwhole.apps.declared_tools import ServerTools

_LISTED = 8
"""Tools that are named of those that were never called."""


def print_declared(rows: Sequence[tuple[ServerTools, int | None]]) -> None:
    """Print a row for each server, with the number of sessions that declare its tools where that is counted."""
    counted = any(sessions is not None for _, sessions in rows)
    headers = ("Server", *(("Sessions",) if counted else ()), "Tools", "Tokens", "Never called")
    cells = [
        (one.title, *((f"{sessions:,}",) if counted else ()), f"{len(one.tools):,}", f"{one.tokens:,}", _never(one))
        for one, sessions in rows
    ]
    screen.print_table(headers, cells, right=range(1, len(headers) - 1))


def _never(one: ServerTools) -> str:
    """The tools that were never called, the first few by name."""
    named = [name.removeprefix("mcp__").removeprefix(f"{one.server}__") for name in one.never_called[:_LISTED]]
    left = len(one.never_called) - len(named)
    return ", ".join([*named, *([f"{left:,} more"] if left else [])]) or "–"
