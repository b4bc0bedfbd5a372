"""Numbers of a proxy since it started, for `/metrics`.

Owns: the counters and their Prometheus text. Labels are words of ours: no model, path or id that a client chose.
"""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from holdfast.apps.proxy.turn import Turn


class Counters:
    """Requests by what became of them. Used from one event loop."""

    def __init__(self) -> None:
        self.active = 0
        self._counts: Counter[tuple[str, str]] = Counter()
        self._sums: dict[str, float] = {}

    @contextmanager
    def open(self) -> Generator[None]:
        """A request is being answered."""
        self.active += 1
        try:
            yield
        finally:
            self.active -= 1

    def refused(self, status: int) -> None:
        """A request was turned away."""
        self._counts["turned_away_total", f'status="{status}"'] += 1

    def add(self, turn: Turn) -> None:
        """A request was answered."""
        dialect = turn.endpoint.dialect if turn.endpoint is not None else "other"
        self._counts["requests_total", f'dialect="{dialect}",outcome="{turn.outcome}"'] += 1
        for name, value in (("request_seconds_sum", turn.seconds), ("first_byte_seconds_sum", turn.first)):
            self._sums[name] = self._sums.get(name, 0.0) + value

    def text(self) -> str:
        """All of them, as Prometheus reads them."""
        lines = [f"holdfast_proxy_active {self.active}"]
        lines += [
            f"holdfast_proxy_{name}{{{labels}}} {count}" for (name, labels), count in sorted(self._counts.items())
        ]
        lines += [f"holdfast_proxy_{name} {value:g}" for name, value in sorted(self._sums.items())]
        return "\n".join(lines) + "\n"
