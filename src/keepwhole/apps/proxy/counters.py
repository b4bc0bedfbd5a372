"""Numbers of a proxy since it started, for `/metrics`.

Owns: the counters and their Prometheus text. Labels are words of ours: no model, path or id that a client chose.
"""

from collections.abc import Generator
from contextlib import contextmanager

from keepwhole.apps.proxy.turn import Turn

_HELP = {
    "active": "Requests that are being answered.",
    "turned_away_total": "Requests without the token, to another host or from a page.",
    "requests_total": "Requests that were answered.",
    "request_seconds_total": "Seconds until their last byte.",
    "first_byte_seconds_total": "Seconds until their first byte.",
    "tokens_whole_total": "Tokens that clients meant to send, about.",
    "tokens_sent_total": "Tokens that were sent of these, about.",
    "input_tokens_total": "Tokens that providers billed as input.",
    "cached_tokens_total": "Tokens of these that came from their caches.",
    "foreseen_cached_tokens_total": "Tokens that should have come from their caches.",
    "decisions_total": "Results that were shown otherwise from then on.",
    "unstored_total": "Results that could not be stored and were sent whole.",
    "recall_rounds_total": "Rounds in which a model read something back.",
}


class Counters:
    """Requests by what became of them. Used from one event loop."""

    def __init__(self) -> None:
        self.active = 0
        self._counts: dict[tuple[str, str], float] = {}

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
        self._add("turned_away_total", 1, f'{{status="{status}"}}')

    def add(self, turn: Turn) -> None:
        """A request was answered."""
        dialect = turn.endpoint.dialect.name if turn.endpoint is not None else "other"
        self._add("requests_total", 1, f'{{dialect="{dialect}",outcome="{turn.outcome}"}}')
        self._add("request_seconds_total", turn.seconds)
        self._add("first_byte_seconds_total", turn.first)
        exchange = turn.exchange
        if exchange is not None and not (turn.endpoint is not None and turn.endpoint.counts):
            account = exchange.account.as_sent
            self._add("tokens_whole_total", account.tokens_whole)
            self._add("tokens_sent_total", account.tokens_sent)
            self._add("decisions_total", account.new_decisions)
            self._add("unstored_total", account.unstored)
            self._add("recall_rounds_total", exchange.count)
        if turn.usage is not None:
            self._add("input_tokens_total", turn.usage.input)
            self._add("cached_tokens_total", turn.usage.cached)
            self._add("foreseen_cached_tokens_total", turn.predicted or 0)

    def text(self) -> str:
        """All of them, as Prometheus reads them."""
        lines: list[str] = []
        counts = {("active", ""): float(self.active), **self._counts}
        for name in _HELP:
            kind = "gauge" if name == "active" else "counter"
            lines += [f"# HELP keepwhole_proxy_{name} {_HELP[name]}", f"# TYPE keepwhole_proxy_{name} {kind}"]
            found = [(labels, value) for (known, labels), value in counts.items() if known == name]
            lines += [f"keepwhole_proxy_{name}{labels} {value:.12g}" for labels, value in sorted(found)]
        return "\n".join(lines) + "\n"

    def _add(self, name: str, value: float, labels: str = "") -> None:
        self._counts[name, labels] = self._counts.get((name, labels), 0.0) + value
