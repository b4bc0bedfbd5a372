"""What a run came to: its requests and what was kept, from the record, and what went wrong, from the proxy.

Owns: which sessions a run had to do with, what of them is the run's own, how often something was read back.
Must not know: what is printed of it.
"""

import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.canonical.entry import Result
from keepwhole.config import Settings
from keepwhole.errors import Damaged, StoreError
from keepwhole.exchange.hidden_rounds import TOOL as ROUND
from keepwhole.exchange.request_log import Sent, Step
from keepwhole.recall.names import is_recall
from keepwhole.session import Session
from keepwhole.store.protocol import Store, entry_of

_OWN = "keepwhole_"
"""How tools begin under which we put things on record ourselves."""


def results_in(home: str) -> str:
    """The folder of a record from which agents read back."""
    return os.path.join(home, "results")


class Trouble(logging.Handler):
    """Warnings of ours by what they are about; an agent's terminal is no place for them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a warning."""
        self.counts[str(record.msg).partition(":")[0]] += 1


class Tally(NamedTuple):
    """What a run came to."""

    steps: dict[str, list[Step]]
    """Requests on record, by session."""
    passed: int = 0
    """Requests that are not on record: passed on unread, or of a conversation that has no name yet."""
    kept: int = 0
    recalls: int = 0
    trouble: Mapping[str, int] = MappingProxyType({})
    """What went wrong, and how often."""


class Meter:
    """Told of every request of a run."""

    def __init__(self, since: int) -> None:
        self._since = since
        """When the run began."""
        self._sessions: dict[str, None] = {}
        self._passed = self._unstored = 0
        self._trouble: Counter[str] = Counter()

    def add(self, proxied: ProxiedRequest) -> None:
        """Count a request after it was answered, or failed."""
        if proxied.endpoint is None or proxied.endpoint.counts:
            return
        if proxied.note or proxied.status >= 400:
            self._trouble[f"request failed, {proxied.status or 'no answer'}"] += 1
        elif proxied.outcome == "incomplete":
            self._trouble["answer cut off"] += 1
        if proxied.exchange is None or not proxied.exchange.has_record:
            self._passed += 1
            return
        self._sessions[proxied.exchange.session] = None
        self._unstored = max(self._unstored, proxied.exchange.account.unstored)

    def tally(self, store: Store, settings: Settings) -> Tally:
        """The run so far."""
        steps: dict[str, list[Step]] = {}
        kept = recalls = 0
        folder = results_in(settings.home)
        for name in self._sessions:
            steps[name] = self._steps(Session(name, store=store, settings=settings))
            for result in self._results(store, name):
                kept += not result.tool.startswith(_OWN)
                recalls += is_recall(result.tool) or result.tool == ROUND or folder in (result.arguments or "")
        unstored = Counter({"result not kept and so shown whole": self._unstored}) if self._unstored else Counter[str]()
        return Tally(steps, self._passed, kept, recalls, self._trouble + unstored)

    def _steps(self, session: Session) -> list[Step]:
        """The requests of this run; what an agent's exit code is does not depend on whether they can be read."""
        try:
            return [step for step in Sent(session).all() if step.request.at >= self._since]
        except StoreError:
            self._trouble["record that cannot be read"] += 1
            return []

    def _results(self, store: Store, name: str) -> Iterator[Result]:
        """The results that came in this run."""
        try:
            for row in store.rows(name, kind="result", light=True):
                try:
                    header = entry_of(row).header
                except Damaged:
                    continue
                if isinstance(header, Result) and header.at >= self._since:
                    yield header
        except StoreError:
            return
