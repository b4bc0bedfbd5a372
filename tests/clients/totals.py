"""What the long sessions came to, printed at the end of `make clients`; the figures of docs/howto/wrap.md are these."""

from typing import NamedTuple

from tests.clients.edits import is_turn
from tests.upstream.prompt_cache import Bill
from tests.upstream.server import Asked

_ROWS: "list[Totals]" = []


class Totals(NamedTuple):
    """One session."""

    client: str
    mode: str
    requests: int
    refused: int
    tokens: int
    cached: int
    cost: float
    seconds: float

    @classmethod
    def of(
        cls, client: str, mode: str, received: list[Asked], bills: list[Bill], refused: list[str], seconds: float
    ) -> "Totals":
        """From what the provider saw."""
        turns = sum(map(is_turn, received))
        tokens, cached = sum(bill.tokens for bill in bills), sum(bill.read for bill in bills)
        return cls(client, mode, turns, len(refused), tokens, cached, sum(bill.cost for bill in bills), seconds)


def add_totals(totals: Totals) -> None:
    """Remember a session until the end of the run."""
    _ROWS.append(totals)


def lines() -> list[str]:
    """A table of all sessions; none where none ran."""
    if not _ROWS:
        return []
    head = "| client | mode | requests | refused | input tokens | from the cache | cost in input tokens | seconds |"
    made = [head, "| --- " * 8 + "|"]
    for row in _ROWS:
        figures = f"{row.tokens:,} | {row.cached:,} | {row.cost:,.0f} | {row.seconds:.0f}"
        made.append(f"| {row.client} | {row.mode} | {row.requests:,} | {row.refused} | {figures} |")
    return made
