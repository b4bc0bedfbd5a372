"""What a run came to: its requests and what was kept, from the record, and from the proxy where that has none.

Owns: which sessions a run had to do with, what went wrong in it, how often something was read back.
Must not know: what is printed of it.
"""

import logging
import os
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from holdfast.apps.proxy.turn import Turn
from holdfast.canonical.entry import Request, Response, Result
from holdfast.config import Settings
from holdfast.errors import Damaged, StoreError
from holdfast.projection.tokens import of_chars
from holdfast.recall.names import is_recall
from holdfast.session.rounds import TOOL as ROUND
from holdfast.session.sent import Sent, Step
from holdfast.session.session import Session
from holdfast.store.protocol import SessionInfo, entry_of
from holdfast.store.sqlite.store import SqliteStore

_OWN = "holdfast_"
"""How tools begin under which we put things on record ourselves."""


def results_in(home: str) -> str:
    """The folder of a record from which agents read back."""
    return os.path.join(home, "results")


class Record(SqliteStore):
    """The record, with an eye on which of its sessions this run has to do with."""

    def __init__(self, folder: str, *, inline_body: int) -> None:
        super().__init__(folder, inline_body=inline_body)
        self.opened: dict[str, int] = {}
        """The sessions of this run, and how many entries each had before it."""
        self.refused: set[str] = set()
        """Why something could not be put on record."""

    def open_session(self, info: SessionInfo) -> SessionInfo:
        """Open a session for writing."""
        opened = super().open_session(info)
        if info.name not in self.opened:
            last = self.last(info.name)
            self.opened[info.name] = last.seq if last is not None else 0
        return opened

    def take(self, *given: Any, **more: Any) -> Any:
        """Take a body in."""
        with self._noting():
            return super().take(*given, **more)

    def append(self, *given: Any, **more: Any) -> Any:
        """Append entries."""
        with self._noting():
            return super().append(*given, **more)

    @contextmanager
    def _noting(self) -> Generator[None]:
        try:
            yield
        except StoreError as error:
            self.refused.add(type(error).__name__)
            raise


class Trouble(logging.Handler):
    """Warnings of ours by what they are about; an agent's terminal is no place for them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a warning."""
        self.counts[str(record.msg).partition(":")[0]] += 1


class Tally(NamedTuple):
    """What was put on record in a run."""

    steps: dict[str, list[Step]]
    """Requests by session; those that the record does not have go by the name ""."""
    sessions: tuple[str, ...] = ()
    kept: int = 0
    recalls: int = 0


class Meter:
    """Told of every request of a run."""

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self.steps: list[Step] = []
        self.trouble: Counter[str] = Counter()

    def told(self, turn: Turn) -> None:
        """A request was answered, or was not."""
        if turn.endpoint is None or turn.endpoint.counts:
            return
        if turn.note or turn.status >= 400:
            self.trouble[f"request failed ({turn.status or 'no answer'})"] += 1
        elif turn.outcome == "incomplete":
            self.trouble["answer cut off"] += 1
        self.steps.append(_step(len(self.steps) + 1, turn, self._mode))

    def tally(self, store: Record, settings: Settings) -> Tally:
        """The run so far."""
        steps: dict[str, list[Step]] = {}
        kept = recalls = 0
        folder = results_in(settings.home)
        for name, before in store.opened.items():
            own = Session(name, store=store, settings=settings)
            found = [step for step in Sent(own).all() if step.seq > before]
            if found:
                steps[name] = found
            for result in _results(store, name, before):
                kept += not result.tool.startswith(_OWN)
                recalls += is_recall(result.tool) or result.tool == ROUND or folder in (result.arguments or "")
        return Tally(steps or {"": self.steps}, tuple(store.opened), kept, recalls)


def _results(store: Record, name: str, before: int) -> Iterator[Result]:
    """The results that came in a run."""
    try:
        for row in store.rows(name, after=before, kind="result", light=True):
            try:
                entry = entry_of(row)
            except Damaged:
                continue
            if isinstance(entry.header, Result):
                yield entry.header
    except StoreError:
        return


def _step(seq: int, turn: Turn, mode: str) -> Step:
    """A request as far as the proxy has seen it."""
    sent = turn.asked if turn.exchange is None or mode != "on" else len(turn.exchange.body)
    request = Request(
        at=0,
        trace_id=str(seq),
        size=sent,
        digest="",
        mode=mode,
        dialect=turn.endpoint.dialect if turn.endpoint is not None else "",
        tokens_whole=of_chars(turn.asked),
        tokens_sent=of_chars(sent),
        edited=int(sent != turn.asked),
    )
    return Step(seq, request, Response(at=0, trace_id=str(seq), status=turn.status, outcome=turn.outcome))
