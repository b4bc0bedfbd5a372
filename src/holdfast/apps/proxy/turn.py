"""What there is to say of one request: to the client in headers, to whoever watches in a line, to the record.

Owns: the figures of one request, and that looking at an answer never breaks it.
Must not know: sockets.
"""

import time
from collections.abc import Callable
from typing import Any

from holdfast.session.exchange import Exchange
from holdfast.wire.endpoint import Endpoint
from holdfast.wire.ends import is_whole


class Turn:
    """One request, as far as it has come."""

    def __init__(self, endpoint: Endpoint | None, later: Callable[..., None]) -> None:
        self.endpoint = endpoint
        self.exchange: Exchange | None = None
        self.status = 0
        self.outcome = "passed"
        self.note = ""
        """What went wrong, in a few words without content."""
        self.started = time.monotonic()
        self.first = 0.0
        """Seconds until the provider's first byte."""
        self._later = later

    def first_byte(self, status: int) -> None:
        """The head of an answer came."""
        self.status = status
        self.first = self.first or time.monotonic() - self.started

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return time.monotonic() - self.started

    def said(self) -> dict[str, str]:
        """What the client is told in headers."""
        return {}

    def sent(self, exchange: Exchange) -> None:
        """A round is on its way."""
        if exchange.is_unsettled:
            self._later(exchange.settle)

    def came(self, exchange: Exchange, status: int, data: bytes, is_stream: bool, is_cut: bool = False) -> None:
        """A round's answer ended."""
        whole = not is_cut and is_whole(exchange.dialect, data, is_stream)
        self.outcome = "complete" if whole else "incomplete"

    def _record(self, *given: Any) -> None:
        """Put a round on record."""
